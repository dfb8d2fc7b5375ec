//! Messages, as lists and their own pages show them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    operation::{ActionOffer, BodyView},
    record::AuditView,
};
use crate::{
    ids::{MessageId, OperationId, WorkflowId},
    inbox::InboxState,
    money::Money,
    operation::Status,
};

/// A row of the list of messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageRow {
    /// Its id here.
    pub id: MessageId,
    /// Who acts on it.
    pub consumer: String,
    /// Where it comes from.
    pub source: String,
    /// Its id there.
    pub message_id: String,
    /// Where it stands.
    pub status: InboxState,
    /// Grows with all that a person can see; actions name it.
    pub version: i64,
    /// When its producer made it.
    pub produced_at: DateTime<Utc>,
    /// When it first arrived.
    pub received_at: DateTime<Utc>,
    /// Until when it is remembered in full.
    pub window_until: DateTime<Utc>,
    /// When its effect was done, or a person dropped it.
    pub settled_at: Option<DateTime<Utc>>,
    /// When its contents were removed.
    pub shrunk_at: Option<DateTime<Utc>>,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// The workflow that it started.
    pub workflow_id: Option<WorkflowId>,
    /// How often it came.
    pub deliveries: i32,
    /// When last.
    pub last_delivery_at: DateTime<Utc>,
    /// Deliveries that failed.
    pub failures: i32,
    /// Whether the same id came with another content.
    pub conflict: bool,
}

/// Everything about one message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageDetail {
    /// The facts that its list row shows.
    pub row: MessageRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// What it says.
    pub payload: Option<BodyView>,
    /// What it asks to start.
    pub effect: Option<BodyView>,
    /// The amount that the operation would have which it asks to start, as its kind reads it.
    pub amount: Option<Money>,
    /// What its last failed delivery said.
    pub last_error: Option<String>,
    /// Whether running or dropping it needs a second person (N5).
    pub needs_second_person: bool,
    /// Operations that share an id, key, reference or search term with it: what may have been done
    /// already.
    pub related: Vec<RelatedOperation>,
    /// The same id with other contents.
    pub conflicts: Vec<MessageConflict>,
    /// Its life, oldest first.
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

/// An operation beside a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RelatedOperation {
    /// Its id.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// Its key.
    pub key: String,
    /// Where it stands.
    pub status: Status,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// When it was reserved.
    pub created_at: DateTime<Utc>,
}

/// The same message id with another content.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MessageConflict {
    /// How often it came.
    pub count: i64,
    /// When first.
    pub first_at: DateTime<Utc>,
    /// When last.
    pub last_at: DateTime<Utc>,
    /// What it said; `None` past the bound of what is kept.
    pub payload: Option<BodyView>,
}

/// One move of a machine other than the operation's.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MoveView {
    /// When.
    pub at: DateTime<Utc>,
    /// The rule, such as `N5`.
    pub rule: String,
    /// The state before; `None` for the first.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// The version after.
    pub version: i64,
    /// Whether a person did it.
    pub by_person: bool,
    /// Who.
    pub actor: String,
    /// A reason, an error or a reference, where there is one.
    pub detail: Vec<(String, String)>,
}
