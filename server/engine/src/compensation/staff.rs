//! What people decide about an undo that did not come through: try again (C9), accept that it stays
//! done (C10), or let the steps before it be undone without it (CP); and how its workflow goes on
//! (W12). The caller checks the right and keeps the receipt.

use domain::{
    compensation::{CompensationState, Effect, Next, next},
    ids::{CompensationId, OperationId, TenantId},
    machine::Machine as _,
    operation::Status,
    problem::Code,
    workflow::WorkflowState,
};
use serde_json::json;
use sqlx::PgConnection;

use super::{
    plan::{planned, records},
    request::{begin, needs_second_person},
    unwind::{stays_done, tell_workflow},
};
use crate::{
    actor::Actor,
    error::EngineError,
    operations::{Moves, lock_with_kind, tell_link},
    settings::Settings,
    store::{
        Target, compensation,
        compensation::{Link, LinkChange},
        correction, evidence, incident, kind,
        operation::{self, Operation},
        workflow::{self, Address},
    },
};

/// A link before and after a decision.
#[derive(Clone, Debug)]
pub struct Decided {
    /// Where it stood, at which version.
    pub before: (CompensationState, i64),
    /// Where it stands, at which version.
    pub after: (CompensationState, i64),
    /// What is, or stays, undone or not.
    pub forward: OperationId,
    /// The undo of the present n.
    pub undo: Option<OperationId>,
    /// Where its workflow stands after.
    pub workflow: Option<WorkflowState>,
}

/// A link with both its ends locked: operations first, by id, then the link.
struct Ends {
    row: Operation,
    undos: Vec<Operation>,
    link: Link,
}

async fn lock_ends(
    tx: &mut PgConnection,
    tenant: TenantId,
    id: CompensationId,
    version: i64,
) -> Result<Ends, EngineError> {
    let not_found = || EngineError::refused(Code::NotFound);
    let (forward, _) = compensation::ends(tx, tenant, id).await?.ok_or_else(not_found)?;
    let (row, _) = lock_with_kind(tx, Target { tenant, id: forward }).await?;
    let mut undos = Vec::new();
    for undo in compensation::undos(tx, tenant, id).await? {
        let undo = operation::lock(tx, Target { tenant, id: undo }).await?;
        undos
            .push(undo.ok_or_else(|| EngineError::Unreadable(format!("an undo of {id} is gone")))?);
    }
    let link = compensation::lock(tx, tenant, id).await?.ok_or_else(not_found)?;
    if link.version != version {
        return Err(EngineError::refused_with(Code::Stale, |refusal| {
            refusal.detail = Some(format!("The undo is {} now.", link.status.label()));
        }));
    }
    Ok(Ends { row, undos, link })
}

fn refused(code: Code, detail: impl Into<String>) -> EngineError {
    EngineError::refused_with(code, |refusal| refusal.detail = Some(detail.into()))
}

fn only_failed(link: &Link) -> Result<(), EngineError> {
    if link.status == CompensationState::Failed {
        return Ok(());
    }
    Err(refused(
        Code::NotAllowedInState,
        format!(
            "Only an undo that failed can be decided about so; this one is {}.",
            link.status.label()
        ),
    ))
}

/// Whether trying an undo again takes two people: one that moves money does (C9).
///
/// # Errors
/// Refused: `not_found`.
pub async fn retry_needs_second_person(
    tx: &mut PgConnection,
    tenant: TenantId,
    id: CompensationId,
) -> Result<bool, EngineError> {
    let found = compensation::ends(tx, tenant, id).await?;
    let (forward, _) = found.ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let (row, kind) = lock_with_kind(tx, Target { tenant, id: forward }).await?;
    let Some(link) = compensation::lock(tx, tenant, id).await? else { return Ok(true) };
    Ok(link.amount.is_some() || needs_second_person(tx, row.target, &kind).await?)
}

