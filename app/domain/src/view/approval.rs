//! A request for a second person, as pages and the JSON API show it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{EvidenceFile, EvidenceView, ReceiptState, TimelineItem};
use crate::{
    action::{Outcome, TargetType, Verb},
    approval::ApprovalStatus,
    ids::{ApprovalId, OperationId},
    money::Money,
};

/// A request for a second person (A5).
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalView {
    /// Its id.
    pub id: ApprovalId,
    /// Its own version: 1 while it waits, 2 once it is settled.
    pub version: i64,
    /// Where it stands.
    pub status: ApprovalStatus,
    /// What was asked for.
    pub verb: Verb,
    /// On which kind of record.
    pub target_type: TargetType,
    /// On which record.
    pub target: String,
    /// The version that the requester saw; another one makes the request stale.
    pub target_version: i64,
    /// The operation's kind, or what the record is called among its like.
    pub target_operation: String,
    /// The operation's key, or the record's own.
    pub target_key: String,
    /// The outcome to be confirmed or corrected to.
    pub outcome: Option<Outcome>,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Whether a live lease is to be taken away.
    pub force: bool,
    /// Whether the provider's word is to be overridden.
    #[serde(rename = "override")]
    pub overrides: bool,
    /// What else would change, a sentence each.
    pub changes: Vec<String>,
    /// The amount at stake.
    pub amount: Option<Money>,
    /// Why it takes a second person.
    pub why: String,
    /// Who asked.
    pub requester: String,
    /// That person's email.
    pub requester_email: String,
    /// When.
    pub requested_at: DateTime<Utc>,
    /// Until when it can be approved.
    pub expires_at: DateTime<Utc>,
    /// The requester's reason.
    pub reason: String,
    /// Text or link given as evidence.
    pub evidence: Option<String>,
    /// Files given as evidence; only of a single request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub evidence_files: Vec<EvidenceFile>,
    /// What the record looked like when it was asked for.
    pub seen: ReceiptState,
    /// What the provider said then, where it was asked.
    pub provider: Option<String>,
    /// What the record looks like now; only of a single request.
    pub now: Option<ReceiptState>,
    /// What happened to the record since it was asked for; only of a single request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<SinceAsked>,
    /// Who may approve it, by name; only of a single request that waits.
    pub may_approve: Vec<String>,
    /// Whether the reader asked for it.
    pub mine: bool,
    /// Who settled it.
    pub decided_by: Option<String>,
    /// When.
    pub decided_at: Option<DateTime<Utc>>,
    /// What they said to it.
    pub decision_reason: Option<String>,
    /// The receipt of what was carried out, or of the refusal.
    pub receipt: Option<OperationId>,
}

/// What happened to a record since a second person was asked about it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinceAsked {
    /// Its moves, oldest first: the last ones, where there are many.
    pub moves: Vec<TimelineItem>,
    /// Whether more moved than is listed.
    pub more: bool,
    /// Evidence that came, oldest first; of an operation alone.
    pub evidence: Vec<EvidenceView>,
    /// The amount on record now; of an operation alone.
    pub amount: Option<Money>,
    /// The provider's reference on record now; of an operation alone.
    pub external_reference: Option<String>,
}
