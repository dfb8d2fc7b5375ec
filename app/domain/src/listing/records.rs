//! The filters of the lists beside operations, workflows and messages, and a cursor for the one
//! that is ordered by an instant.

use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::InvalidCursor;
use crate::{lease::LeaseState, operation::UnknownWord, outbox::EventStatus};

/// Which events a list shows. Every field narrows; all absent shows the newest within the default
/// reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EventFilter {
    /// One state.
    pub status: Option<EventStatus>,
    /// The topic, exactly.
    pub topic: Option<String>,
    /// The aggregate, exactly.
    pub aggregate: Option<String>,
    /// Exact or prefix over id, aggregate, topic and the operation's id.
    pub q: Option<String>,
    /// Written at or after.
    pub from: Option<DateTime<Utc>>,
    /// Written before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Which conflicts a list shows. Every field narrows; all absent shows the newest within the
/// default reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ConflictFilter {
    /// The operation kind's name, exactly.
    pub operation: Option<String>,
    /// What finds an operation, or the beginning of the conflict's own id.
    pub q: Option<String>,
    /// First seen at or after.
    pub from: Option<DateTime<Utc>>,
    /// First seen before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Which leases a list shows; every field narrows. Stuck first, without a window: a lease stands
/// only while something is held.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaseFilter {
    /// Live or stale.
    pub status: Option<LeaseState>,
    /// The operation kind's name, exactly.
    pub operation: Option<String>,
    /// The holder's name, exactly.
    pub holder: Option<String>,
    /// What finds an operation.
    pub q: Option<String>,
    /// Where the page begins: a [`TimeCursor`].
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Whether an incident is open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IncidentState {
    /// Nobody has closed it.
    Open,
    /// A person closed it.
    Closed,
}

impl IncidentState {
    /// The word in URLs and lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Closed => "closed",
        }
    }
}

impl FromStr for IncidentState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        [Self::Open, Self::Closed]
            .into_iter()
            .find(|state| state.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// Which incidents a list shows. Every field narrows; all absent shows the newest within the
/// default reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct IncidentFilter {
    /// Open or closed.
    pub status: Option<IncidentState>,
    /// The cause, exactly.
    pub cause: Option<String>,
    /// What finds an operation, or the beginning of the id of the incident or of what it is about.
    pub q: Option<String>,
    /// Opened at or after.
    pub from: Option<DateTime<Utc>>,
    /// Opened before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Which entries of the audit log a list shows. Every field narrows; all absent shows the newest
/// within the default reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AuditFilter {
    /// Who, by email or token name, exactly.
    pub actor: Option<String>,
    /// What, such as `confirm`.
    pub verb: Option<String>,
    /// The id of what it was done to, exactly.
    pub target: Option<String>,
    /// Only what was refused.
    pub denied: bool,
    /// Done at or after.
    pub from: Option<DateTime<Utc>>,
    /// Done before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// A place in a list ordered by an instant, earliest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeCursor {
    /// The instant of the row that the page does not include.
    pub at: DateTime<Utc>,
    /// Its id.
    pub id: Uuid,
    /// Whether to read towards earlier rows.
    pub backwards: bool,
}

impl TimeCursor {
    /// The cursor as it stands in a URL: hexadecimal, so that nothing needs escaping.
    #[must_use]
    pub fn encode(self) -> String {
        let direction = if self.backwards { 'p' } else { 'n' };
        format!("{direction}{:016x}{}", self.at.timestamp_micros(), self.id.simple())
    }

    /// Reads a cursor back.
    ///
    /// # Errors
    /// [`InvalidCursor`] for any other text.
    pub fn decode(text: &str) -> Result<Self, InvalidCursor> {
        let (backwards, rest) = match text.split_at_checked(1) {
            Some(("n", rest)) => (false, rest),
            Some(("p", rest)) => (true, rest),
            _ => return Err(InvalidCursor),
        };
        let (at, id) = rest.split_at_checked(16).ok_or(InvalidCursor)?;
        let at = u64::from_str_radix(at, 16).map_err(|_| InvalidCursor)?;
        let at = i64::try_from(at).map_err(|_| InvalidCursor)?;
        // Before the year 10000: what no database column holds is no cursor.
        let at = DateTime::from_timestamp_micros(at)
            .filter(|at| at.timestamp() < 253_402_300_800)
            .ok_or(InvalidCursor)?;
        let id = Uuid::try_parse(id).map_err(|_| InvalidCursor)?;
        Ok(Self { at, id, backwards })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_of_instants_come_back_and_others_are_refused() {
        let at = DateTime::from_timestamp_micros(1_795_975_200_123_456).unwrap();
        for backwards in [false, true] {
            let cursor = TimeCursor { at, id: Uuid::from_u128(7), backwards };
            assert_eq!(TimeCursor::decode(&cursor.encode()), Ok(cursor));
        }
        let id = Uuid::from_u128(7).simple();
        for text in [
            String::new(),
            "n".into(),
            format!("n{id}"),
            format!("nffffffffffffffff{id}"),
            "é".into(),
        ] {
            assert_eq!(TimeCursor::decode(&text), Err(InvalidCursor), "{text}");
        }
    }
}
