//! What people, and the service that started it, may do with a workflow: cancel it (W8, W9), resume
//! one that is blocked, or have it undone (W6).
//!
//! These stand inside a transaction that somebody else authorised, audits and commits. Each writes
//! its events last: nothing that takes an aggregate's lock may follow it unsorted (D25).

use domain::{ids::WorkflowId, problem::Code, workflow::WorkflowState};
use serde_json::json;
use sqlx::PgConnection;

use super::{
    Registry, inputs,
    unwind::{Open, Why, lock_open, unwind},
};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    error::EngineError,
    operations::retrying,
    settings::Limits,
    store::{
        step,
        workflow::{self, Address, Workflow},
    },
};

/// Where a workflow stands, as receipts show it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowState {
    /// Its state.
    pub status: WorkflowState,
    /// At which version.
    pub version: i64,
}

impl FlowState {
    const fn of(flow: &Workflow) -> Self {
        Self { status: flow.status, version: flow.version }
    }
}

/// Before and after.
pub(crate) type Changed = (FlowState, FlowState);

/// Cancels a workflow that runs or waits: what happened is undone (W8); where nothing did it ends
/// cancelled (W9).
///
/// # Errors
/// Refused: `not_found`, `stale`, `not_allowed_in_state`.
pub(crate) async fn cancel_in(
    db: &mut PgConnection,
    at: Address,
    version: i64,
    reason: &str,
    actor: &Actor,
) -> Result<Changed, EngineError> {
    let open = lock_open(db, at, true).await?;
    let mut flow = locked(db, at, Some(version)).await?;
    cancel(db, &mut flow, open, reason, actor).await
}

/// Has a blocked workflow undone (W6).
///
/// # Errors
/// Refused: `not_found`, `stale`, `not_allowed_in_state`.
pub(crate) async fn compensate_in(
    db: &mut PgConnection,
    at: Address,
    version: i64,
    reason: &str,
    actor: &Actor,
) -> Result<Changed, EngineError> {
    let open = lock_open(db, at, true).await?;
    let mut flow = locked(db, at, Some(version)).await?;
    if flow.status != WorkflowState::Blocked {
        return Err(EngineError::refused(Code::NotAllowedInState));
    }
    end(db, &mut flow, open, &format!("to be undone by {}: {reason}", actor.name), false, actor)
        .await
}

/// Lets a blocked workflow run again (W6), once this process has a definition of its version that
/// says what it said: looked at here, so that nobody resumes into the same drift.
///
/// # Errors
/// Refused: `not_found`, `stale`, `not_allowed_in_state` with what still differs.
pub(crate) async fn resume_in(
    db: &mut PgConnection,
    registry: &Registry,
    limits: &Limits,
    at: Address,
    version: i64,
    reason: &str,
    actor: &Actor,
) -> Result<Changed, EngineError> {
    let mut flow = locked(db, at, Some(version)).await?;
    let refused = |detail: String| {
        EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.detail = Some(detail);
        })
    };
    if flow.status != WorkflowState::Blocked {
        return Err(EngineError::refused(Code::NotAllowedInState));
    }
    let definition = registry.get(&flow.kind, flow.definition_version).ok_or_else(|| {
        refused(format!("version {} of {} is not here", flow.definition_version, flow.kind))
    })?;
    let facts = inputs::facts(db, at).await?.map_err(refused)?;
    inputs::drift(definition, &step::of(db, at).await?, &facts, limits).map_err(refused)?;
    let before = FlowState::of(&flow);
    let change =
        workflow::Change { detail: Some(json!({ "reason": reason })), ..Default::default() };
    workflow::advance(db, &mut flow, "W6", WorkflowState::Running, actor, change).await?;
    Ok((before, FlowState::of(&flow)))
}

async fn locked(
    db: &mut PgConnection,
    at: Address,
    version: Option<i64>,
) -> Result<Workflow, EngineError> {
    let flow = workflow::lock(db, at).await?.ok_or_else(|| EngineError::refused(Code::NotFound))?;
    if version.is_some_and(|version| version != flow.version) {
        return Err(EngineError::refused(Code::Stale));
    }
    Ok(flow)
}

async fn cancel(
    db: &mut PgConnection,
    flow: &mut Workflow,
    open: Open,
    reason: &str,
    actor: &Actor,
) -> Result<Changed, EngineError> {
    if !matches!(flow.status, WorkflowState::Running | WorkflowState::Waiting) {
        return Err(EngineError::refused(Code::NotAllowedInState));
    }
    let cause = format!("cancelled by {}: {reason}", actor.name);
    end(db, flow, open, &cause, true, actor).await
}

async fn end(
    db: &mut PgConnection,
    flow: &mut Workflow,
    open: Open,
    cause: &str,
    cancelled: bool,
    actor: &Actor,
) -> Result<Changed, EngineError> {
    let before = FlowState::of(flow);
    let mut steps = step::of(db, flow.at).await?;
    let why = Why { cause, cancelled };
    unwind(db, flow, &mut steps, open, why, actor).await?;
    Ok((before, FlowState::of(flow)))
}

impl Engine {
    /// Cancels a workflow for the service that owns it. Asked again, it answers where the workflow
    /// stands.
    ///
    /// # Errors
    /// Refused: `not_found`; `not_allowed_in_state` where it is over or being undone for another
    /// reason.
    pub async fn cancel_workflow(
        &self,
        by: &ServiceCaller,
        id: WorkflowId,
        reason: &str,
    ) -> Result<FlowState, EngineError> {
        let (engine, by, reason) = (self.clone(), by.clone(), reason.to_owned());
        Self::detached(async move {
            let at = Address { tenant: by.tenant_id(), id };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                super::checkpoint::owned(&mut tx, &by, at).await?;
                let open = lock_open(&mut tx, at, true).await?;
                let mut flow = locked(&mut tx, at, None).await?;
                if flow.cancel_asked {
                    return Ok(FlowState::of(&flow));
                }
                let (_, after) = cancel(&mut tx, &mut flow, open, &reason, &by.actor()).await?;
                tx.commit().await?;
                Ok(after)
            })
            .await
        })
        .await
    }
}
