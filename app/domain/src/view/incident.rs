//! Incidents, as a list and their own pages show them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{inbox::MoveView, operation::ActionOffer, record::AuditView, report::ReportStake};
use crate::{
    ids::{IncidentId, OperationId},
    listing::IncidentState,
    money::Money,
    record::{RecordName, RecordType},
};

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
    /// Where it stands; `gone` where it is no longer on record.
    pub status: String,
    /// Amount at stake.
    pub amount: Option<Money>,
}

/// A record of an incident, and how it got there.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentRecord {
    /// The record as it is now.
    #[serde(flatten)]
    pub now: RecordRef,
    /// Who gathered it; `None` where the engine opened the incident about it.
    pub added_by: Option<String>,
    /// When.
    pub added_at: Option<DateTime<Utc>>,
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
    /// How many records a list found that it is about, one more than [`IncidentRow::SUMMED`] where there
    /// are more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub record_count: Option<usize>,
    /// Money at stake in all of them, per currency; a list leaves it out where there are more records than
    /// it sums.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stake: Vec<ReportStake>,
    /// When it was opened.
    pub opened_at: DateTime<Utc>,
    /// By whom; `None`: by the engine.
    pub opened_by: Option<String>,
    /// When a person closed it.
    pub closed_at: Option<DateTime<Utc>>,
    /// Who.
    pub closed_by: Option<String>,
}

impl IncidentRow {
    /// Records of one incident that a list sums.
    pub const SUMMED: usize = 20;
}

/// One incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentDetail {
    /// The facts that its list row shows.
    pub row: IncidentRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// Why a person opened it.
    pub opened_reason: Option<String>,
    /// Why it was closed.
    pub reason: Option<String>,
    /// The records that it is about, those of the engine first, then as they were gathered.
    pub records: Vec<IncidentRecord>,
    /// Money at stake in them, per currency.
    pub stake: Vec<ReportStake>,
    /// What happened to them and to it, oldest first; one page of it.
    pub story: Vec<IncidentStep>,
    /// Where the story goes on, where it does.
    pub story_next: Option<String>,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
    /// What people did to it, newest first.
    pub audit: Vec<AuditView>,
}

/// One page of the timeline of an incident's records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentStory {
    /// What happened, oldest first.
    pub items: Vec<IncidentStep>,
    /// Where it goes on, where it does.
    pub next: Option<String>,
    /// When this was read.
    pub as_of: DateTime<Utc>,
}

/// Something that happened to a record of an incident, or to the incident.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IncidentStep {
    /// An anchor, unique in the story.
    pub anchor: String,
    /// Which kind of record.
    pub record: RecordType,
    /// Which one.
    pub id: String,
    /// What happened, in a sentence, where the rule has one.
    pub sentence: Option<String>,
    /// The move; of a note, a decision, evidence or a conflict its word stands for the rule.
    pub step: MoveView,
    /// The receipt, where a person decided.
    pub receipt: Option<OperationId>,
}

impl IncidentStep {
    /// What happened, with the kind of record that it happened to.
    #[must_use]
    pub fn words(&self) -> String {
        let label = self.record.label();
        let (first, rest) = label.split_at(1);
        let sentence = match &self.sentence {
            Some(sentence) => sentence.clone(),
            None => format!("{}.", self.step.to.replace('_', " ")),
        };
        format!("{}{rest}: {sentence}", first.to_uppercase())
    }

    /// A detail by its name.
    #[must_use]
    pub fn detail(&self, name: &str) -> Option<&str> {
        let found = self.step.detail.iter().find(|(known, _)| known == name);
        found.map(|(_, value)| value.as_str()).filter(|value| !value.is_empty())
    }
}

/// Records that somebody picked to gather, and where they could go.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gathering {
    /// Those that the tenant has.
    pub found: Vec<RecordRef>,
    /// Those that it has not, or that cannot be gathered.
    pub missing: Vec<RecordName>,
    /// Open incidents, newest first; bounded.
    pub open: Vec<IncidentRow>,
    /// Whether more are open than are listed.
    pub more_open: bool,
    /// The id that a new incident gets: the form carries it, so that sending it twice opens one.
    pub new_id: IncidentId,
}
