//! Workflows, as lists, their own page and services see them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{
    ApprovalView, AuditView, CompensationPlan, RecordRef, RelatedOperation, operation::ActionOffer,
};
use crate::{
    ids::{CompensationId, OperationId, WorkflowId},
    operation::Status,
    workflow::{StepState, WorkflowState},
};

/// A row of the list of workflows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowRow {
    /// Its id.
    pub id: WorkflowId,
    /// The definition's name.
    pub kind: String,
    /// The client's key, whole.
    pub key: String,
    /// The definition's version, pinned at the start.
    pub definition_version: i32,
    /// Where it stands.
    pub status: WorkflowState,
    /// Grows with all that a person can see; actions name it.
    pub version: i64,
    /// Why it is blocked, or what made it fail or be undone.
    pub cause: Option<String>,
    /// Steps that are over.
    pub steps_over: i64,
    /// All its steps.
    pub steps: i64,
    /// When it was started.
    pub created_at: DateTime<Utc>,
    /// When it last moved.
    pub updated_at: DateTime<Utc>,
    /// When it was over.
    pub completed_at: Option<DateTime<Utc>>,
}

/// One step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepView {
    /// Its key.
    pub step_key: String,
    /// Where it stands.
    pub status: StepState,
    /// The steps that must be over first.
    pub after: Vec<String>,
    /// The kind of its operation; `None` for a decision.
    pub operation: Option<String>,
    /// Its operation, once started.
    pub operation_id: Option<OperationId>,
    /// When it was started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was over.
    pub completed_at: Option<DateTime<Utc>>,
    /// Its place in the order of completion, which an undo reverses.
    pub completed_seq: Option<i64>,
    /// What it brought forth.
    pub artifacts: Vec<ArtifactView>,
}

/// The operation of a step, as far as its workflow's page shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepCall {
    /// The step.
    pub step_key: String,
    /// Where its operation stands.
    pub status: Status,
    /// Calls begun.
    pub attempt: i32,
    /// Whether machines have given up finding out.
    pub needs_manual: bool,
}

/// A workflow beside a record of one of its steps.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FlowRef {
    /// Its id.
    pub id: WorkflowId,
    /// The definition's name.
    pub kind: String,
    /// The client's key.
    pub key: String,
    /// Where it stands.
    pub status: WorkflowState,
    /// Which of its steps.
    pub step_key: String,
}

/// What an operation belongs to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OperationLinks {
    /// The workflow that made it, or whose undoing made it.
    pub workflow: Option<FlowRef>,
    /// The undo that it is a try of, and what is undone.
    pub undoes: Option<(CompensationId, RelatedOperation)>,
    /// The last events that tell of it, oldest first.
    #[serde(default)]
    pub events: Vec<RecordRef>,
    /// Whether more tell of it.
    #[serde(default)]
    pub more_events: bool,
    /// The message that it came from, and those that were about it, oldest first.
    #[serde(default)]
    pub messages: Vec<RecordRef>,
}

/// Something that a step brought forth, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ArtifactView {
    /// Its name within the step.
    pub name: String,
    /// Media type, as its maker named it.
    pub content_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the bytes, in hexadecimal.
    pub sha256: String,
    /// Whether the bytes have expired.
    pub expired: bool,
    /// When it was stored.
    pub created_at: DateTime<Utc>,
}

/// A move of a workflow or of a step of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowMove {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// The rule, such as `S2`.
    pub rule: String,
    /// The step; `None` for a move of the workflow itself.
    pub step_key: Option<String>,
    /// The state before.
    pub from: Option<String>,
    /// The state after.
    pub to: String,
    /// The version after.
    pub version: i64,
    /// Who.
    pub actor: String,
    /// Whether a person did it.
    pub by_person: bool,
    /// A reason, a cause or a decision, where there is one.
    pub detail: Vec<(String, String)>,
}

/// Everything about one workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkflowDetail {
    /// Kinds of its steps that mask fields, in artifacts too.
    pub masking: Vec<String>,
    /// The facts that its list row shows.
    pub row: WorkflowRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// Bytes of its input; `None` once expired. The input itself may hold what its steps' kinds
    /// mask, so it is shown nowhere but in their payloads.
    pub input_bytes: Option<i32>,
    /// Who started it.
    pub created_by: String,
    /// The executor that had the last turn.
    pub owner: Option<String>,
    /// Executors that had a turn.
    pub fence: i64,
    /// Whether somebody cancelled it.
    pub cancel_asked: bool,
    /// Whether this process has its definition.
    pub served_here: bool,
    /// Its steps, as the definition lists them.
    pub steps: Vec<StepView>,
    /// What would be undone of it, in which order, and what stays done; while it is undone, the true
    /// state of each.
    pub plan: CompensationPlan,
    /// Its moves and its steps', oldest first; the turns of executors left out.
    pub timeline: Vec<WorkflowMove>,
    /// Whether there are older ones, which are not read.
    #[serde(default)]
    pub timeline_older: bool,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
    /// What the operations of its steps came to.
    pub calls: Vec<StepCall>,
    /// Requests about it that wait for a second person.
    pub approvals: Vec<ApprovalView>,
    /// What people did to it, newest first.
    pub audit: Vec<AuditView>,
}
