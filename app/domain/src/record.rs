//! What kinds of record there are, what people call them, and where each stands in the console:
//! one table, so that a queue, an incident and a search link alike.

use serde::{Deserialize, Serialize};

/// A kind of record with a page of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordType {
    /// One business effect.
    Operation,
    /// Steps that belong together.
    Workflow,
    /// The undoing of an operation; stands on the page of what it undoes.
    Compensation,
    /// An event to be told.
    Event,
    /// A message that came in.
    Message,
    /// The same key with another payload.
    Conflict,
    /// A request for a second person.
    Approval,
    /// A problem that stays open until a person closes it.
    Incident,
}

impl RecordType {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Operation,
        Self::Workflow,
        Self::Compensation,
        Self::Event,
        Self::Message,
        Self::Conflict,
        Self::Approval,
        Self::Incident,
    ];

    /// The word that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Workflow => "workflow",
            Self::Compensation => "compensation",
            Self::Event => "event",
            Self::Message => "message",
            Self::Conflict => "conflict",
            Self::Approval => "approval",
            Self::Incident => "incident",
        }
    }

    /// The path of its list.
    #[must_use]
    pub const fn list(self) -> &'static str {
        match self {
            Self::Operation | Self::Compensation => "/operations",
            Self::Workflow => "/workflows",
            Self::Event => "/outbox",
            Self::Message => "/inbox",
            Self::Conflict => "/conflicts",
            Self::Approval => "/approvals",
            Self::Incident => "/incidents",
        }
    }

    /// The path of one record. For a compensation give the id of what it undoes.
    #[must_use]
    pub fn href(self, id: &str) -> String {
        format!("{}/{id}", self.list())
    }
}
