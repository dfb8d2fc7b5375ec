//! What gathers around an operation: conflicts, evidence, incidents, notes, its timeline, the audit.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    ids::BulkId, ids::ConflictId, ids::EvidenceId, ids::IncidentId, ids::OperationId, money::Money,
    operation::Status, problem::Code,
};

/// The same key with another payload.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ConflictView {
    /// Its id: its own page compares both payloads whole.
    pub id: ConflictId,
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
    /// A file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<EvidenceFile>,
    /// Who brought it.
    pub actor: String,
    /// When it came.
    pub at: DateTime<Utc>,
}

/// A file that a person gave as evidence, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EvidenceFile {
    /// The evidence's id.
    pub id: EvidenceId,
    /// Its name; gone with its bytes, once expired.
    pub name: Option<String>,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
}

/// A problem that stays open until a person closes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentView {
    /// Its id.
    pub id: IncidentId,
    /// Its version; closing names it.
    pub version: i64,
    /// Such as `double_effect_suspected`.
    pub cause: String,
    /// What is the matter, in a sentence.
    pub summary: String,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// When a person closed it.
    pub closed_at: Option<DateTime<Utc>>,
    /// Who.
    pub closed_by: Option<String>,
    /// Why.
    pub reason: Option<String>,
}

/// A wrong confirmation put right: the state stays, this says what is true.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorrectionView {
    /// Whether it happened.
    pub happened: bool,
    /// The provider's reference, where it happened.
    pub external_reference: Option<String>,
    /// Why.
    pub reason: String,
    /// Who asked for it.
    pub corrected_by: String,
    /// Who approved it.
    pub approved_by: String,
    /// When.
    pub at: DateTime<Utc>,
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
    /// The bulk that it was done or refused within.
    pub bulk: Option<BulkId>,
}
