//! What gathers around an operation: conflicts, evidence, incidents, notes, its timeline, the audit.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    ids::BulkId, ids::ConflictId, ids::EvidenceId, ids::IncidentId, ids::OperationId, money::Money,
    operation::Status, problem::Code, record::RecordType,
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
    /// An anchor, unique on the page and the same whenever it is read: a letter for what it is, and its
    /// number or id.
    pub anchor: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What kind of thing: the rule of a move (`O2`; `S2` of its step, `X6` of an event, `N2` of a
    /// message), or `evidence`, `note`, `conflict`, `delivery`, `request`, `audit`.
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
    /// The record that it happened to, where that is not the operation itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<TimelineOf>,
    /// When the lease ran out whose end ended the call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_until: Option<DateTime<Utc>>,
}

impl TimelineItem {
    /// Something that happened, of which no more is known yet.
    #[must_use]
    pub fn new(anchor: String, rule: &str, actor: &str, at: DateTime<Utc>) -> Self {
        Self {
            anchor,
            at,
            rule: rule.into(),
            sentence: String::new(),
            actor: actor.into(),
            by_person: false,
            from: None,
            to: None,
            version: None,
            fence: None,
            attempt: 0,
            detail: Vec::new(),
            receipt: None,
            of: None,
            lease_until: None,
        }
    }

    /// A detail by its name, where it says something.
    #[must_use]
    pub fn says(&self, name: &str) -> Option<&str> {
        let found = self.detail.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Another record in an operation's timeline: enough to name it and to link it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TimelineOf {
    /// What kind of record.
    pub record: RecordType,
    /// Its id.
    pub id: String,
    /// Its own key.
    pub key: String,
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
