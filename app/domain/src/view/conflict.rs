//! The same key with another payload, as a list and a page of its own show it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{operation::BodyView, record::ConflictView};
use crate::{
    ids::{ConflictId, OperationId},
    money::Money,
    operation::Status,
};

/// A row of the list of conflicts: one payload that was refused, however often it came.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictRow {
    /// Its id.
    pub id: ConflictId,
    /// The operation that has the key.
    pub operation_id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The key, whole.
    pub key: String,
    /// Where the first one stands: whether it succeeded.
    pub status: Status,
    /// Whether the first one's contents have expired.
    pub tombstoned: bool,
    /// The amount of the first one.
    pub amount: Option<Money>,
    /// The amount that the other one named.
    pub other_amount: Option<Money>,
    /// How often the other one came.
    pub count: i64,
    /// When first.
    pub first_at: DateTime<Utc>,
    /// When last.
    pub last_at: DateTime<Utc>,
    /// Which tokens sent it.
    pub callers: Vec<String>,
    /// Whether it stands for all further payloads beyond the bound of those that are kept.
    pub counted_only: bool,
}

/// One conflict with both bodies.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictDetail {
    /// The facts that its list row shows.
    pub row: ConflictRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// When the first one was reserved.
    pub reserved_at: DateTime<Utc>,
    /// By which token.
    pub reserved_by: String,
    /// When the first one became final.
    pub completed_at: Option<DateTime<Utc>>,
    /// Whether something contradicts what is recorded of the first one, and nobody has settled it.
    pub disputed: bool,
    /// What two people corrected the first one to: whether it happened.
    pub corrected_to: Option<bool>,
    /// The provider's reference of the first one.
    pub external_reference: Option<String>,
    /// The payload that was accepted; gone once expired.
    pub first: Option<BodyView>,
    /// The payload that was refused; gone once expired, or never kept.
    pub other: Option<BodyView>,
    /// The two field by field.
    pub comparison: ConflictView,
    /// Other payloads under the same key, newest first.
    pub others: Vec<ConflictRow>,
}
