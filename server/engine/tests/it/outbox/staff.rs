//! What people decide about a dead event, and what is forgotten in the end (X8, X9).

use std::time::Duration;

use axum::{http::StatusCode, response::IntoResponse as _};
use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    ids::EventId,
    outbox::EventStatus,
    problem::Code,
};
use engine::{
    ActionRequest, Actor,
    outbox::{EventState, requeue_in, skip_in},
};
use sqlx::Connection as _;
use testkit::eventually;

use super::{LIMIT, receiver::Receiver, relay_to, rounds, standing, tell, to};
use crate::fixture::{Fixture, code, done};

/// A dead event with one behind it: its id and version.
pub async fn dead(fixture: &Fixture) -> (EventId, i64) {
    let refusing =
        Receiver::answering(|_| Box::pin(async { StatusCode::BAD_REQUEST.into_response() })).await;
    tell(fixture, "a", "thing.happened").await;
    tell(fixture, "a", "thing.happened").await;
    let mut relay = relay_to(fixture, vec![to(&refusing.url)]).await;
    eventually("it is dead", LIMIT, async || {
        rounds(&mut relay, fixture).await;
        fixture.db.advance_clock(Duration::from_secs(3_601)).await;
        standing(fixture, "dead").await > 0
    })
    .await;
    let (id, version): (uuid::Uuid, i64) =
        sqlx::query_as("select id, version from outbox where status = 'dead'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    (EventId::new(id), version)
}

/// Puts the one dead event in line again.
pub async fn requeue(fixture: &Fixture) {
    let (id, version): (uuid::Uuid, i64) =
        sqlx::query_as("select id, version from outbox where status = 'dead'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    let actor = Actor::new("staff", "anna@acme.test");
    let mut db = fixture.pool().acquire().await.unwrap();
    let tenant = fixture.service.tenant_id();
    requeue_in(&mut db, tenant, EventId::new(id), version, "the publisher was mended", &actor)
        .await
        .unwrap();
}

#[tokio::test]
async fn a_requeued_event_is_told_before_those_behind_it_and_has_all_its_attempts_again() {
    let fixture = Fixture::new().await;
    let (id, version) = dead(&fixture).await;
    let actor = Actor::new("staff", "anna@acme.test");
    let tenant = fixture.service.tenant_id();
    let mut db = fixture.pool().acquire().await.unwrap();
    let stale = requeue_in(&mut db, tenant, id, version - 1, "fixed", &actor).await;
    assert_eq!(code(stale), Code::Stale);
    let (before, after) =
        requeue_in(&mut db, tenant, id, version, "the receiver was fixed", &actor).await.unwrap();
    assert_eq!(before, EventState { status: EventStatus::Dead, version });
    assert_eq!(after, EventState { status: EventStatus::Pending, version: version + 1 });
    let again = requeue_in(&mut db, tenant, id, version + 1, "again", &actor).await;
    assert_eq!(code(again), Code::NotAllowedInState);
    assert_eq!(fixture.count("select attempts::bigint from outbox order by seq limit 1").await, 0);

    let receiver = Receiver::start().await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut relay, &fixture).await;
    let sequences: Vec<_> =
        receiver.came().iter().map(super::receiver::Delivered::sequence).collect();
    assert_eq!(sequences, [1, 2]);
    let (who, why): (String, String) = sqlx::query_as(
        "select actor, detail ->> 'reason' from machine_events where machine = 'outbox' and rule = 'X8'",
    )
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    assert_eq!((who.as_str(), why.as_str()), ("anna@acme.test", "the receiver was fixed"));
}

#[tokio::test]
async fn a_skipped_event_lets_its_aggregate_go_on_without_it() {
    let fixture = Fixture::new().await;
    let (id, version) = dead(&fixture).await;
    let actor = Actor::new("staff", "anna@acme.test");
    let mut db = fixture.pool().acquire().await.unwrap();
    let tenant = fixture.service.tenant_id();
    let elsewhere = domain::ids::TenantId::new(uuid::Uuid::now_v7());
    let foreign = skip_in(&mut db, elsewhere, id, version, "not mine", &actor).await;
    assert_eq!(code(foreign), Code::NotFound);
    skip_in(&mut db, tenant, id, version, "the customer was told by hand", &actor).await.unwrap();
    let receiver = Receiver::start().await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut relay, &fixture).await;
    let sequences: Vec<_> =
        receiver.came().iter().map(super::receiver::Delivered::sequence).collect();
    assert_eq!(sequences, [2]);
    assert_eq!((standing(&fixture, "skipped").await, standing(&fixture, "dead").await), (1, 0));
}

