//! What people decide about a bulk as a whole: start it, pause it, go on, give it up. Starting it is where
//! the sum of the set counts (A5): many small decisions are one large one.

use domain::{
    action::{TargetType, Verb},
    bulk::{BulkState, BulkSum, second_person, totals},
    ids::{OperationId, TenantId},
    problem::Code,
};
use sqlx::PgConnection;

use super::{
    ActionRequest,
    carry::Effect,
    hand::Hand,
    held::Held,
    weigh::{Weighed, leaves},
};
use crate::{
    RequestOrigin,
    database::Tx,
    error::EngineError,
    identity::standing,
    store::{
        bulk::{self, Bulk, Start},
        kind, lease, staff,
    },
};

/// Why starting a bulk takes a second person, where it does: by the kinds' thresholds as they are now.
pub(crate) async fn why_two(
    db: &mut PgConnection,
    tenant: TenantId,
    target: TargetType,
    sums: &[BulkSum],
) -> Result<Option<String>, EngineError> {
    if target != TargetType::Operation {
        return Ok(None);
    }
    let mut thresholds = Vec::with_capacity(sums.len());
    for sum in sums {
        let kind = kind::find(db, tenant, &sum.kind).await?;
        thresholds.push((sum.kind.as_str(), kind.and_then(|kind| kind.approval_threshold_minor)));
    }
    Ok(second_person(sums, |name| {
        thresholds.iter().find(|(kind, _)| *kind == name).and_then(|(_, threshold)| *threshold)
    }))
}

/// What a decision about the bulk would do.
pub(super) async fn weigh(
    tx: &mut Tx,
    bulk: &Bulk,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let row = &bulk.row;
    if !leaves(TargetType::Bulk, request.verb).contains(&row.status.as_str()) {
        return Err(refused(bulk, Code::NotAllowedInState, None));
    }
    match request.verb {
        Verb::Run if row.has_expired(lease::clock(tx).await?) => {
            let why = "It was not started in time and has expired; nothing was done. Freeze the set again.";
            Err(refused(bulk, Code::NotAllowedInState, Some(why)))
        }
        Verb::Run if row.eligible == 0 => {
            let why = "None of its records can be decided: there is nothing to start.";
            Err(refused(bulk, Code::NotAllowedInState, Some(why)))
        }
        Verb::Run => {
            let second = why_two(tx, bulk.tenant, row.target_type, &bulk.sums).await?;
            Ok(Weighed { second, changes: changes(bulk), ..Weighed::default() })
        }
        Verb::Resume => {
            still_may(tx, bulk).await?;
            Ok(Weighed::default())
        }
        _ => Ok(Weighed::default()),
    }
}

fn refused(bulk: &Bulk, code: Code, detail: Option<&str>) -> EngineError {
    let held = Held::Bulk(Box::new(bulk.clone()));
    EngineError::refused_with(code, |refusal| {
        refusal.current = Some(held.state());
        refusal.detail = detail.map(str::to_owned);
    })
}

/// Whoever goes on with a bulk does not take it over: its rows stay decisions of the person who started
/// it, and of nobody who has lost the right.
async fn still_may(tx: &mut Tx, bulk: &Bulk) -> Result<(), EngineError> {
    let right = bulk.row.verb.permission_on(bulk.row.target_type);
    let runner = match bulk.run_by_id {
        Some(person) => standing(tx, bulk.tenant, person, RequestOrigin::here("")).await?,
        None => None,
    };
    if runner.is_some_and(|runner| runner.permits(right)) {
        return Ok(());
    }
    Err(EngineError::refused_with(Code::PermissionMissing, |refusal| {
        refusal.missing = Some(right);
        refusal.detail = Some(
            "Whoever started it does not have the right any more. Give it up and freeze the rest again."
                .into(),
        );
    }))
}

/// What starting it would do, for the second person to read.
fn changes(bulk: &Bulk) -> Vec<String> {
    let row = &bulk.row;
    let what = format!("{} of {} records: {}.", row.eligible, row.total, row.verb);
    let sums = totals(&bulk.sums).into_iter().map(|total| format!("Together {total}."));
    std::iter::once(what).chain(sums).collect()
}

/// The right to the verb of its rows, which is not that to the bulk: of whoever decides.
async fn may_decide_rows(tx: &mut Tx, hand: &Hand<'_>, bulk: &Bulk) -> Result<(), EngineError> {
    let right = bulk.row.verb.permission_on(bulk.row.target_type);
    let member = staff::member(tx, bulk.tenant, hand.decides.id).await?;
    if member.is_some_and(|member| !member.disabled && domain::access::permits(member.role, right))
    {
        return Ok(());
    }
    Err(EngineError::refused_with(Code::PermissionMissing, |refusal| {
        refusal.missing = Some(right);
    }))
}

/// Carries it out; `id` is the receipt's.
pub(super) async fn carry_out(
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    bulk: &Bulk,
    id: OperationId,
) -> Result<Effect, EngineError> {
    let before = Held::Bulk(Box::new(bulk.clone())).state();
    match request.verb {
        Verb::Run => {
            may_decide_rows(tx, hand, bulk).await?;
            let start = Start {
                by: (hand.decides.id, &hand.decides.name),
                reason: &request.reason,
                receipt: id,
            };
            bulk::start(tx, bulk, start).await?;
        }
        Verb::Pause => bulk::make_move(tx, bulk, BulkState::Paused, None).await?,
        Verb::Resume => bulk::make_move(tx, bulk, BulkState::Running, None).await?,
        Verb::Abandon => bulk::make_move(tx, bulk, BulkState::Abandoned, None).await?,
        _ => return Err(EngineError::refused(Code::NotFound)),
    }
    let after = Held::lock(tx, bulk.tenant, &request.target).await?.state();
    Ok(Effect { before, after, followed: vec![followed(request.verb, bulk)] })
}

/// What follows, in words that claim nothing which has not been committed.
fn followed(verb: Verb, bulk: &Bulk) -> String {
    match verb {
        Verb::Run => format!(
            "{} records are decided one after the other, each with a receipt of its own. One that has \
             changed since it was frozen is refused.",
            bulk.row.eligible
        ),
        Verb::Pause => "It stops before its next record. What was decided stays decided.".into(),
        Verb::Resume => "It goes on with the first record that has no result.".into(),
        _ => "Records without a result get none. What was decided stays decided.".into(),
    }
}
