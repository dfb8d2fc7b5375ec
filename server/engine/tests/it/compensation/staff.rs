//! What people decide about an undo that failed: try again, or accept (C9, C10).

use domain::{compensation::CompensationState, ids::CompensationId, problem::Code};
use engine::{
    EngineError, FinishOutcome,
    compensation::{
        Decided, accept_in, continue_in, needs_second_person, plan_of_operation, retry_in,
        retry_needs_second_person,
    },
    store::Target,
};
use sqlx::PgConnection;

use super::support::{
    as_console, begin_call, charged, compensate, do_undo, fixture, link, operator, told,
    undoable_charge,
};
use crate::{
    evidence::{done, webhook},
    fixture::{Fixture, code, finish, mail},
};

pub async fn accept(
    fixture: &Fixture,
    id: CompensationId,
    version: i64,
) -> Result<Decided, EngineError> {
    let at = (fixture.service.tenant_id(), id);
    as_console(fixture, async |db: &mut PgConnection| {
        accept_in(
            db,
            fixture.engine.settings(),
            &operator(),
            at,
            version,
            "the customer keeps the goods",
        )
        .await
    })
    .await
}

pub async fn retry(
    fixture: &Fixture,
    id: CompensationId,
    version: i64,
) -> Result<Decided, EngineError> {
    let at = (fixture.service.tenant_id(), id);
    as_console(fixture, async |db: &mut PgConnection| {
        retry_in(db, fixture.engine.settings(), &operator(), at, version, "the account is mended")
            .await
    })
    .await
}

pub async fn go_on(
    fixture: &Fixture,
    id: CompensationId,
    version: i64,
) -> Result<Decided, EngineError> {
    let at = (fixture.service.tenant_id(), id);
    as_console(fixture, async |db: &mut PgConnection| {
        continue_in(
            db,
            fixture.engine.settings(),
            &operator(),
            at,
            version,
            "refunded by hand later",
        )
        .await
    })
    .await
}

/// A charge whose refund was rejected.
async fn failed_undo(fixture: &Fixture, key: &str) -> (CompensationId, domain::ids::OperationId) {
    let id = charged(fixture, key).await;
    let asked = compensate(fixture, id).await.unwrap();
    let undo = asked.undo.unwrap();
    do_undo(fixture, undo, "invoice.refund", FinishOutcome::Rejected).await;
    (asked.link, undo)
}

#[tokio::test]
async fn a_failed_undo_is_tried_again_under_a_new_key() {
    let fixture = fixture().await;
    let (id, first) = failed_undo(&fixture, "k").await;
    let version = link(&fixture, id).await.version;
    assert_eq!(code(retry(&fixture, id, version - 1).await), Code::Stale);
    let decided = retry(&fixture, id, version).await.unwrap();
    assert_eq!(decided.after.0, CompensationState::Running);
    let second = decided.undo.unwrap();
    assert_ne!(first, second);
    assert_eq!(code(retry(&fixture, id, version).await), Code::Stale, "one click, one retry");
    let version = link(&fixture, id).await.version;
    assert_eq!(code(accept(&fixture, id, version).await), Code::NotAllowedInState, "it runs");
    do_undo(&fixture, second, "invoice.refund", FinishOutcome::Done).await;
    assert_eq!(link(&fixture, id).await.status, CompensationState::Compensated);
    let told = told(&fixture, &decided.forward.to_string()).await;
    assert_eq!(told, ["compensation.failed", "compensation.compensated"]);
}

#[tokio::test]
async fn what_may_have_happened_is_not_undone_a_second_time() {
    let fixture = fixture().await;
    let (id, first) = failed_undo(&fixture, "k").await;
    // The provider contradicts itself: the refund it rejected did happen.
    webhook(&fixture, &done("evt_1", &first.to_string(), "re_9", 12_900)).await;
    let version = link(&fixture, id).await.version;
    assert_eq!(code(retry(&fixture, id, version).await), Code::ProviderContradicts);
    sqlx::query("update evidence set refuted_at = onceover_now(), refuted_by = 'second@acme.test'")
        .execute(fixture.pool())
        .await
        .unwrap();
    let refusal = retry(&fixture, id, version).await.unwrap_err().refusal();
    assert!(refusal.detail.unwrap().contains("incident is open"));
    sqlx::query("update incidents set closed_at = onceover_now(), closed_by = 'second@acme.test', reason = 'seen', version = version + 1")
        .execute(fixture.pool())
        .await
        .unwrap();
    retry(&fixture, id, version).await.unwrap();
}

