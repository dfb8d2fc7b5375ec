//! The end of a workflow that cannot go on (W8, W9): no step starts any more, operations that have
//! not begun are cancelled, and what happened is left for `compensation` to undo.
//!
//! Guards against the step that starts behind the back of an undo: the state moves first, under the
//! row's lock, and a step that ends later joins what is undone (D37).

use domain::{
    operation::{Event, Status},
    workflow::{StepState, WorkflowState},
};
use serde_json::json;
use sqlx::PgConnection;

use super::inputs::topic;
use crate::{
    actor::Actor,
    error::EngineError,
    operations::{Moves, kind_of},
    store::{
        Target,
        kind::KindPolicy,
        operation::{self, Change, Operation},
        step::{self, Step},
        workflow::{self, Address, Workflow},
    },
};

/// Operations of a workflow's running steps, locked before the workflow is: their workers lock in
/// that order.
pub(super) type Open = Vec<(Operation, KindPolicy)>;

/// Locks the operations of running steps, where a step has failed, or (`all`) anyway.
pub(super) async fn lock_open(
    db: &mut PgConnection,
    at: Address,
    all: bool,
) -> Result<Open, EngineError> {
    let mut open = Vec::new();
    for target in step::open_operations(db, at, all).await? {
        if let Some(row) = operation::lock(db, target).await? {
            let kind = kind_of(db, &row).await?;
            open.push((row, kind));
        }
    }
    Ok(open)
}

/// Why a workflow does not go on.
pub(super) struct Why<'a> {
    /// In a sentence.
    pub(super) cause: &'a str,
    /// Somebody asked for it; it is not a step that failed.
    pub(super) cancelled: bool,
}

/// Ends a locked workflow: `compensating` where something happened or may still (W8, or W6 from
/// `blocked`), else `failed` or `cancelled` (W9). Writes its events: call it last.
pub(super) async fn unwind(
    db: &mut PgConnection,
    flow: &mut Workflow,
    steps: &mut [Step],
    mut open: Open,
    why: Why<'_>,
    actor: &Actor,
) -> Result<(), EngineError> {
    let something = steps.iter().any(|step| {
        step.status.is_open() || step.status == StepState::Succeeded && step.operation.is_some()
    });
    let (rule, to) = match flow.status {
        WorkflowState::Blocked => ("W6", WorkflowState::Compensating),
        _ if something => ("W8", WorkflowState::Compensating),
        _ if why.cancelled => ("W9", WorkflowState::Cancelled),
        _ => ("W9", WorkflowState::Failed),
    };
    // A turn may have started steps since `open` was locked. Taken against the order of locks: a
    // worker that comes the other way costs one of the two a retry, and nothing else.
    for step in steps.iter() {
        let may_end = matches!(step.status, StepState::Running | StepState::WaitingRetry);
        let Some(id) = step.operation_id.filter(|_| may_end) else { continue };
        if open.iter().all(|(row, _)| row.target.id != id)
            && let Some(row) = operation::lock(db, Target { tenant: flow.at.tenant, id }).await?
        {
            let kind = kind_of(db, &row).await?;
            open.push((row, kind));
        }
    }
    for step in steps.iter_mut().filter(|step| step.status == StepState::Pending) {
        step::advance(db, step, "S9", StepState::Cancelled, actor, step::Change::default()).await?;
    }
    let change = workflow::Change {
        cause: Some(why.cause),
        cancel_asked: why.cancelled,
        detail: Some(json!({ "cause": why.cause })),
    };
    workflow::advance(db, flow, rule, to, actor, change).await?;
    let mut moves = Moves::new(db, actor.clone());
    if rule != "W6" {
        tell(&mut moves, flow);
    }
    for (mut row, kind) in open {
        let event = match row.status {
            Status::Reserved => Event::Cancel,
            Status::FailedRetryable => Event::GiveUp,
            // Under way, in doubt or over: its step follows it, now or later (S2 to S7).
            _ => continue,
        };
        let change = Change { failure_code: Some("workflow_undone"), ..Change::default() };
        moves.make(&mut row, &kind, event, change).await?;
    }
    moves.finish().await
}

/// Tells of a workflow's move.
pub(super) fn tell(moves: &mut Moves<'_>, flow: &Workflow) {
    let payload = json!({
        "workflow_id": flow.at.id,
        "kind": flow.kind,
        "key": flow.key,
        "definition_version": flow.definition_version,
        "status": flow.status,
        "version": flow.version,
        "cause": flow.cause,
    });
    let aggregate = flow.at.id.to_string();
    moves.tell_other(
        flow.at.tenant,
        aggregate,
        topic(flow.status),
        payload.to_string().into_bytes(),
    );
}
