//! Masked fields shown to one person for a short time: the only types here that carry what others may
//! not see. They are made for the answer to that person alone and never stand in a list.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{action::TargetType, ids::RevealId};

/// One artifact of a workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactName {
    /// The step that brought it forth.
    pub step: String,
    /// Its name within the step.
    pub name: String,
}

/// What could be revealed of a record: names, no values.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MaskedFields {
    /// What the record is called among its like.
    pub label: String,
    /// Its own key.
    pub key: String,
    /// The masked fields that are there, each with the body that it stands in: `payload/card`. A body
    /// that is hidden as a whole is named alone.
    pub pointers: Vec<String>,
    /// Whether its contents have expired: then there is nothing to reveal.
    pub expired: bool,
}

/// A reveal: by whom it was asked for is who reads it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevealView {
    /// Its id.
    pub id: RevealId,
    /// Of which kind of record.
    pub target_type: TargetType,
    /// Of which record.
    pub target: String,
    /// Of a workflow, which artifact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub artifact: Option<ArtifactName>,
    /// What the record is called among its like.
    pub label: String,
    /// Its own key.
    pub key: String,
    /// Why it was asked for.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Until when it can be read.
    pub until: DateTime<Utc>,
    /// The fields that were masked when it was asked for.
    pub pointers: Vec<String>,
    /// The bodies with masked fields; `None` once the time is over.
    pub bodies: Option<Vec<RevealedBody>>,
}

/// A body with nothing masked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevealedBody {
    /// Which of the record's: `payload`, `answer`, `effect`, `artifact`.
    pub part: String,
    /// The masked fields with what stands there.
    pub fields: Vec<RevealedField>,
    /// The body, bounded.
    pub text: String,
    /// Size as sent, in bytes.
    pub bytes: i64,
    /// Whether `text` is only the beginning, or no text at all.
    pub cut: bool,
}

/// One masked field.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RevealedField {
    /// RFC 6901 pointer.
    pub pointer: String,
    /// What stands there, as JSON; numbers as they were sent.
    pub value: String,
}
