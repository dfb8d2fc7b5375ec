//! Unwinding: links that wait for their forward operation (C2 to C5), and workflows that are undone
//! (W10, W11, W13, W14; S9).
//!
//! The stack is read anew at each pick and again under the locks, so that several processes do each
//! undo once, and a step that succeeded late is undone before those that completed earlier (D37).

use domain::{
    compensation::{CompensationState, Effect, Next, next},
    ids::{CompensationId, TenantId},
    machine::Machine as _,
    operation::{Event, Status},
    problem::Code,
    workflow::{StepState, WorkflowState},
};
use serde_json::{Value, json};

use super::{
    plan::{Planned, planned, records},
    request::{Open, drive, open, undo_policy},
};
use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    error::EngineError,
    operations::{Moves, lock_with_kind, retrying},
    report::Report,
    store::{
        Target, compensation, kind,
        operation::Change,
        step, unwind,
        workflow::{self, Address, Workflow},
    },
};

/// Workflows, and links, of one run.
const BATCH: i64 = 20;
/// When what was looked at is looked at again, if nothing wakes it before.
const AGAIN_MS: i64 = 60_000;
/// Decisions about one workflow in one run; the rest is for the next.
const MAX_DECISIONS: u32 = 64;

impl Engine {
    /// Takes one batch of requested undos and of workflows that are undone as far as they go now.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn unwind_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let links = compensation::take_due(&mut db, BATCH, AGAIN_MS).await?;
            let workflows = unwind::take_due(&mut db, BATCH, AGAIN_MS).await?;
            drop(db);
            let mut handled = 0;
            for (tenant, id) in links {
                let driven = retrying(|| engine.drive_link(tenant, id)).await;
                handled += u64::from(passed_over("link", id, driven)?);
            }
            for at in workflows {
                let unwound = engine.unwind_workflow(at).await;
                handled += u64::from(passed_over("workflow", at.id, unwound)?);
            }
            Ok(Report { handled })
        })
        .await
    }

    pub(super) fn unwinder(&self) -> Actor {
        Actor::new("unwinder", &self.settings.worker_name)
    }

    /// Takes a waiting link as far as its forward operation allows. Says whether it moved.
    async fn drive_link(&self, tenant: TenantId, id: CompensationId) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let Some((forward, _)) = compensation::ends(&mut tx, tenant, id).await? else {
            return Ok(false);
        };
        let target = Target { tenant, id: forward };
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let Some(mut link) = compensation::lock(&mut tx, tenant, id).await? else {
            return Ok(false);
        };
        if !matches!(link.status, CompensationState::Requested | CompensationState::WaitingForward)
        {
            return Ok(false);
        }
        let (Some(undo), version) = (kind::find(&mut tx, tenant, &link.kind).await?, link.version)
        else {
            return Err(EngineError::Unreadable(format!("kind {} is gone", link.kind)));
        };
        let mut moves = Moves::new(&mut tx, self.unwinder());
        let driven = drive(&mut moves, &self.settings, &mut row, &kind, &undo, &mut link).await;
        if let Err(error) = driven {
            drop(tx);
            self.tell_impossible(target, error).await?;
            return Ok(false);
        }
        moves.finish().await?;
        tx.commit().await?;
        Ok(link.version != version)
    }

    /// Decides about one workflow until there is something to wait for. Says whether anything moved.
    async fn unwind_workflow(&self, at: Address) -> Result<bool, EngineError> {
        let mut moved = false;
        for _ in 0..MAX_DECISIONS {
            let mut db = self.pools.engine().acquire().await?;
            let steps = planned(&mut db, &self.settings.limits, at).await?;
            drop(db);
            if self.cancel_what_has_not_begun(at, &steps).await? {
                moved = true;
                continue;
            }
            let records = records(&steps);
            let decision = next(&records);
            let done = match decision {
                Next::Undo(key) => retrying(|| self.undo_step(at, &steps, key)).await?,
                _ => retrying(|| self.move_workflow(at)).await?,
            };
            if !done {
                return Ok(moved);
            }
            moved = true;
        }
        Ok(moved)
    }

    /// Cancels every step whose effect has not begun and need not (S9; O3 and O14 on its operation).
    async fn cancel_what_has_not_begun(
        &self,
        at: Address,
        steps: &[Planned],
    ) -> Result<bool, EngineError> {
        let mut cancelled = false;
        for step in steps {
            let history = &step.history;
            cancelled |= match &history.operation {
                Some(operation)
                    if matches!(operation.status, Status::Reserved | Status::FailedRetryable) =>
                {
                    let target = Target { tenant: at.tenant, id: operation.id };
                    retrying(|| self.cancel_operation(target)).await?
                }
                None if matches!(history.status, StepState::Pending | StepState::Running) => {
                    retrying(|| self.cancel_step(at, &history.step_key)).await?
                }
                _ => false,
            };
        }
        Ok(cancelled)
    }

    /// Its step follows in the same transaction (S9), or becomes unknown where evidence says that it
    /// did happen.
    async fn cancel_operation(&self, target: Target) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let event = match row.status {
            Status::Reserved => Event::Cancel,
            Status::FailedRetryable => Event::GiveUp,
            _ => return Ok(false),
        };
        let mut moves = Moves::new(&mut tx, self.unwinder());
        let detail = Some(json!({"workflow": "its workflow is undone"}));
        let change = Change { failure_code: Some("cancelled"), detail, ..Change::default() };
        moves.make(&mut row, &kind, event, change).await?;
        moves.finish().await?;
        tx.commit().await?;
        Ok(true)
    }

    async fn cancel_step(&self, at: Address, key: &str) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let flow = workflow::lock(&mut tx, at).await?;
        let step = step::find(&mut tx, at, key).await?;
        let (Some(_), Some(mut step)) = (flow.filter(|flow| flow.status.is_unwinding()), step)
        else {
            return Ok(false);
        };
        let begun = step.operation_id.is_some()
            || !matches!(step.status, StepState::Pending | StepState::Running);
        if begun {
            return Ok(false);
        }
        let (to, change) = (StepState::Cancelled, step::Change::default());
        step::advance(&mut tx, &mut step, "S9", to, &self.unwinder(), change).await?;
        tx.commit().await?;
        Ok(true)
    }

    /// Asks for the undo of one step, if that is still what comes next once everything is locked.
    async fn undo_step(
        &self,
        at: Address,
        seen: &[Planned],
        key: &str,
    ) -> Result<bool, EngineError> {
        let operation = seen.iter().find(|step| step.history.step_key == key);
        let Some(operation) = operation.and_then(|step| step.history.operation.as_ref()) else {
            return Ok(false);
        };
        let target = Target { tenant: at.tenant, id: operation.id };
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let link = operation.link.as_ref().map(|link| link.id);
        let mut link = match link {
            Some(id) => compensation::lock(&mut tx, at.tenant, id).await?,
            None => None,
        };
        let flow = workflow::lock(&mut tx, at).await?;
        let Some(mut flow) = flow.filter(|flow| flow.status.is_unwinding()) else {
            return Ok(false);
        };
        let now = records(&planned(&mut tx, &self.settings.limits, at).await?);
        if next(&now) != Next::Undo(key) {
            return Ok(true);
        }
        let mut moves = Moves::new(&mut tx, self.unwinder());
        if flow.status == WorkflowState::CompensationStuck {
            let (to, change) = (WorkflowState::Compensating, workflow::Change::default());
            let actor = moves.actor.clone();
            workflow::advance(moves.db, &mut flow, "W13", to, &actor, change).await?;
        }
        let undone = async {
            let undo = match &link {
                Some(link) => kind::find(moves.db, at.tenant, &link.kind).await?,
                None => undo_policy(moves.db, target, &kind).await?.ok(),
            };
            let undo = undo.ok_or_else(|| EngineError::refused(Code::KindUnknown))?;
            match &mut link {
                Some(link) => drive(&mut moves, &self.settings, &mut row, &kind, &undo, link).await,
                None => {
                    let new = Open { amount: None, workflow: Some((at.id, key)), reason: None };
                    open(&mut moves, &self.settings, &mut row, &kind, &undo, new).await.map(|_| ())
                }
            }
        }
        .await;
        if let Err(error) = undone {
            drop(tx);
            self.tell_impossible(target, error).await?;
            return Ok(false);
        }
        moves.finish().await?;
        tx.commit().await?;
        Ok(true)
    }

    /// An undo that was promised and cannot be asked for must not only stand in a log: a person has
    /// to see it.
    async fn tell_impossible(&self, target: Target, error: EngineError) -> Result<(), EngineError> {
        let EngineError::Refused(refusal) = &error else { return Err(error) };
        let why = refusal.detail.clone().unwrap_or_else(|| refusal.code.title().to_owned());
        retrying(|| async {
            let mut tx = self.pools.begin_engine().await?;
            let (row, _) = lock_with_kind(&mut tx, target).await?;
            let mut moves = Moves::new(&mut tx, self.unwinder());
            moves.open_incident(&row, "undo_impossible", &why).await?;
            moves.finish().await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Moves a workflow as its steps' undos say: stuck, going on, or over (W10, W11, W13, W14).
    async fn move_workflow(&self, at: Address) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let flow = workflow::lock(&mut tx, at).await?;
        let Some(mut flow) = flow.filter(|flow| flow.status.is_unwinding()) else {
            return Ok(false);
        };
        let steps = planned(&mut tx, &self.settings.limits, at).await?;
        let stuck = flow.status == WorkflowState::CompensationStuck;
        let now = records(&steps);
        let (rule, to) = match next(&now) {
            Next::Stuck(_) if !stuck => ("W11", WorkflowState::CompensationStuck),
            Next::Stuck(_) => return Ok(false),
            _ if stuck => ("W13", WorkflowState::Compensating),
            Next::Over { partial: true } if settled(&steps) => {
                ("W14", WorkflowState::ClosedPartial)
            }
            Next::Over { partial: false } if settled(&steps) => ("W10", WorkflowState::Compensated),
            _ => return Ok(false),
        };
        let stays = stays_done(&steps);
        let detail = Some(json!({"stays_done": stays, "steps": states(&steps)}));
        let change = workflow::Change { detail, ..workflow::Change::default() };
        workflow::advance(&mut tx, &mut flow, rule, to, &self.unwinder(), change).await?;
        crash_point!("W5", to.is_final());
        let mut moves = Moves::new(&mut tx, self.unwinder());
        if rule != "W13" {
            tell_workflow(&mut moves, &flow, rule, &stays);
        }
        moves.finish().await?;
        tx.commit().await?;
        Ok(true)
    }
}

/// Whether no step may still begin, nor its state trail behind its operation's.
fn settled(steps: &[Planned]) -> bool {
    steps.iter().all(|step| {
        step.record.effect != Effect::Open
            && matches!(
                step.history.status.as_str(),
                "succeeded" | "failed" | "skipped" | "cancelled"
            )
    })
}

/// What stays done, and why: a workflow that is closed partially always lists it.
pub(super) fn stays_done(steps: &[Planned]) -> Vec<Value> {
    let stay = steps.iter().filter(|step| step.record.stays_done());
    stay.map(|step| {
        let operation = step.history.operation.as_ref();
        let link = operation.and_then(|operation| operation.link.as_ref());
        json!({
            "step_key": step.history.step_key,
            "operation_id": operation.map(|operation| operation.id),
            "cannot": step.cannot,
            "undo": link.map(|link| link.status),
            "undo_status": link.and_then(|link| link.undo_status),
            "passed": link.is_some_and(|link| link.passed),
        })
    })
    .collect()
}

/// Each step's true state.
fn states(steps: &[Planned]) -> Vec<Value> {
    let state = |step: &Planned| {
        let operation = step.history.operation.as_ref();
        let link = operation.and_then(|operation| operation.link.as_ref());
        json!({
            "step_key": step.history.step_key,
            "status": step.history.status,
            "undo": link.map(|link| link.status),
            "undo_status": link.and_then(|link| link.undo_status),
        })
    };
    steps.iter().map(state).collect()
}

/// Tells of a workflow that was undone, or is stuck (⊕).
pub(super) fn tell_workflow(moves: &mut Moves<'_>, flow: &Workflow, rule: &str, stays: &[Value]) {
    let payload = json!({
        "workflow_id": flow.at.id,
        "kind": flow.kind,
        "key": flow.key,
        "definition_version": flow.definition_version,
        "status": flow.status,
        "version": flow.version,
        "cause": flow.cause,
        "rule": rule,
        "stays_done": stays,
    });
    let topic = format!("workflow.{}", flow.status);
    let payload = payload.to_string().into_bytes();
    moves.tell_other(flow.at.tenant, flow.at.id.to_string(), topic, payload);
}

/// One row's fault is logged, its neighbours keep moving (I18); a database that does not answer
/// ends the run.
fn passed_over(
    what: &str,
    id: impl std::fmt::Display,
    result: Result<bool, EngineError>,
) -> Result<bool, EngineError> {
    match result {
        Err(EngineError::Database(error)) => Err(EngineError::Database(error)),
        Err(error) => {
            tracing::error!(what, %id, error = ?error, "a row was passed over");
            Ok(false)
        }
        done => done,
    }
}