#[tokio::test]
async fn one_person_requeues_or_skips_a_dead_event_once_with_a_receipt() {
    for (verb, after) in [(Verb::Requeue, "pending"), (Verb::Skip, "skipped")] {
        let fixture = Fixture::new().await;
        let (id, version) = dead(&fixture).await;
        let operator = fixture.person("operator", Role::Operator).await;
        let request = |version| {
            let target = Subject::new(TargetType::Outbox, id.to_string());
            ActionRequest::new(target, verb, version, "the receiver was fixed")
        };
        let viewer = fixture.person("viewer", Role::Viewer).await;
        let denied = fixture.engine.act(&viewer, request(version)).await;
        assert_eq!(code(denied), Code::PermissionMissing);
        assert_eq!(code(fixture.engine.act(&operator, request(version - 1)).await), Code::Stale);
        let acted = done(fixture.engine.act(&operator, request(version)).await);
        assert_eq!(acted.receipt.before.status.as_str(), "dead");
        assert_eq!(acted.receipt.after.status.as_str(), after);
        let again = done(fixture.engine.act(&operator, request(version)).await);
        assert!(again.replayed);
        assert_eq!(again.receipt.id, acted.receipt.id);
        let now = acted.receipt.after.version;
        let other = fixture.engine.act(&operator, request(now)).await;
        assert_eq!(code(other), Code::NotAllowedInState, "it is not dead any more");
    }
}

#[tokio::test]
async fn the_console_may_decide_for_its_own_tenant_alone() {
    let fixture = Fixture::new().await;
    let (id, version) = dead(&fixture).await;
    let mut db = sqlx::PgConnection::connect(&fixture.db.url()).await.unwrap();
    let tenant = fixture.service.tenant_id();
    let actor = Actor::new("staff", "anna@acme.test");
    let mut tx = db.begin().await.unwrap();
    for sql in [
        "set local role onceover_app".to_owned(),
        format!("set local app.tenant = '{}'", uuid::Uuid::now_v7()),
    ] {
        sqlx::raw_sql(sqlx::AssertSqlSafe(sql)).execute(&mut *tx).await.unwrap();
    }
    assert_eq!(code(skip_in(&mut tx, tenant, id, version, "reason", &actor).await), Code::NotFound);
    let own = format!("set local app.tenant = '{tenant}'");
    sqlx::raw_sql(sqlx::AssertSqlSafe(own)).execute(&mut *tx).await.unwrap();
    skip_in(&mut tx, tenant, id, version, "reason", &actor).await.unwrap();
    tx.commit().await.unwrap();
    assert_eq!(standing(&fixture, "skipped").await, 1);
}

#[tokio::test]
async fn what_was_told_is_forgotten_after_the_horizon_and_nothing_else_is() {
    let fixture = Fixture::new().await;
    let (id, version) = dead(&fixture).await;
    tell(&fixture, "told", "thing.happened").await;
    let receiver = Receiver::start().await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut relay, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 1);
    fixture.db.advance_clock(Duration::from_secs(30 * 86_400 - 60)).await;
    assert_eq!(fixture.engine.purge_told_events().await.unwrap().handled, 0);
    fixture.db.advance_clock(Duration::from_secs(120)).await;
    assert_eq!(fixture.engine.purge_told_events().await.unwrap().handled, 1);
    assert_eq!((standing(&fixture, "dead").await, standing(&fixture, "pending").await), (1, 1));
    assert_eq!(
        fixture.count("select count(*) from outbox_attempts where outcome = 'published'").await,
        0
    );
    // The aggregate's numbers go on from where they were.
    tell(&fixture, "told", "thing.happened").await;
    rounds(&mut relay, &fixture).await;
    assert_eq!(receiver.came().last().unwrap().sequence(), 2);
    let mut db = fixture.pool().acquire().await.unwrap();
    let actor = Actor::new("staff", "anna@acme.test");
    skip_in(&mut db, fixture.service.tenant_id(), id, version, "reason", &actor).await.unwrap();
}
