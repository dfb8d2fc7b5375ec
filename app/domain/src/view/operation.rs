//! One operation, as lists and its own page show it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    approval::ApprovalView, record::AuditView, record::ConflictView, record::CorrectionView,
    record::EvidenceView, record::IncidentView, record::NoteView, record::TimelineItem,
};
use crate::{
    access::Permission, action::Verb, ids::OperationId, lease::LeaseView, money::Money,
    operation::Status, problem::Code, verdict::Verdict,
};

/// A row of the list of operations.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationRow {
    /// Its id.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The client's key, whole.
    pub key: String,
    /// Where it stands.
    pub status: Status,
    /// Whether its contents have expired.
    pub tombstoned: bool,
    /// Grows with all that a person can see; actions name it.
    pub version: i64,
    /// Calls begun.
    pub attempt: i32,
    /// Who holds it.
    pub lease: LeaseView,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Whether a person must decide.
    pub needs_manual: bool,
    /// Whether the same key came with another payload.
    pub conflict: bool,
    /// Whether an incident about it is open.
    pub open_incident: bool,
    /// Who is looking at it.
    pub taken_by: Option<String>,
    /// When it was reserved.
    pub created_at: DateTime<Utc>,
    /// When it last moved.
    pub updated_at: DateTime<Utc>,
}

/// Everything about one operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationDetail {
    /// The facts that its list row shows. Not flattened: reading a flattened record costs the
    /// browser's module fifty kilobytes; the JSON API merges it when it answers.
    pub row: OperationRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// The verdict.
    pub verdict: Verdict,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
    /// The key that the provider knows it by (D15).
    pub provider_key: String,
    /// A link to the provider's own page, where the kind has one.
    pub reference_url: Option<String>,
    /// The policy of its kind.
    pub kind: KindView,
    /// How it was asked: `inline` or `queued`.
    pub mode: String,
    /// Calls allowed.
    pub max_attempts: i32,
    /// Claims without a start.
    pub claims: i32,
    /// Leases that ran out during a call.
    pub takeovers: i32,
    /// Questions that reconciliation asked.
    pub reconcile_tries: i32,
    /// Whether the provider's last answer was that for this effect it offers no lookup, whatever the
    /// kind says.
    pub asked_in_vain: bool,
    /// When reconciliation asks next.
    pub next_reconcile_at: Option<DateTime<Utc>>,
    /// When it may be tried again.
    pub next_at: Option<DateTime<Utc>>,
    /// When the last call began.
    pub started_at: Option<DateTime<Utc>>,
    /// When it became final.
    pub completed_at: Option<DateTime<Utc>>,
    /// From when it may become a tombstone.
    pub expires_at: Option<DateTime<Utc>>,
    /// When its contents were removed.
    pub tombstoned_at: Option<DateTime<Utc>>,
    /// How often its final answer was given again, at least: what a process had not written when it was
    /// killed is not in it.
    pub replays: i64,
    /// When last.
    pub replayed_at: Option<DateTime<Utc>>,
    /// The instant before which *it did not happen* is refused (O22).
    pub not_before: Option<DateTime<Utc>>,
    /// The workflow's key, where a step made it.
    pub workflow_key: Option<String>,
    /// What was asked.
    pub payload: Option<BodyView>,
    /// What is replayed to the client.
    pub response: Option<ResponseView>,
    /// The same key with other payloads.
    pub conflicts: Vec<ConflictView>,
    /// What arrived about it from elsewhere.
    pub evidence: Vec<EvidenceView>,
    /// Whether there is older evidence, which is not read.
    #[serde(default)]
    pub evidence_older: bool,
    /// Wrong confirmations put right, the latest first.
    pub corrections: Vec<CorrectionView>,
    /// Requests about it that wait for a second person.
    pub approvals: Vec<ApprovalView>,
    /// Problems that stay open until somebody closes them.
    pub incidents: Vec<IncidentView>,
    /// What people wrote.
    pub notes: Vec<NoteView>,
    /// Whether there are older ones, which are not read.
    #[serde(default)]
    pub notes_older: bool,
    /// Its life, oldest first; of a long one the piece that was asked for, or the last.
    pub timeline: Vec<TimelineItem>,
    /// How many items stand before that piece.
    pub timeline_from: usize,
    /// How many items there are, up to the bound of what is told.
    pub timeline_total: usize,
    /// What people did to it, newest first.
    pub audit: Vec<AuditView>,
}

/// An action and whether the reader may take it now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ActionOffer {
    /// Which.
    pub verb: Verb,
    /// Why not, where it cannot be taken.
    pub refusal: Option<Code>,
    /// The right that is missing, where that is why.
    pub missing: Option<Permission>,
}

/// An operation kind's policy, as far as pages show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KindView {
    /// The kind's name.
    pub name: String,
    /// Whether a repeat would harm.
    pub irreversible: bool,
    /// Whether it moves money.
    pub money: bool,
    /// The provider's adapter.
    pub provider: Option<String>,
    /// Whether the provider can be asked.
    pub lookup: bool,
    /// Whether *not found* is proof (D14).
    pub absent_is_proof: bool,
    /// The longest a call may take, in milliseconds.
    pub call_deadline_ms: i64,
    /// How long a lease lasts, in milliseconds.
    pub lease_ms: i64,
    /// How long an effect may take to show at the provider, in milliseconds.
    pub settle_window_ms: i64,
    /// Above which amount a second person is needed, in minor units.
    pub approval_threshold_minor: Option<i64>,
}

/// A payload, bounded and masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BodyView {
    /// Indented text; numbers as they were sent.
    pub text: String,
    /// Size as sent, in bytes.
    pub bytes: i64,
    /// Whether `text` is only the beginning.
    pub cut: bool,
    /// How many fields are masked.
    pub masked: u32,
}

/// The stored answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ResponseView {
    /// HTTP status that is replayed.
    pub status: i32,
    /// Its media type.
    pub content_type: String,
    /// Its body.
    pub body: BodyView,
    /// Whether the stored answer itself was cut at its limit.
    pub snapshot_cut: bool,
}
