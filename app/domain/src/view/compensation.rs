//! What would be undone, in which order, and what cannot be; and, once it runs, the true state of
//! each undo.

use serde::{Deserialize, Serialize};

use super::{FlowRef, RelatedOperation, operation::ActionOffer};
use crate::{
    compensation::{CompensationState, Effect},
    ids::{CompensationId, OperationId},
    money::Money,
    operation::Status,
};

/// The undoing of a workflow or of one operation, as it stands or would stand now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompensationPlan {
    /// What is waited for first: outcomes that are not known yet (D37).
    pub awaited: Vec<PlannedUndo>,
    /// What happened, in the order in which it is undone: the reverse of completion (D35).
    pub undone: Vec<PlannedUndo>,
    /// Whether something of it stays done, as far as is known now: no plan for "all undone".
    pub partial: bool,
}

impl CompensationPlan {
    /// Whether anything is left whose undo has not begun: where an undo holds the rest up, whether there
    /// is a rest.
    #[must_use]
    pub fn something_left(&self) -> bool {
        self.awaited.iter().chain(&self.undone).any(PlannedUndo::is_left)
    }
}

/// One operation of a plan.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedUndo {
    /// The step, where it is one.
    pub step_key: Option<String>,
    /// The operation that is undone.
    pub operation_id: OperationId,
    /// Its kind.
    pub operation: String,
    /// Where it stands.
    pub status: Status,
    /// What is known of its effect: its state, or what the latest correction says.
    pub effect: Effect,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// The kind of its undo.
    pub undo_kind: Option<String>,
    /// Why it cannot be undone, in a sentence: it stays done.
    pub cannot: Option<String>,
    /// Its undo, once asked for.
    pub undo: Option<UndoView>,
}

impl PlannedUndo {
    /// Whether it can be undone, and its undo has not begun.
    fn is_left(&self) -> bool {
        use CompensationState as C;
        self.cannot.is_none()
            && self.undo.as_ref().is_none_or(|undo| {
                matches!(undo.status, C::Requested | C::WaitingForward | C::NotNeeded)
            })
    }
}

/// One undo beside what it undoes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoDetail {
    /// What it undoes, with the undo itself.
    pub planned: PlannedUndo,
    /// The same as people recognise it, where it can be read.
    pub forward: Option<RelatedOperation>,
    /// What is known of the undo's own operation, in a sentence, once there is one.
    pub ended: Option<String>,
    /// The workflow whose undoing it belongs to, if any.
    pub workflow: Option<FlowRef>,
    /// Whether anything else of that workflow is left to undo.
    pub left: bool,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
}

/// An undo that was asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct UndoView {
    /// The link.
    pub id: CompensationId,
    /// Where the link stands.
    pub status: CompensationState,
    /// Grows with each move; actions name it.
    pub version: i64,
    /// Which try it is, from 1.
    pub n: i32,
    /// How much it gives back.
    pub amount: Option<Money>,
    /// The undo operation.
    pub undo_id: Option<OperationId>,
    /// Where that stands: *unknown* is shown as unknown (C8).
    pub undo_status: Option<Status>,
    /// Whether machines have given up finding out.
    pub needs_person: bool,
    /// Whether a person let the steps before it be undone without it.
    pub passed: bool,
}
