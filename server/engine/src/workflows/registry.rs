//! The definitions that this process has. It starts workflows by the newest version of a kind and
//! carries on those of every version that is here; all others are another process's (D32, D33).

use std::collections::{BTreeMap, BTreeSet};

use super::{Definition, DefinitionError};

/// The definitions of this process, by kind and version.
#[derive(Clone, Debug, Default)]
pub struct Registry {
    by_kind: BTreeMap<String, BTreeMap<i32, Definition>>,
}

impl Registry {
    /// Takes definitions.
    ///
    /// # Errors
    /// [`DefinitionError::Twice`] for a version that is there already.
    pub fn new(definitions: &[Definition]) -> Result<Self, DefinitionError> {
        let mut registry = Self::default();
        for definition in definitions {
            let versions = registry.by_kind.entry(definition.kind().to_owned()).or_default();
            if versions.insert(definition.version(), definition.clone()).is_some() {
                let kind = definition.kind().to_owned();
                return Err(DefinitionError::Twice(kind, definition.version()));
            }
        }
        Ok(registry)
    }

    /// The definition that new workflows of a kind are started by.
    #[must_use]
    pub fn newest(&self, kind: &str) -> Option<&Definition> {
        self.by_kind.get(kind)?.values().next_back()
    }

    /// One version of a kind.
    #[must_use]
    pub fn get(&self, kind: &str, version: i32) -> Option<&Definition> {
        self.by_kind.get(kind)?.get(&version)
    }

    /// The kinds that can be started here.
    #[must_use]
    pub fn kinds(&self) -> BTreeSet<&str> {
        self.by_kind.keys().map(String::as_str).collect()
    }

    /// Kinds and versions side by side, as a query takes them.
    pub(crate) fn served(&self) -> (Vec<String>, Vec<i32>) {
        self.by_kind
            .values()
            .flat_map(BTreeMap::values)
            .map(|definition| (definition.kind().to_owned(), definition.version()))
            .unzip()
    }
}
