//! The history of a workflow with what is known of each step's undo: what unwinding decides by, and
//! what a person sees before it runs and while it does.

use domain::{
    compensation::{Effect, StepRecord, UndoRecord, undo_order},
    ids::TenantId,
    view::{CompensationPlan, PlannedUndo, UndoView},
    workflow::StepState,
};
use sqlx::PgConnection;

use super::{
    payload::{Forward, undo_work},
    request::undo_policy,
};
use crate::{
    error::EngineError,
    operations::kind_named,
    settings::Limits,
    store::{
        Target, answer,
        unwind::{self, StepHistory, StepOperation},
        workflow::Address,
    },
};

/// A step, what unwinding decides by, and why it cannot be undone, where it cannot.
pub(super) struct Planned {
    pub(super) history: StepHistory,
    pub(super) record: StepRecord,
    undo_kind: Option<String>,
    pub(super) cannot: Option<String>,
}

/// Reads a workflow's steps as they are now.
pub(super) async fn planned(
    db: &mut PgConnection,
    limits: &Limits,
    at: Address,
) -> Result<Vec<Planned>, EngineError> {
    let mut steps = Vec::new();
    for history in unwind::history(db, at).await? {
        steps.push(plan_step(db, limits, at.tenant, history).await?);
    }
    Ok(steps)
}

async fn plan_step(
    db: &mut PgConnection,
    limits: &Limits,
    tenant: TenantId,
    history: StepHistory,
) -> Result<Planned, EngineError> {
    let (mut undo_kind, mut cannot) = (None, None);
    let operation = history.operation.as_ref();
    if let Some(operation) = operation {
        match &operation.link {
            Some(link) => undo_kind = Some(link.kind.clone()),
            None => (undo_kind, cannot) = look_for_undo(db, limits, tenant, operation).await?,
        }
    }
    let link = operation.and_then(|operation| operation.link.as_ref());
    let record = StepRecord {
        step_key: history.step_key.clone(),
        completed_seq: history.completed_seq,
        // A decision has no effect outside.
        effect: operation.map_or(Effect::None, StepOperation::effect),
        can_be_undone: cannot.is_none(),
        undo: link.map(|link| UndoRecord {
            status: link.status,
            passed: link.passed,
            needs_person: link.needs_person,
        }),
    };
    Ok(Planned { history, record, undo_kind, cannot })
}

/// Whether an operation could be undone, and by which kind.
async fn look_for_undo(
    db: &mut PgConnection,
    limits: &Limits,
    tenant: TenantId,
    operation: &StepOperation,
) -> Result<(Option<String>, Option<String>), EngineError> {
    let target = Target { tenant, id: operation.id };
    let kind = kind_named(db, tenant, &operation.kind).await?;
    let undo = match undo_policy(db, target, &kind).await? {
        Ok(undo) => undo,
        Err(why) => return Ok((None, Some(why))),
    };
    // What it would be asked to do is known once it happened.
    if operation.effect() != Effect::Happened {
        return Ok((Some(undo.name), None));
    }
    let payload = answer::payload(db, target).await?;
    let work = undo_work(&Forward::of_step(operation), &undo, payload.as_deref(), None, limits);
    Ok((Some(undo.name), work.err()))
}

/// What unwinding decides by.
pub(super) fn records(steps: &[Planned]) -> Vec<StepRecord> {
    steps.iter().map(|step| step.record.clone()).collect()
}

/// What would be undone of a workflow, in which order, and what cannot be; while it is undone, the
/// true state of each.
pub async fn plan_of_workflow(
    db: &mut PgConnection,
    limits: &Limits,
    at: Address,
) -> Result<CompensationPlan, EngineError> {
    Ok(view(&planned(db, limits, at).await?))
}

/// The same for one operation; `None` where there is no such operation.
pub async fn plan_of_operation(
    db: &mut PgConnection,
    limits: &Limits,
    target: Target,
) -> Result<Option<CompensationPlan>, EngineError> {
    let Some(operation) = unwind::operation(db, target).await? else { return Ok(None) };
    let history = StepHistory {
        step_key: String::new(),
        status: StepState::Succeeded,
        completed_seq: None,
        operation: Some(operation),
    };
    let mut plan = view(&[plan_step(db, limits, target.tenant, history).await?]);
    for planned in plan.awaited.iter_mut().chain(&mut plan.undone) {
        planned.step_key = None;
    }
    Ok(Some(plan))
}

fn view(steps: &[Planned]) -> CompensationPlan {
    let records = records(steps);
    let awaited = steps.iter().filter(|step| step.record.effect == Effect::Open);
    let undone: Vec<&Planned> = undo_order(&records)
        .into_iter()
        .filter_map(|record| steps.iter().find(|step| step.record.step_key == record.step_key))
        .collect();
    CompensationPlan {
        partial: undone.iter().any(|step| step.record.stays_done()),
        awaited: awaited.filter_map(view_step).collect(),
        undone: undone.into_iter().filter_map(view_step).collect(),
    }
}

fn view_step(step: &Planned) -> Option<PlannedUndo> {
    let operation = step.history.operation.as_ref()?;
    Some(PlannedUndo {
        step_key: Some(step.history.step_key.clone()),
        operation_id: operation.id,
        operation: operation.kind.clone(),
        status: operation.status,
        effect: operation.effect(),
        amount: operation.amount.clone(),
        external_reference: operation.external_reference.clone(),
        undo_kind: step.undo_kind.clone(),
        cannot: step.cannot.clone(),
        undo: operation.link.as_ref().map(|link| UndoView {
            id: link.id,
            status: link.status,
            version: link.version,
            n: link.n,
            amount: link.amount.clone(),
            undo_id: link.undo_id,
            undo_status: link.undo_status,
            needs_person: link.needs_person,
            passed: link.passed,
        }),
    })
}
