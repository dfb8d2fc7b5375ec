//! Kinds that can be undone, and a person's decisions in the console's own role.

use std::ops::AsyncFnOnce;

use domain::{
    compensation::CompensationState,
    ids::{CompensationId, OperationId},
    money::Money,
};
use engine::{
    Actor, EngineError, FinishOutcome,
    compensation::{Requested, UndoRequest, request_in},
    identity::Admin,
    store::{Target, compensation::Link, kind::KindPolicy},
};
use sqlx::{Executor as _, PgConnection};

use crate::fixture::{Fixture, charge, finish};

/// What undoes a charge: it names the charge's reference, and its own amount.
pub fn refund() -> KindPolicy {
    KindPolicy {
        name: "invoice.refund".into(),
        undo_reference_member: Some("charge_id".into()),
        masked_pointers: Vec::new(),
        search_pointers: Vec::new(),
        ..charge()
    }
}

pub fn undoable_charge() -> KindPolicy {
    KindPolicy { undo_kind: Some("invoice.refund".into()), ..charge() }
}

pub async fn put_kind(fixture: &Fixture, kind: &KindPolicy) {
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(fixture.service.tenant_id(), kind).await.unwrap();
}

/// A tenant whose charges can be refunded.
pub async fn fixture() -> Fixture {
    let fixture = Fixture::new().await;
    put_kind(&fixture, &refund()).await;
    put_kind(&fixture, &undoable_charge()).await;
    fixture
}

/// Runs something in a transaction of the console's role; a refusal takes it back.
pub async fn as_console<T>(
    fixture: &Fixture,
    decide: impl AsyncFnOnce(&mut PgConnection) -> Result<T, EngineError>,
) -> Result<T, EngineError> {
    let mut tx = fixture.pool().begin().await?;
    tx.execute("set local role onceover_app").await?;
    sqlx::query("select set_config('app.tenant', $1, true)")
        .bind(fixture.service.tenant_id().to_string())
        .execute(&mut *tx)
        .await?;
    let decided = decide(&mut tx).await?;
    tx.commit().await?;
    Ok(decided)
}

pub fn operator() -> Actor {
    Actor::new("staff", "operator@acme.test")
}

pub async fn compensate_some(
    fixture: &Fixture,
    id: OperationId,
    amount: Option<&Money>,
) -> Result<Requested, EngineError> {
    let target = Target { tenant: fixture.service.tenant_id(), id };
    as_console(fixture, async |db: &mut PgConnection| {
        let ask =
            UndoRequest { target, version: None, amount, reason: "the customer sent it back" };
        request_in(db, fixture.engine.settings(), &operator(), &ask).await
    })
    .await
}

pub async fn compensate(fixture: &Fixture, id: OperationId) -> Result<Requested, EngineError> {
    compensate_some(fixture, id, None).await
}

pub fn eur(amount_minor: i64) -> Money {
    Money { amount_minor, currency: "EUR".into() }
}

/// A charge that happened.
pub async fn charged(fixture: &Fixture, key: &str) -> OperationId {
    let (id, fence) = fixture.executing(key).await;
    fixture.finish(id, fence, FinishOutcome::Done, Some(&format!("ch_{key}"))).await.unwrap();
    id
}

/// A worker claims one queued operation and makes its call; the fence it holds.
pub async fn begin_call(fixture: &Fixture, id: OperationId, kind: &str) -> i64 {
    let work = fixture.engine.claim(&fixture.service, &[kind.into()], 100, None).await.unwrap();
    let fence = work.iter().find(|work| work.id == id).expect("it is queued").fence;
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fence
}

/// A worker does one undo.
pub async fn do_undo(fixture: &Fixture, id: OperationId, kind: &str, outcome: FinishOutcome) {
    let fence = begin_call(fixture, id, kind).await;
    let reference = (outcome == FinishOutcome::Done).then_some("re_1");
    let finish = finish(fence, outcome, reference);
    fixture.engine.finish(&fixture.service, id, finish).await.unwrap();
}

/// A link as it stands.
pub async fn link(fixture: &Fixture, id: CompensationId) -> Link {
    let mut db = fixture.pool().acquire().await.unwrap();
    let tenant = fixture.service.tenant_id();
    engine::store::compensation::lock(&mut db, tenant, id).await.unwrap().unwrap()
}

pub async fn link_state(fixture: &Fixture, id: CompensationId) -> CompensationState {
    link(fixture, id).await.status
}

/// Has the unwinder look until nothing moves any more.
pub async fn unwind(fixture: &Fixture) {
    for _ in 0..100 {
        if fixture.engine.unwind_due().await.unwrap().handled == 0 {
            return;
        }
    }
    panic!("unwinding does not come to rest");
}

/// Topics told of an operation's undoing, in order.
pub async fn told(fixture: &Fixture, aggregate: &str) -> Vec<String> {
    sqlx::query_scalar("select topic from outbox where aggregate = $1 and topic not like 'operation.%' order by seq")
        .bind(aggregate)
        .fetch_all(fixture.pool())
        .await
        .unwrap()
}

/// Runs all of them at once.
pub async fn join_all<T>(all: impl Iterator<Item = impl Future<Output = T>>) -> Vec<T> {
    let mut running: Vec<_> = all.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|cx| {
        for (one, done) in running.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(value) = one.as_mut().poll(cx) {
                *done = Some(value);
            }
        }
        if running.iter().all(|(_, done)| done.is_some()) {
            std::task::Poll::Ready(())
        } else {
            std::task::Poll::Pending
        }
    })
    .await;
    running.into_iter().filter_map(|(_, done)| done).collect()
}