#[tokio::test]
async fn evidence_on_an_earlier_undo_halts_the_later_one() {
    let fixture = fixture().await;
    let (id, first) = failed_undo(&fixture, "k").await;
    let version = link(&fixture, id).await.version;
    let second = retry(&fixture, id, version).await.unwrap().undo.unwrap();
    webhook(&fixture, &done("evt_1", &first.to_string(), "re_9", 12_900)).await;
    let kinds = ["invoice.refund".to_owned()];
    let work = fixture.engine.claim(&fixture.service, &kinds, 10, None).await.unwrap();
    let fence = work.iter().find(|work| work.id == second).unwrap().fence;
    let started = fixture.engine.start(&fixture.service, second, fence).await;
    assert_eq!(code(started), Code::FenceLost, "money may have gone back already");
    let (status, manual): (String, bool) =
        sqlx::query_as("select status, needs_manual from operations where id = $1")
            .bind(second.uuid())
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    assert_eq!((status.as_str(), manual), ("unknown", true));
    assert_eq!(link(&fixture, id).await.status, CompensationState::Running, "shown unknown (C8)");
}

#[tokio::test]
async fn a_second_refund_under_another_reference_is_suspected_to_be_a_second_effect() {
    let fixture = fixture().await;
    let (id, first) = failed_undo(&fixture, "k").await;
    let version = link(&fixture, id).await.version;
    let second = retry(&fixture, id, version).await.unwrap().undo.unwrap();
    let fence = begin_call(&fixture, second, "invoice.refund").await;
    webhook(&fixture, &done("evt_1", &first.to_string(), "re_9", 12_900)).await;
    let finish = finish(fence, FinishOutcome::Done, Some("re_10"));
    fixture.engine.finish(&fixture.service, second, finish).await.unwrap();
    let suspected = "select count(*) from incidents where cause = 'double_effect_suspected'";
    assert_eq!(fixture.count(suspected).await, 1);
    assert_eq!(link(&fixture, id).await.status, CompensationState::Compensated);
}

#[tokio::test]
async fn accepting_that_it_stays_done_is_final_and_told() {
    let fixture = fixture().await;
    let (id, _) = failed_undo(&fixture, "k").await;
    let version = link(&fixture, id).await.version;
    let refused = go_on(&fixture, id, version).await;
    assert_eq!(code(refused), Code::NotAllowedInState, "nothing waits behind a single undo");
    let decided = accept(&fixture, id, version).await.unwrap();
    assert_eq!(decided.after.0, CompensationState::AcceptedUndoneNot);
    let told = told(&fixture, &decided.forward.to_string()).await;
    assert_eq!(told, ["compensation.failed", "compensation.accepted_undone_not"]);
    assert_eq!(code(retry(&fixture, id, decided.after.1).await), Code::NotAllowedInState);
}

#[tokio::test]
async fn an_unknown_undo_is_shown_unknown_and_cannot_be_retried() {
    let fixture = fixture().await;
    let id = charged(&fixture, "k").await;
    let asked = compensate(&fixture, id).await.unwrap();
    do_undo(&fixture, asked.undo.unwrap(), "invoice.refund", FinishOutcome::Ambiguous).await;
    let version = link(&fixture, asked.link).await.version;
    assert_eq!(code(retry(&fixture, asked.link, version).await), Code::NotAllowedInState);
    let target = Target { tenant: fixture.service.tenant_id(), id };
    let plan = as_console(&fixture, async |db: &mut PgConnection| {
        plan_of_operation(db, &fixture.engine.settings().limits, target).await
    })
    .await
    .unwrap()
    .unwrap();
    let undo = plan.undone[0].undo.as_ref().unwrap();
    assert_eq!(undo.status, CompensationState::Running);
    assert_eq!(undo.undo_status, Some(domain::operation::Status::Unknown));
}

#[tokio::test]
async fn moving_money_back_takes_two_people_and_so_does_trying_again() {
    let fixture = fixture().await;
    let (id, undo) = failed_undo(&fixture, "k").await;
    let tenant = fixture.service.tenant_id();
    let target = Target { tenant, id: undo };
    as_console(&fixture, async |db: &mut PgConnection| {
        assert!(needs_second_person(db, target, &undoable_charge()).await?);
        assert!(!needs_second_person(db, target, &mail()).await?);
        assert!(retry_needs_second_person(db, tenant, id).await?);
        Ok(())
    })
    .await
    .unwrap();
}
