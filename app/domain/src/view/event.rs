//! Events of the outbox, as lists and their own pages show them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    inbox::MoveView, inbox::RelatedOperation, operation::ActionOffer, operation::BodyView,
    record::AuditView,
};
use crate::{
    ids::{EventId, OperationId},
    outbox::EventStatus,
};

/// A row of the list of events.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventRow {
    /// Its id, the same at each delivery (D27).
    pub id: EventId,
    /// What happened.
    pub topic: String,
    /// What it is about: the order of its events is kept.
    pub aggregate: String,
    /// Its place there.
    pub seq: i64,
    /// Where it stands.
    pub status: EventStatus,
    /// Grows with each move; actions name it.
    pub version: i64,
    /// How often its destination refused it.
    pub attempts: i32,
    /// Where it goes, as of its last delivery.
    pub destination: Option<String>,
    /// The operation that it tells of.
    pub operation_id: Option<OperationId>,
    /// Whether it is the next of its aggregate.
    pub at_head: bool,
    /// Whether it waits behind a dead one.
    pub behind_dead: bool,
    /// When it is tried next; only of a head that waits.
    pub next_at: Option<DateTime<Utc>>,
    /// Who delivers it now.
    pub owner: Option<String>,
    /// Until when that publisher holds it.
    pub lease_until: Option<DateTime<Utc>>,
    /// What its destination or the network last said.
    pub last_error: Option<String>,
    /// When it was written: its age counts from here.
    pub created_at: DateTime<Utc>,
    /// When it was told, or a person skipped it.
    pub settled_at: Option<DateTime<Utc>>,
}

/// Everything about one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventDetail {
    /// The facts that its list row shows.
    pub row: EventRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// The envelope that it leaves in.
    pub envelope: EnvelopeView,
    /// Its fence: which publisher's word counts.
    pub fence: i64,
    /// What it tells.
    pub payload: BodyView,
    /// The order that it stands in.
    pub order: AggregateView,
    /// The operation that it tells of.
    pub operation: Option<RelatedOperation>,
    /// Its last deliveries, newest first.
    pub deliveries: Vec<EventAttempt>,
    /// What became of it beyond deliveries, oldest first.
    pub timeline: Vec<MoveView>,
    /// Whether there are older ones, which are not read.
    #[serde(default)]
    pub timeline_older: bool,
    /// What people did to it, newest first.
    #[serde(default)]
    pub audit: Vec<AuditView>,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
}

/// The attributes of the CloudEvents envelope.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EnvelopeView {
    /// Its version of the format.
    pub spec_version: String,
    /// `source`.
    pub source: String,
    /// `sequence`: of a fixed width, for its order is that of texts.
    pub sequence: String,
    /// `partitionkey`: what it counts within.
    pub partition_key: String,
    /// `datacontenttype`.
    pub content_type: String,
}

/// An aggregate's order around one event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AggregateView {
    /// The number of the first event that is not told yet.
    pub head_seq: i64,
    /// The number that the next event will get.
    pub next_seq: i64,
    /// Events that wait, the head among them.
    pub waiting: i64,
    /// Whether a dead head stops the rest.
    pub blocked: bool,
    /// When the head is tried next.
    pub next_at: DateTime<Utc>,
    /// The head, unless nothing waits.
    pub head: Option<EventRow>,
    /// The events beside this one, itself among them, in their order.
    pub neighbours: Vec<EventRow>,
}

/// One delivery that was tried.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct EventAttempt {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The fence that its publisher held.
    pub fence: i64,
    /// Where to.
    pub destination: Option<String>,
    /// Which publisher.
    pub owner: String,
    /// `published`, `duplicate`, `refused`, `transport_down` or `lease_lost`.
    pub outcome: String,
    /// What the destination or the network said.
    pub error: Option<String>,
    /// How long it took.
    pub took_ms: Option<i32>,
}
