//! What one search found among all records, type by type, and how it was read.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{ids::OperationId, money::Money, record::RecordType};

/// The fewest characters that are searched for: what begins with fewer is most of what there is.
pub const MIN_SEARCH_CHARS: usize = 3;

/// What a search found. Each group is bounded; nothing is counted.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SearchView {
    /// What was searched for.
    pub q: String,
    /// Whether it was too short, so that nothing was searched.
    pub too_short: bool,
    /// The amount that it was read as, too.
    pub amount: Option<Money>,
    /// Whether it is a whole id.
    pub whole_id: bool,
    /// The one thing whose id it is.
    pub named: Option<Named>,
    /// What was found, by type of record; types without a hit are left out.
    pub groups: Vec<FoundGroup>,
    /// When it was read.
    pub as_of: DateTime<Utc>,
}

/// The one thing that a whole id names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Named {
    /// A record, by its type and id.
    Record(RecordType, String),
    /// The receipt of a decision.
    Receipt(OperationId),
}

/// The records of one type that a search found, exact hits first, then the newest.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundGroup {
    /// Their type.
    pub record: RecordType,
    /// Some of them.
    pub rows: Vec<FoundRow>,
    /// Whether there are more.
    pub more: bool,
}

/// One record, enough to recognise it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FoundRow {
    /// Its id.
    pub id: String,
    /// What it is called among its like: a kind, a topic, a consumer, a cause, a verb.
    pub label: String,
    /// Its own key, or that of what it is about.
    pub key: String,
    /// Where it stands, as its own machine says.
    pub status: String,
    /// Whether its contents have expired.
    pub tombstoned: bool,
    /// The provider's reference.
    pub reference: Option<String>,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// When it came to be.
    pub at: DateTime<Utc>,
    /// Whether it is exactly what was searched for, not only begins so.
    pub exact: bool,
}
