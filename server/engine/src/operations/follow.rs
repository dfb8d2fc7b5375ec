//! What hangs on an operation's move and commits with it: the step of a workflow that the operation
//! carries out (S2 to S7, S9).
//!
//! Guards against the step that is done again because its checkpoint was lost: there is no instant
//! at which the operation has ended and its step has not (F30, I13).

use domain::{
    ids::WorkflowId,
    operation::{Event, Status},
    workflow::{StepState, follow},
};
use sqlx::PgConnection;

use crate::{
    actor::Actor,
    definition::RESPONSE,
    error::EngineError,
    store::{
        answer::StoredAnswer,
        artifact::{self, Artifact, MAX_ARTIFACT_BYTES},
        operation::Operation,
        step,
        workflow::{self, Address},
    },
};

/// What the operation has to do next because of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// Nothing.
    Stay,
    /// Its workflow is being undone: it is not tried again (O14).
    GiveUp,
}

/// Moves the step of an operation that has just moved, in the same transaction, and wakes its
/// workflow. `was` is the state that the operation left.
pub(super) async fn step_of(
    db: &mut PgConnection,
    row: &Operation,
    was: Status,
    event: Event,
    actor: &Actor,
    brought: Option<&StoredAnswer>,
) -> Result<Then, EngineError> {
    if row.status == was || row.status == Status::Executing {
        return Ok(Then::Stay);
    }
    let cancelled = matches!(event, Event::Cancel | Event::GiveUp);
    move_step(db, row, cancelled, actor, brought).await
}

/// The same for an operation that had moved before its step knew of it.
pub(crate) async fn catch_up(
    db: &mut PgConnection,
    row: &Operation,
    actor: &Actor,
    brought: Option<&StoredAnswer>,
) -> Result<(), EngineError> {
    move_step(db, row, false, actor, brought).await.map(|_| ())
}

async fn move_step(
    db: &mut PgConnection,
    row: &Operation,
    cancelled: bool,
    actor: &Actor,
    brought: Option<&StoredAnswer>,
) -> Result<Then, EngineError> {
    // A service may name any workflow beside its own operations; only the engine makes such keys.
    let (Some(workflow_id), Some(key)) = (row.workflow_id, row.step_key.as_deref()) else {
        return Ok(Then::Stay);
    };
    if !row.key.starts_with("wf:") {
        return Ok(Then::Stay);
    }
    let at = Address { tenant: row.target.tenant, id: WorkflowId::new(workflow_id) };
    // Locked first, so that steps which end together are counted one after the other.
    let Some(flow) = workflow::lock(db, at).await? else {
        return Ok(Then::Stay);
    };
    let Some(mut step) = step::find(db, at, key).await? else {
        return Ok(Then::Stay);
    };
    if step.operation_id != Some(row.target.id) {
        return Ok(Then::Stay);
    }
    let unwinding = flow.status.is_unwinding();
    let Some((rule, to)) = follow(step.status, row.status, cancelled && unwinding) else {
        return Ok(Then::Stay);
    };
    let detail = row
        .external_reference
        .as_ref()
        .filter(|_| to == StepState::Succeeded)
        .map(|reference| serde_json::json!({ "external_reference": reference }));
    step::advance(db, &mut step, rule, to, actor, step::Change { detail, ..Default::default() })
        .await?;
    if to == StepState::Succeeded
        && let Some(answer) = brought.filter(|answer| answer.body.len() <= MAX_ARTIFACT_BYTES)
    {
        let response = Artifact {
            name: RESPONSE.into(),
            content_type: answer.content_type.clone(),
            body: answer.body.clone(),
        };
        artifact::insert(db, at, key, &response).await?;
    }
    workflow::wake(db, at).await?;
    Ok(if to == StepState::WaitingRetry && unwinding { Then::GiveUp } else { Then::Stay })
}
