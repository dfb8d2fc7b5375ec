//! Who holds what, as a list shows it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{ids::OperationId, lease::LeaseView, money::Money, operation::Status};

/// A row of the list of leases.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseRow {
    /// The operation that is held.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The client's key, whole.
    pub key: String,
    /// Where the operation stands.
    pub status: Status,
    /// Its version; releasing names it.
    pub version: i64,
    /// Calls begun.
    pub attempt: i32,
    /// Claims without a start.
    pub claims: i32,
    /// Leases that ran out during a call.
    pub takeovers: i32,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// Holder, fence, last beat and end.
    pub lease: LeaseView,
    /// Since when it is stale: the end of the lease that nobody renewed.
    pub stale_since: Option<DateTime<Utc>>,
    /// Who is looking at it.
    pub taken_by: Option<String>,
}