/// Refuses what `retry_in` would refuse, and writes nothing: nobody is asked to agree to what cannot
/// be.
///
/// # Errors
/// As `retry_in`.
pub async fn check_retry(
    tx: &mut PgConnection,
    at: (TenantId, CompensationId),
    version: i64,
) -> Result<(), EngineError> {
    may_retry(tx, at, version).await.map(drop)
}

async fn may_retry(
    tx: &mut PgConnection,
    (tenant, id): (TenantId, CompensationId),
    version: i64,
) -> Result<Ends, EngineError> {
    let ends = lock_ends(tx, tenant, id, version).await?;
    let Ends { row, undos, link } = &ends;
    only_failed(link)?;
    for undo in undos {
        refuse_if_it_may_have_happened(tx, undo).await?;
    }
    let corrected = correction::latest(tx, row.target).await?;
    if Effect::of(row.status, corrected.map(|corrected| corrected.happened)) != Effect::Happened {
        return Err(refused(
            Code::NotAllowedInState,
            "It did not happen: there is nothing to undo.",
        ));
    }
    if link.n >= 1000 {
        return Err(refused(
            Code::NotAllowedInState,
            "It was tried a thousand times: accept it, or undo it by hand.",
        ));
    }
    Ok(ends)
}

/// Tries a failed undo again, under a new key (C9).
///
/// # Errors
/// Refused with nothing done: `not_found`, `stale`, `not_allowed_in_state` (not failed, or an
/// incident is open on an undo before it, or one is known to have happened),
/// `provider_contradicts` (evidence says that an undo before it happened).
pub async fn retry_in(
    tx: &mut PgConnection,
    settings: &Settings,
    by: &Actor,
    (tenant, id): (TenantId, CompensationId),
    version: i64,
    reason: &str,
) -> Result<Decided, EngineError> {
    let Ends { row, mut link, .. } = may_retry(tx, (tenant, id), version).await?;
    let undo = kind::find(tx, tenant, &link.kind)
        .await?
        .ok_or_else(|| EngineError::refused(Code::KindUnknown))?;
    let before = (link.status, link.version);
    let mut moves = Moves::new(tx, by.clone());
    begin(&mut moves, settings, &row, &undo, &mut link, "C9", Some(reason)).await?;
    let workflow = go_on(&mut moves, settings, &link, reason).await?;
    moves.finish().await?;
    Ok(decided(before, &link, workflow))
}

/// Evidence on an earlier undo counts for the later ones: what may have happened once is not done
/// again.
async fn refuse_if_it_may_have_happened(
    tx: &mut PgConnection,
    undo: &Operation,
) -> Result<(), EngineError> {
    let id = undo.target.id;
    if evidence::any_done(tx, undo.target).await? {
        return Err(refused(
            Code::ProviderContradicts,
            format!("Evidence on record says that the undo {id} did happen."),
        ));
    }
    if incident::any_open(tx, undo.target).await? {
        return Err(refused(
            Code::NotAllowedInState,
            format!("An incident is open about the undo {id}: it may have happened."),
        ));
    }
    if correction::latest(tx, undo.target).await?.is_some_and(|corrected| corrected.happened) {
        return Err(refused(
            Code::NotAllowedInState,
            format!("The undo {id} was corrected: it did happen."),
        ));
    }
    Ok(())
}

/// Accepts that what a failed undo should have undone stays done (C10).
///
/// # Errors
/// Refused with nothing done: `not_found`, `stale`, `not_allowed_in_state`.
pub async fn accept_in(
    tx: &mut PgConnection,
    settings: &Settings,
    by: &Actor,
    (tenant, id): (TenantId, CompensationId),
    version: i64,
    reason: &str,
) -> Result<Decided, EngineError> {
    let Ends { row, mut link, .. } = lock_ends(tx, tenant, id, version).await?;
    only_failed(&link)?;
    let before = (link.status, link.version);
    let mut moves = Moves::new(tx, by.clone());
    let change = LinkChange { detail: Some(json!({"reason": reason})), ..LinkChange::default() };
    let to = CompensationState::AcceptedUndoneNot;
    compensation::advance(moves.db, &mut link, "C10", to, by, change).await?;
    tell_link(&mut moves, &row, &link, "C10");
    let workflow = go_on(&mut moves, settings, &link, reason).await?;
    moves.finish().await?;
    Ok(decided(before, &link, workflow))
}

