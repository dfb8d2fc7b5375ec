//! The console's lists by name, and a filter of any of them: for what is done to every list alike, such
//! as keeping a view of it or exporting it.

use std::{fmt, str::FromStr};

use super::{
    ApprovalFilter, AuditFilter, BadPart, ConflictFilter, EventFilter, InboxFilter, IncidentFilter,
    LeaseFilter, ListFilter, OperationFilter, Parts, WorkflowFilter,
};
use crate::{access::Permission, operation::UnknownWord};

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident($filter:ident) = $word:literal, $path:literal;)*) => {
        /// A list of the console.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum List { $($(#[$doc])* $name,)* }

        impl List {
            /// All lists.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// Its word in addresses and in the database.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }

            /// The path of its page.
            #[must_use]
            pub const fn path(self) -> &'static str {
                match self { $(Self::$name => $path,)* }
            }
        }

        /// Which rows of which list.
        #[derive(Debug, Clone, PartialEq, Eq)]
        pub enum ListQuery { $($(#[$doc])* $name($filter),)* }

        impl ListQuery {
            /// Reads the filter of a list, as its page and the JSON API do.
            ///
            /// # Errors
            /// [`BadPart`] names the first part that cannot be used.
            pub fn read(list: List, parts: &mut Parts) -> Result<Self, BadPart> {
                Ok(match list { $(List::$name => Self::$name($filter::read(parts)?),)* })
            }

            /// Of which list.
            #[must_use]
            pub const fn list(&self) -> List {
                match self { $(Self::$name(_) => List::$name,)* }
            }
        }
    };
}

lists! {
    /// Operations.
    Operations(OperationFilter) = "operations", "/operations";
    /// Workflows.
    Workflows(WorkflowFilter) = "workflows", "/workflows";
    /// Events.
    Outbox(EventFilter) = "outbox", "/outbox";
    /// Messages.
    Inbox(InboxFilter) = "inbox", "/inbox";
    /// Payload conflicts.
    Conflicts(ConflictFilter) = "conflicts", "/conflicts";
    /// Leases.
    Leases(LeaseFilter) = "leases", "/leases";
    /// Requests for a second person.
    Approvals(ApprovalFilter) = "approvals", "/approvals";
    /// Incidents.
    Incidents(IncidentFilter) = "incidents", "/incidents";
    /// The audit log.
    Audit(AuditFilter) = "audit", "/audit";
}

impl List {
    /// The list whose page has a path.
    #[must_use]
    pub fn at(path: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|list| list.path() == path)
    }

    /// The right that reading it takes.
    #[must_use]
    pub const fn right(self) -> Permission {
        match self {
            Self::Audit => Permission::ReadAudit,
            _ => Permission::Read,
        }
    }
}

impl fmt::Display for List {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for List {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|list| list.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_known_by_its_word_and_by_its_path() {
        for list in List::ALL {
            assert_eq!(list.as_str().parse(), Ok(*list));
            assert_eq!(List::at(list.path()), Some(*list));
        }
        assert!("staff".parse::<List>().is_err());
        assert_eq!(List::at("/me"), None);
    }

    #[test]
    fn a_query_is_read_by_the_filter_of_its_list() {
        let parts = |pairs: &[(&str, &str)]| {
            Parts::new(pairs.iter().map(|(name, value)| ((*name).into(), (*value).into()))).unwrap()
        };
        let dead = ListQuery::read(List::Outbox, &mut parts(&[("status", "dead")])).unwrap();
        assert_eq!(dead.list(), List::Outbox);
        let wrong = ListQuery::read(List::Operations, &mut parts(&[("status", "dead")]));
        assert_eq!(wrong.unwrap_err().name, "status");
    }
}
