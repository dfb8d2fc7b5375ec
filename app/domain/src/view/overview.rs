//! What needs a person now, and who is looking.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{health::HealthView, incident::RecordRef, operation::OperationRow};
use crate::{access::Role, money::Money, record::RecordType};

/// What needs a person now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Overview {
    /// When it was read.
    pub as_of: DateTime<Utc>,
    /// One queue per cause.
    pub queues: Vec<Queue>,
    /// All causes together, or the one that was asked for: the greatest amount first, currencies taken as
    /// equal, then the oldest.
    pub merged: Vec<AttentionRow>,
    /// Whether `merged` is the beginning alone.
    pub merged_more: bool,
    /// Whether what works for people works.
    pub health: HealthView,
    /// What became of operations in each of the last 24 hours, oldest first.
    pub outcomes: Vec<OutcomeHour>,
    /// How long outcomes have been unknown, the youngest first.
    pub ageing: Vec<AgeBucket>,
}

/// Why something needs a person.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// The outcome is unknown and machines have given up.
    UnknownOutcome,
    /// A lease ended and nobody took over.
    StuckLease,
    /// A request that the reader may approve.
    ApprovalMine,
    /// A request that somebody else has to approve.
    ApprovalOthers,
    /// An undo failed.
    StuckCompensation,
    /// A workflow cannot go on by itself.
    BlockedWorkflow,
    /// An event was refused too often and blocks those behind it.
    DeadEvent,
    /// A message was not taken in: too late, or it failed too often.
    UntakenMessage,
    /// An incident is open.
    OpenIncident,
    /// The same key came with another payload.
    PayloadConflict,
}

impl Cause {
    /// All causes, the most pressing first.
    pub const ALL: [Self; 10] = [
        Self::UnknownOutcome,
        Self::StuckLease,
        Self::ApprovalMine,
        Self::ApprovalOthers,
        Self::StuckCompensation,
        Self::BlockedWorkflow,
        Self::DeadEvent,
        Self::UntakenMessage,
        Self::OpenIncident,
        Self::PayloadConflict,
    ];

    /// The queue's name.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::UnknownOutcome => "Unknown outcomes",
            Self::StuckLease => "Stuck leases",
            Self::ApprovalMine => "Approvals waiting for me",
            Self::ApprovalOthers => "Approvals waiting for others",
            Self::StuckCompensation => "Failed undos",
            Self::BlockedWorkflow => "Blocked workflows",
            Self::DeadEvent => "Dead events",
            Self::UntakenMessage => "Messages not taken in",
            Self::OpenIncident => "Open incidents",
            Self::PayloadConflict => "Payload conflicts",
        }
    }

    /// The word in URLs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::UnknownOutcome => "unknown_outcome",
            Self::StuckLease => "stuck_lease",
            Self::ApprovalMine => "approval_mine",
            Self::ApprovalOthers => "approval_others",
            Self::StuckCompensation => "stuck_compensation",
            Self::BlockedWorkflow => "blocked_workflow",
            Self::DeadEvent => "dead_event",
            Self::UntakenMessage => "untaken_message",
            Self::OpenIncident => "open_incident",
            Self::PayloadConflict => "payload_conflict",
        }
    }

    /// What kind of record waits for it.
    #[must_use]
    pub const fn record(self) -> RecordType {
        match self {
            Self::UnknownOutcome | Self::StuckLease => RecordType::Operation,
            Self::ApprovalMine | Self::ApprovalOthers => RecordType::Approval,
            Self::StuckCompensation => RecordType::Compensation,
            Self::BlockedWorkflow => RecordType::Workflow,
            Self::DeadEvent => RecordType::Event,
            Self::UntakenMessage => RecordType::Message,
            Self::OpenIncident => RecordType::Incident,
            Self::PayloadConflict => RecordType::Conflict,
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
    /// The record: its kind, its id, what it is called.
    pub record: RecordRef,
    /// Money at stake, one sum per currency.
    pub at_stake: Vec<Money>,
    /// The operation that it is, or is about, where it is about one.
    pub operation: Option<OperationRow>,
    /// Since when it waits.
    pub since: DateTime<Utc>,
}

impl AttentionRow {
    /// Whether a person has something to decide. Not where a key came again after its operation had
    /// ended, and nothing contradicts how: that is told, and asks for nothing.
    #[must_use]
    pub fn needs_person(&self) -> bool {
        self.cause != Cause::PayloadConflict
            || self
                .operation
                .as_ref()
                .is_none_or(|first| !first.status.is_final() || first.open_incident)
    }
}

/// What became of operations within one hour.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutcomeHour {
    /// When the hour began.
    pub from: DateTime<Utc>,
    /// Operations that succeeded.
    pub succeeded: i64,
    /// Operations that failed for good.
    pub failed: i64,
    /// Operations whose outcome became unknown.
    pub unknown: i64,
}

/// Unknown outcomes of one age.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgeBucket {
    /// At least so old, in milliseconds.
    pub from_ms: i64,
    /// Younger than this; `None`: however old.
    pub to_ms: Option<i64>,
    /// Those that machines still ask about, counted up to a bound.
    pub machines: i64,
    /// Those that wait for a person, counted up to a bound.
    pub people: i64,
    /// Whether one of the two counts stopped at its bound.
    pub more: bool,
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
    /// When the page was asked for, before anything on it was read.
    pub as_of: DateTime<Utc>,
    /// The person's tenants, for the switcher: short name and name.
    pub tenants: Vec<(String, String)>,
    /// How many unknown outcomes wait for a person, bounded.
    pub attention: i64,
    /// Whether there are more than `attention`.
    pub attention_more: bool,
}

#[cfg(test)]
mod tests {
    use super::Cause;

    #[test]
    fn the_name_of_a_queue_breaks_between_words_in_the_narrowest_tile() {
        for cause in Cause::ALL {
            assert!(cause.label().split(' ').all(|word| word.len() <= 9), "{}", cause.label());
        }
    }
}