/// Lets the steps before a failed or unknowable undo be undone without it, by name (D35, CP).
///
/// # Errors
/// Refused with nothing done: `not_found`, `stale`, `not_allowed_in_state`.
pub async fn continue_in(
    tx: &mut PgConnection,
    settings: &Settings,
    by: &Actor,
    (tenant, id): (TenantId, CompensationId),
    version: i64,
    reason: &str,
) -> Result<Decided, EngineError> {
    let Ends { undos, mut link, .. } = lock_ends(tx, tenant, id, version).await?;
    let present = undos.last().map(|undo| (undo.status, undo.needs_manual));
    let blocks = link.status == CompensationState::Failed
        || (link.status == CompensationState::Running && present == Some((Status::Unknown, true)));
    if !blocks || link.passed_at.is_some() || link.workflow_id.is_none() {
        return Err(refused(
            Code::NotAllowedInState,
            "Only what holds a workflow's undoing up can be passed: an undo that failed, or whose outcome is unknown and needs a person.",
        ));
    }
    let before = (link.status, link.version);
    let mut moves = Moves::new(tx, by.clone());
    let change = LinkChange {
        passed_by: Some(&by.name),
        detail: Some(json!({"reason": reason, "undo_status": present.map(|(status, _)| status)})),
        ..LinkChange::default()
    };
    let status = link.status;
    compensation::advance(moves.db, &mut link, "CP", status, by, change).await?;
    let workflow = go_on(&mut moves, settings, &link, reason).await?;
    moves.finish().await?;
    Ok(decided(before, &link, workflow))
}

/// The workflow goes on, unless something else still holds it up (W12): it is closed at once where
/// the decision left nothing to undo.
async fn go_on(
    moves: &mut Moves<'_>,
    settings: &Settings,
    link: &Link,
    reason: &str,
) -> Result<Option<WorkflowState>, EngineError> {
    let Some(id) = link.workflow_id else { return Ok(None) };
    let at = Address { tenant: link.tenant, id };
    let Some(mut flow) = workflow::lock(moves.db, at).await? else { return Ok(None) };
    if flow.status != WorkflowState::CompensationStuck {
        workflow::wake(moves.db, at).await?;
        return Ok(Some(flow.status));
    }
    let steps = planned(moves.db, &settings.limits, at).await?;
    let actor = moves.actor.clone();
    let decision = json!({"reason": reason, "step_key": link.step_key, "compensation": link.id});
    let accepted = link.status == CompensationState::AcceptedUndoneNot;
    let (to, stays) = match next(&records(&steps)) {
        Next::Stuck(_) => return Ok(Some(flow.status)),
        Next::Over { partial: true } if accepted => {
            (WorkflowState::ClosedPartial, stays_done(&steps))
        }
        _ => (WorkflowState::Compensating, Vec::new()),
    };
    let detail = Some(json!({"decision": decision, "stays_done": stays}));
    let change = workflow::Change { detail, ..workflow::Change::default() };
    workflow::advance(moves.db, &mut flow, "W12", to, &actor, change).await?;
    if to.is_final() {
        tell_workflow(moves, &flow, "W12", &stays);
    }
    Ok(Some(flow.status))
}

fn decided(
    before: (CompensationState, i64),
    link: &Link,
    workflow: Option<WorkflowState>,
) -> Decided {
    Decided {
        before,
        after: (link.status, link.version),
        forward: link.operation_id,
        undo: link.undo_id,
        workflow,
    }
}
