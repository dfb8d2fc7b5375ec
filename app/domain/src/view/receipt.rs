//! What came of a decision: its receipt, or why it was refused.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::EvidenceFile;
use crate::{
    access::Permission,
    action::{Outcome, TargetType, Verb},
    ids::{ApprovalId, BulkId, OperationId},
    money::Money,
    operation::Status,
    problem::Code,
};

/// A receipt: one decision, carried out once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The console operation that recorded it.
    pub id: OperationId,
    /// The key it was taken under (D41).
    pub action_key: String,
    /// What was done.
    pub verb: Verb,
    /// To which kind of record.
    #[serde(default)]
    pub target_type: TargetType,
    /// To which record: its id; of an operation kind its name.
    pub target: String,
    /// The operation's kind, or what the record is called among its like.
    pub target_operation: String,
    /// The operation's key, or the record's own.
    pub target_key: String,
    /// The outcome that was confirmed.
    pub outcome: Option<Outcome>,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// The amount at stake.
    pub amount: Option<Money>,
    /// Who decided.
    pub actor: String,
    /// The person's email.
    pub actor_email: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Why.
    pub reason: String,
    /// Text or link given as evidence.
    pub evidence: Option<String>,
    /// Files given as evidence.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_files: Vec<EvidenceFile>,
    /// Who agreed, where it took two people (A6).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approved_by: Option<ApprovedBy>,
    /// The bulk that it was decided within.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bulk: Option<BulkId>,
    /// State and version before.
    pub before: ReceiptState,
    /// State and version after.
    pub after: ReceiptState,
    /// What followed, a sentence each.
    pub followed: Vec<String>,
    /// Others who sent the same decision later.
    pub also_decided_by: Vec<AlsoDecided>,
}

/// The second person of a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovedBy {
    /// The request.
    pub approval: ApprovalId,
    /// Who.
    pub actor: String,
    /// The person's email.
    pub actor_email: String,
    /// What they said to it.
    pub reason: Option<String>,
}

/// The state of any record, by its word.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct StateWord(String);

impl StateWord {
    /// A word of one of the state machines.
    pub fn new(word: impl Into<String>) -> Self {
        Self(word.into())
    }

    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The operation's state, where it is one.
    #[must_use]
    pub fn operation(&self) -> Option<Status> {
        self.0.parse().ok()
    }
}

impl From<Status> for StateWord {
    fn from(status: Status) -> Self {
        Self::new(status.as_str())
    }
}

/// A state on a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptState {
    /// Where it stood.
    pub status: StateWord,
    /// At which version.
    pub version: i64,
    /// Whether a person was needed.
    pub needs_manual: bool,
}

/// Somebody who sent a decision that had been taken already.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlsoDecided {
    /// Who.
    pub actor: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Their reason.
    pub reason: String,
}

/// A refusal in full, as the console and the JSON API explain it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// Which.
    pub code: Code,
    /// The field that does not fit.
    pub field: Option<String>,
    /// A sentence about this case, made from facts alone.
    pub detail: Option<String>,
    /// The right that is missing.
    pub missing: Option<Permission>,
    /// What the record looks like now.
    pub current: Option<ReceiptState>,
    /// The decision that stands instead.
    pub receipt: Option<OperationId>,
    /// From when it would be allowed.
    pub retry_at: Option<DateTime<Utc>>,
    /// When the decision that stands instead was taken.
    pub decided_at: Option<DateTime<Utc>>,
}
