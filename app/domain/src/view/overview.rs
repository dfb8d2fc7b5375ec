//! What needs a person now, and who is looking.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::operation::OperationRow;
use crate::{access::Role, money::Money};

/// What needs a person now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// When it was read.
    pub as_of: DateTime<Utc>,
    /// One queue per cause.
    pub queues: Vec<Queue>,
    /// All causes together, the greatest stake and age first.
    pub merged: Vec<AttentionRow>,
}

/// Why something needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The outcome is unknown and machines have given up.
    UnknownOutcome,
    /// A lease ended and nobody took over.
    StuckLease,
    /// The same key came with another payload.
    PayloadConflict,
    /// An incident is open.
    OpenIncident,
}

impl Cause {
    /// All causes, the most pressing first.
    pub const ALL: [Self; 4] =
        [Self::UnknownOutcome, Self::StuckLease, Self::OpenIncident, Self::PayloadConflict];

    /// The queue's name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnknownOutcome => "Unknown outcomes",
            Self::StuckLease => "Stuck leases",
            Self::PayloadConflict => "Payload conflicts",
            Self::OpenIncident => "Open incidents",
        }
    }
}

/// One queue of the overview.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Queue {
    /// Why.
    pub cause: Cause,
    /// How many, exact up to the bound of what is read.
    pub count: i64,
    /// Whether there are more than `count`.
    pub more: bool,
    /// Since when the oldest waits.
    pub oldest_at: Option<DateTime<Utc>>,
    /// Money at stake, one sum per currency, of the rows counted.
    pub at_stake: Vec<Money>,
}

/// A row of the merged queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AttentionRow {
    /// Why it is here.
    pub cause: Cause,
    /// The operation.
    pub operation: OperationRow,
    /// Since when it waits.
    pub since: DateTime<Utc>,
}

/// Who is signed in, for the frame of every page.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Me {
    /// The person's name.
    pub name: String,
    /// The person's email.
    pub email: String,
    /// The tenant the session stands in.
    pub tenant: String,
    /// The tenant's short name.
    pub tenant_slug: String,
    /// The role there.
    pub role: Role,
    /// The person's tenants, for the switcher: short name and name.
    pub tenants: Vec<(String, String)>,
    /// How many operations need a person, bounded.
    pub attention: i64,
    /// Whether there are more than `attention`.
    pub attention_more: bool,
}
