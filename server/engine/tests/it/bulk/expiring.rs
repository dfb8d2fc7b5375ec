//! A set that nobody starts (B9): it can be started until its time and not after, by no way, and nothing of
//! it is done.

use std::time::Duration;

use domain::{access::Role, action::Verb, bulk::BulkState, problem::Code};
use engine::{Settling, background::Queue};

use crate::{
    bulk::results,
    fixture::{Fixture, asked, code, done},
};

const HOURS: fn(u64) -> Duration = |hours| Duration::from_secs(hours * 3_600);
/// Everything that a decision would have changed.
const EFFECTS: &str =
    "select (select count(*) from operations) + (select sum(version) from operations)::bigint
  + (select count(*) from outbox) + (select count(*) from audit where result = 'done')";

#[tokio::test]
async fn a_set_that_nobody_starts_expires_and_nothing_was_done() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, _) = fixture.unknown_mail("m-1").await;
    let late = fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
    fixture.advance().await;
    let begun = fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, begun.id, Verb::Run).await);
    let paused = fixture.decide_bulk(&operator, begun.id, Verb::Pause).await;
    done(paused);

    fixture.db.advance_clock(HOURS(23)).await;
    let early = fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
    fixture.advance().await;
    assert_eq!(fixture.engine.expire_bulks().await.unwrap().handled, 0);
    let shown = fixture.bulk(&operator, late.id).await;
    assert_eq!((shown.row.expires_at - shown.row.frozen_at).num_hours(), 24);
    assert!(shown.actions.iter().any(|offer| offer.verb == Verb::Run));

    fixture.db.advance_clock(HOURS(1)).await;
    let before = fixture.count(EFFECTS).await;
    let shown = fixture.bulk(&operator, late.id).await;
    assert!(
        shown.row.has_expired(shown.as_of),
        "the page says so before the background has looked"
    );
    assert!(shown.actions.iter().all(|offer| offer.verb != Verb::Run));
    let refused = fixture.decide_bulk(&operator, late.id, Verb::Run).await;
    assert_eq!(code(refused), Code::NotAllowedInState);
    assert_eq!(fixture.engine.backlog(Queue::Bulks).await.unwrap().waiting, 1);
    assert_eq!(fixture.engine.expire_bulks().await.unwrap().handled, 1);
    assert_eq!(fixture.engine.expire_bulks().await.unwrap().handled, 0);
    let shown = fixture.bulk(&operator, late.id).await;
    assert_eq!(results(&shown), (BulkState::Expired, 0, 0));
    assert!(shown.row.over_at.is_some() && shown.actions.is_empty());
    for verb in [Verb::Run, Verb::Resume, Verb::Abandon] {
        let refused = fixture.decide_bulk(&operator, late.id, verb).await;
        assert_eq!(code(refused), Code::NotAllowedInState, "{verb}");
    }
    fixture.advance().await;
    assert_eq!(fixture.count(EFFECTS).await, before);
    // What was started goes on for as long as it takes, and what is young still can be started.
    assert_eq!(results(&fixture.bulk(&operator, begun.id).await).0, BulkState::Paused);
    done(fixture.decide_bulk(&operator, early.id, Verb::Run).await);
}

#[tokio::test]
async fn the_database_refuses_a_start_after_the_time_and_an_end_before_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, _) = fixture.unknown_mail("m-1").await;
    fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
    fixture.advance().await;
    let start =
        "update bulks set status = 'running', version = version + 1, run_by_id = frozen_by_id,
       run_by = 'x', run_at = onceover_now(), receipt = id";
    let end =
        "update bulks set status = 'expired', version = version + 1, over_at = onceover_now()";
    let longer = "update bulks set expires_at = expires_at + interval '1 hour'";
    let run = async |sql: &'static str| sqlx::query(sql).execute(fixture.pool()).await.is_ok();
    assert!(!run(end).await && !run(longer).await);
    fixture.db.advance_clock(HOURS(24)).await;
    assert!(!run(start).await);
    assert!(run(end).await);
    assert!(!run(start).await);
}

#[tokio::test]
async fn a_request_that_is_agreed_to_too_late_starts_nothing() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let mut ids = Vec::new();
    for n in 0..4 {
        ids.push(fixture.unknown_charge(&format!("k-{n}")).await);
    }
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    // Asked for shortly before: the request lives on when the set does not.
    fixture.db.advance_clock(HOURS(23)).await;
    let request = asked(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    fixture.db.advance_clock(HOURS(1)).await;
    fixture.engine.expire_bulks().await.unwrap();
    let late = fixture.engine.approve(&approver, request.id, Settling::default()).await;
    assert_eq!(code(late), Code::Stale);
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Expired, 0, 0));
}
