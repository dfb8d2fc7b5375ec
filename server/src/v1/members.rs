//! Splitting a JSON object into its members, each still the bytes that were sent.
//!
//! Guards against an object that two parsers read differently: one that names a member twice.

use std::fmt;

use serde::{
    Deserialize,
    de::{Deserializer, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// The most members that an object of a call may have.
pub(super) const MAX_MEMBERS: usize = 64;

/// The members of an object; otherwise why it is none that can be taken, in words that continue
/// its name.
pub(super) fn members(value: &RawValue) -> Result<Vec<(String, &RawValue)>, String> {
    if !value.get().starts_with('{') {
        return Err("must be a JSON object".to_owned());
    }
    let found: Members<'_> = serde_json::from_str(value.get())
        .map_err(|_| "has a member whose name is no text".to_owned())?;
    if let Some(name) = found.twice {
        return Err(format!("names {name} twice"));
    }
    if found.too_many {
        return Err(format!("has more than {MAX_MEMBERS} members"));
    }
    Ok(found.members)
}

#[derive(Default)]
struct Members<'a> {
    members: Vec<(String, &'a RawValue)>,
    twice: Option<String>,
    too_many: bool,
}

impl<'de> Deserialize<'de> for Members<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Members<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Members<'de>, A::Error> {
                let mut found = Members::default();
                while found.members.len() < MAX_MEMBERS {
                    let Some((name, value)) = map.next_entry::<String, &'de RawValue>()? else {
                        return Ok(found);
                    };
                    if found.members.iter().any(|(known, _)| *known == name) {
                        found.twice.get_or_insert(name);
                    } else {
                        found.members.push((name, value));
                    }
                }
                while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {
                    found.too_many = true;
                }
                Ok(found)
            }
        }

        deserializer.deserialize_map(Collect)
    }
}
