//! An incident as a report: what happened, in which state the records truly are, who decided what.
//!
//! Guards against a report that shows more than the pages: it holds no payload, and every part of it
//! stands on a page as well. It also says nothing of who reads it or when, so that one state of an
//! incident has one hash.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::incident::{IncidentRecord, IncidentRow, IncidentStep};
use crate::{ids::OperationId, record::RecordType};

/// The report's content; the hash is taken over its canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentReport {
    /// Short name of the tenant.
    pub tenant: String,
    /// The zone of every instant in it.
    pub zone: String,
    /// The incident.
    pub incident: IncidentRow,
    /// Why a person opened it.
    pub opened_reason: Option<String>,
    /// Why it was closed.
    pub closed_reason: Option<String>,
    /// Money at stake, per currency.
    pub stake: Vec<ReportStake>,
    /// The records as they are.
    pub records: Vec<IncidentRecord>,
    /// What happened, oldest first.
    pub timeline: Vec<IncidentStep>,
    /// Whether the timeline goes on beyond what a report holds.
    pub timeline_cut: bool,
    /// What people decided, oldest first.
    pub decisions: Vec<ReportDecision>,
    /// Whether more was decided than a report holds.
    pub decisions_cut: bool,
    /// What people wrote, oldest first.
    pub notes: Vec<ReportNote>,
    /// Whether more was written than a report holds.
    pub notes_cut: bool,
}

/// The amounts of one currency: each operation counts once, also where its undo is a record too.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportStake {
    /// ISO 4217 code.
    pub currency: String,
    /// The sum, in minor units.
    pub amount_minor: i64,
    /// How much of it belongs to operations whose outcome is unknown.
    pub unknown_minor: i64,
    /// Of how many operations.
    pub operations: i64,
}

/// One decision with its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportDecision {
    /// When.
    pub at: DateTime<Utc>,
    /// Who decided.
    pub actor: String,
    /// Who else agreed, where it took a second person.
    pub approved_by: Option<String>,
    /// What, such as `confirm`.
    pub action: String,
    /// On which kind of record.
    pub record: RecordType,
    /// Which one.
    pub id: String,
    /// Why.
    pub reason: Option<String>,
    /// The receipt.
    pub receipt: OperationId,
}

/// One note.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportNote {
    /// On which kind of record.
    pub record: RecordType,
    /// Which one.
    pub id: String,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What; empty once expired.
    pub text: String,
}

/// A report with the hash of its content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SealedReport {
    /// The content.
    pub report: IncidentReport,
    /// SHA-256 over its canonical JSON: `sha256:` and 64 hexadecimal digits.
    pub content_hash: String,
    /// When this was read.
    pub as_of: DateTime<Utc>,
}
