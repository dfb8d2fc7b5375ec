//! What pages and the JSON API show: plain data, masked and bounded before it gets here.
//!
//! Everything in these types reaches the browser, so no field carries what the reader may not
//! see. Instants are the database's (D19); `as_of` says when they were read.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    access::{Permission, Role},
    action::{Outcome, Verb},
    ids::{EvidenceId, IncidentId, OperationId},
    lease::LeaseView,
    money::Money,
    operation::Status,
    problem::Code,
    verdict::Verdict,
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
    /// The facts that its list row shows.
    #[serde(flatten)]
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
    /// Problems that stay open until somebody closes them.
    pub incidents: Vec<IncidentView>,
    /// What people wrote.
    pub notes: Vec<NoteView>,
    /// Its life, oldest first.
    pub timeline: Vec<TimelineItem>,
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

/// The same key with another payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictView {
    /// How often it came.
    pub count: i64,
    /// When first.
    pub first_at: DateTime<Utc>,
    /// When last.
    pub last_at: DateTime<Utc>,
    /// Which tokens sent it.
    pub callers: Vec<String>,
    /// The amount it named.
    pub amount: Option<Money>,
    /// Changed leaves only.
    pub changes: Vec<FieldChange>,
    /// How many leaves are the same.
    pub unchanged: i64,
    /// Whether the comparison stopped at the bound of what is stored.
    pub cut: bool,
}

/// One leaf that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FieldChange {
    /// RFC 6901 pointer.
    pub pointer: String,
    /// In the payload that was accepted; `None` where it has no such leaf.
    pub first: Option<String>,
    /// In the payload that was refused.
    pub other: Option<String>,
}

/// Something that arrived about an operation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceView {
    /// Its id.
    pub id: EvidenceId,
    /// `worker`, `webhook`, `lookup` or `staff`.
    pub source: String,
    /// `done`, `rejected`, `not_done`, `absent`, `ambiguous` or `statement`.
    pub says: String,
    /// The provider's reference in it.
    pub external_reference: Option<String>,
    /// The amount in it.
    pub amount: Option<Money>,
    /// The fence that its sender carried.
    pub fence: Option<i64>,
    /// A text or link.
    pub text: Option<String>,
    /// Who brought it.
    pub actor: String,
    /// When it came.
    pub at: DateTime<Utc>,
}

/// A problem that stays open until a person closes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentView {
    /// Its id.
    pub id: IncidentId,
    /// Such as `double_effect_suspected`.
    pub cause: String,
    /// What is the matter, in a sentence.
    pub summary: String,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// When a person closed it.
    pub closed_at: Option<DateTime<Utc>>,
}

/// What a person wrote.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NoteView {
    /// Who.
    pub author: String,
    /// What; empty once expired.
    pub text: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// One item of the timeline.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineItem {
    /// An anchor, unique on the page: `e` and the version-independent sequence number.
    pub anchor: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What kind of thing: the rule (`O2`), or `evidence`, `note`, `conflict`, `outbox`.
    pub rule: String,
    /// The sentence.
    pub sentence: String,
    /// Who: a worker, a token, a person, `reconciler`, `janitor`.
    pub actor: String,
    /// Whether a person did it.
    pub by_person: bool,
    /// The state before.
    pub from: Option<Status>,
    /// The state after.
    pub to: Option<Status>,
    /// The version after.
    pub version: Option<i64>,
    /// The fence after.
    pub fence: Option<i64>,
    /// The attempt it belongs to.
    pub attempt: i32,
    /// A reason, an error or a reference, where there is one.
    pub detail: Vec<(String, String)>,
    /// The receipt, where a person decided.
    pub receipt: Option<OperationId>,
}

/// A row of the audit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditView {
    /// Position in the tenant's log.
    pub seq: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// Who.
    pub actor: String,
    /// What, such as `confirm`.
    pub action: String,
    /// `done` or `denied`.
    pub result: String,
    /// The refusal's code.
    pub code: Option<Code>,
    /// The person's reason.
    pub reason: Option<String>,
    /// The receipt.
    pub receipt: Option<OperationId>,
}

/// A receipt: one decision, carried out once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// The console operation that recorded it.
    pub id: OperationId,
    /// The key it was taken under (D41).
    pub action_key: String,
    /// What was done.
    pub verb: Verb,
    /// To which operation.
    pub target: OperationId,
    /// The target's kind.
    pub target_operation: String,
    /// The target's key.
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
    /// State and version before.
    pub before: ReceiptState,
    /// State and version after.
    pub after: ReceiptState,
    /// What followed, a sentence each.
    pub followed: Vec<String>,
    /// Others who sent the same decision later.
    pub also_decided_by: Vec<AlsoDecided>,
}

/// A state on a receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReceiptState {
    /// Where it stood.
    pub status: Status,
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
    /// From when it would be allowed, or when to try again.
    pub at: Option<DateTime<Utc>>,
}
