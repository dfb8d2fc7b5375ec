//! Incidents, as a list and their own pages show them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{inbox::MoveView, operation::ActionOffer, record::AuditView};
use crate::{ids::IncidentId, listing::IncidentState, money::Money, record::RecordType};

/// A record that something is about: enough to name it and to link it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordRef {
    /// What kind of record.
    pub record: RecordType,
    /// Its id.
    pub id: String,
    /// The id of its page: that of what a compensation undoes, otherwise its own.
    pub page_id: String,
    /// What it is called among its like: a kind, a topic, a consumer.
    pub label: String,
    /// Its own key.
    pub key: String,
    /// Where it stands.
    pub status: String,
    /// Amount at stake.
    pub amount: Option<Money>,
}

/// A row of the list of incidents.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentRow {
    /// Its id.
    pub id: IncidentId,
    /// Whether it is open.
    pub status: IncidentState,
    /// Its version; closing names it.
    pub version: i64,
    /// Such as `double_effect_suspected`.
    pub cause: String,
    /// What is the matter, in a sentence.
    pub summary: String,
    /// The first of the records that it is about.
    pub about: Option<RecordRef>,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// When a person closed it.
    pub closed_at: Option<DateTime<Utc>>,
    /// Who.
    pub closed_by: Option<String>,
}

/// One incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentDetail {
    /// The facts that its list row shows.
    pub row: IncidentRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// Why it was closed.
    pub reason: Option<String>,
    /// The records that it is about.
    pub records: Vec<RecordRef>,
    /// What happened to these records, oldest first; bounded.
    pub story: Vec<IncidentStep>,
    /// Whether the story goes on beyond its bound.
    pub story_cut: bool,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
    /// What people did to it, newest first.
    pub audit: Vec<AuditView>,
}

/// One move of a record of an incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentStep {
    /// Which kind of record.
    pub record: RecordType,
    /// Which one.
    pub id: String,
    /// What happened, in a sentence, where the rule has one.
    pub sentence: Option<String>,
    /// The move.
    pub step: MoveView,
}
