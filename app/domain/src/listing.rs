//! Lists: filters, keyset cursors and pages, as the URL, the JSON API and the engine share them.

mod bulks;
mod lists;
mod parts;
mod records;
mod story;

use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use crate::{
    approval::ApprovalStatus,
    inbox::InboxState,
    operation::{Status, UnknownWord},
    workflow::WorkflowState,
};

pub use bulks::{BulkFilter, BulkRowFilter, PlaceCursor};
pub use lists::{List, ListQuery};
pub use parts::{BadPart, ListFilter, Parts, Why};
pub use records::{
    AuditFilter, ConflictFilter, EventFilter, IncidentFilter, IncidentState, LeaseFilter,
    TimeCursor,
};
pub use story::StoryCursor;

/// The most rows that a page may be configured to have; the engine holds the limit in force.
pub const MAX_PAGE: i64 = 1_000;
/// The most rows that an export may be configured to have; the engine holds the limit in force.
pub const MAX_EXPORT: i64 = 100_000;
/// Rows of a page where nobody says otherwise, and the limit in force is not lower.
pub const DEFAULT_PAGE: i64 = 50;
/// The longest filter or cursor that may be configured, in characters; the engine holds the limit
/// in force.
pub const MAX_FILTER_CHARS: usize = 4_000;
/// The widest span between `from` and `to` that may be configured, in days; the engine holds the
/// limit in force, which is also the default reach of a list.
pub const MAX_SPAN_DAYS: i64 = 366;

/// One page of a list.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Page<T> {
    /// The rows, in the list's order.
    pub items: Vec<T>,
    /// Cursor of the page after this one, where there is one.
    pub next: Option<String>,
    /// Cursor of the page before this one, where there is one.
    pub previous: Option<String>,
    /// Whether a search matched more than is read: a longer prefix finds the rest.
    #[serde(default)]
    pub narrow: bool,
    /// When the rows were read, by the database's clock.
    pub as_of: DateTime<Utc>,
}

/// Which operations a list shows. Every field narrows; all absent shows the newest within the
/// default reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct OperationFilter {
    /// One state, or `tombstone`.
    pub status: Option<StatusFilter>,
    /// The operation kind's name, exactly.
    pub operation: Option<String>,
    /// Exact or prefix over id, key, external reference, workflow key and search terms; an amount
    /// with its currency exactly.
    pub q: Option<String>,
    /// Only those that wait for a person.
    pub needs_manual: bool,
    /// Only those with a payload conflict.
    pub conflict: bool,
    /// Reserved at or after.
    pub from: Option<DateTime<Utc>>,
    /// Reserved before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// Which workflows a list shows; every field narrows. Newest first, without a window.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WorkflowFilter {
    /// One state.
    pub status: Option<WorkflowState>,
    /// The definition's name, exactly.
    pub kind: Option<String>,
    /// Exact or prefix over id and key.
    pub q: Option<String>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page, at most [`MAX_PAGE`].
    pub limit: Option<i64>,
}

/// Which messages a list shows. Every field narrows; all absent shows the newest within the
/// default reach.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct InboxFilter {
    /// One state.
    pub status: Option<InboxState>,
    /// The consumer's name, exactly.
    pub consumer: Option<String>,
    /// The source's name, exactly.
    pub source: Option<String>,
    /// Exact or prefix over the producer's id, the id here and the operation's id.
    pub q: Option<String>,
    /// Received at or after.
    pub from: Option<DateTime<Utc>>,
    /// Received before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page, at most [`MAX_PAGE`].
    pub limit: Option<i64>,
}

/// A state to filter by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StatusFilter {
    /// Operations whose contents have expired.
    Tombstone,
    /// Operations in this state that still have their contents.
    #[serde(untagged)]
    Is(Status),
}

impl StatusFilter {
    /// The word in the URL.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Is(status) => status.as_str(),
            Self::Tombstone => "tombstone",
        }
    }
}

impl FromStr for StatusFilter {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        if text == "tombstone" { Ok(Self::Tombstone) } else { text.parse().map(Self::Is) }
    }
}

/// Which requests for a second person a list shows; every field narrows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApprovalFilter {
    /// One state.
    pub status: Option<ApprovalStatus>,
    /// Only those that wait for the reader: who has the right, did not ask, and held it before.
    pub waiting: bool,
    /// Only those that the reader asked for.
    pub mine: bool,
    /// Only those that others asked for.
    pub others: bool,
    /// Only those that are settled.
    pub decided: bool,
    /// Asked for at or after.
    pub from: Option<DateTime<Utc>>,
    /// Asked for before.
    pub to: Option<DateTime<Utc>>,
    /// Where the page begins.
    pub cursor: Option<String>,
    /// Rows of a page.
    pub limit: Option<i64>,
}

/// A place in a list ordered by id, newest first, and the direction to read from there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cursor {
    /// The row that the page does not include.
    pub id: Uuid,
    /// Whether to read towards newer rows.
    pub backwards: bool,
}

/// A cursor that this console never gave out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not a cursor of this list")]
pub struct InvalidCursor;

impl Cursor {
    /// The cursor as it stands in a URL: hexadecimal, so that nothing needs escaping.
    #[must_use]
    pub fn encode(self) -> String {
        let direction = if self.backwards { 'p' } else { 'n' };
        format!("{direction}{}", self.id.simple())
    }

    /// Reads a cursor back.
    ///
    /// # Errors
    /// [`InvalidCursor`] for any other text.
    pub fn decode(text: &str) -> Result<Self, InvalidCursor> {
        let (backwards, id) = match text.split_at_checked(1) {
            Some(("n", id)) => (false, id),
            Some(("p", id)) => (true, id),
            _ => return Err(InvalidCursor),
        };
        let id = Uuid::try_parse(id).map_err(|_| InvalidCursor)?;
        Ok(Self { id, backwards })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cursors_come_back_and_others_are_refused() {
        for backwards in [false, true] {
            let cursor = Cursor { id: Uuid::from_u128(7), backwards };
            assert_eq!(Cursor::decode(&cursor.encode()), Ok(cursor));
        }
        for text in ["", "n", "x0", "é", "n1; drop table"] {
            assert_eq!(Cursor::decode(text), Err(InvalidCursor), "{text}");
        }
    }

    #[test]
    fn a_status_filter_is_one_word() {
        for status in Status::ALL {
            assert_eq!(status.as_str().parse(), Ok(StatusFilter::Is(status)));
        }
        assert_eq!("tombstone".parse(), Ok(StatusFilter::Tombstone));
        assert!("x".parse::<StatusFilter>().is_err());
    }
}
