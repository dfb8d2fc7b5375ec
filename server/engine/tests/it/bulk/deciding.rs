//! Deciding the rows: each once, whoever works on it and whatever dies, and what moved is left alone.

use std::time::Duration;

use domain::{
    access::Role,
    action::Verb,
    bulk::{BulkList, BulkState, Standing},
    ids::OperationId,
    problem::Code,
};

use crate::{
    bulk::results,
    fixture::{Fixture, action, code, done},
};

const RECONCILED: &str =
    "select count(*) from operations where console and operation = 'console.reconcile'";

async fn mails(fixture: &Fixture, count: usize) -> Vec<OperationId> {
    let mut ids = Vec::with_capacity(count);
    for n in 0..count {
        ids.push(fixture.unknown_mail(&format!("m-{n}")).await.0);
    }
    ids
}

#[tokio::test]
async fn each_row_is_one_decision_with_a_receipt_and_sending_it_again_shows_the_same() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ids = mails(&fixture, 3).await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    let version = fixture.bulk(&operator, frozen.id).await.row.version;
    let first = done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Over, 3, 0));
    assert_eq!(bulk.receipt, Some(first.receipt.id));
    let rows = fixture.rows(&operator, frozen.id, Standing::Done).await;
    let receipt = fixture.engine.receipt(&operator, rows[0].receipt.unwrap()).await.unwrap();
    assert_eq!((receipt.verb, receipt.target), (Verb::Reconcile, rows[0].id.clone()));
    assert_eq!(receipt.reason, "the provider is back");
    assert_eq!(fixture.count(RECONCILED).await, 3);

    let target =
        domain::action::Subject::new(domain::action::TargetType::Bulk, frozen.id.to_string());
    let again = engine::ActionRequest::new(target, Verb::Run, version, "once more");
    let again = done(fixture.engine.act(&operator, again).await);
    assert!(again.replayed);
    assert_eq!(again.receipt.id, first.receipt.id);
    fixture.advance().await;
    assert_eq!(fixture.count(RECONCILED).await, 3);
}

#[tokio::test]
async fn two_workers_share_the_work_and_decide_nothing_twice() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ids = mails(&fixture, 30).await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    let workers = (0..4).map(|_| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move {
            for _ in 0..20 {
                engine.advance_bulks().await.unwrap();
            }
        })
    });
    for worker in workers.collect::<Vec<_>>() {
        worker.await.unwrap();
    }
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Over, 30, 0));
    assert_eq!(fixture.count(RECONCILED).await, 30);
    let audited = "select count(*) from audit where action = 'reconcile' and result = 'done'";
    assert_eq!(fixture.count(audited).await, 30);
}

#[tokio::test]
async fn a_run_that_died_after_a_decision_finds_its_receipt() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ids = mails(&fixture, 2).await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    // What a run leaves that was killed between its decision and the row's result: the decision, under
    // the key that the row's has, and the bulk held by nobody alive.
    let rows = fixture.rows(&operator, frozen.id, Standing::Eligible).await;
    let first: OperationId = rows[0].id.parse().unwrap();
    let dead =
        done(fixture.engine.act(&operator, action(first, Verb::Reconcile, rows[0].version)).await);
    sqlx::query(
        "update bulks set next_at = onceover_now() + interval '30 seconds', fence = fence + 1",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    fixture.advance().await;
    assert_eq!(fixture.count(RECONCILED).await, 1, "it is held by whoever died");
    sqlx::query("update bulks set next_at = onceover_now() - interval '1 second'")
        .execute(fixture.pool())
        .await
        .unwrap();
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Over, 2, 0));
    assert_eq!(fixture.count(RECONCILED).await, 2);
    let rows = fixture.rows(&operator, frozen.id, Standing::Done).await;
    assert_eq!(rows[0].receipt, Some(dead.receipt.id));
}

#[tokio::test]
async fn what_moved_after_the_look_is_refused_as_stale_and_the_others_go_on() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let colleague = fixture.person("colleague", Role::Operator).await;
    let ids = mails(&fixture, 2).await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    let version = fixture.version_of(ids[0]).await;
    let confirm = crate::fixture::happened(ids[0], version, "mail-1");
    done(fixture.engine.act(&colleague, confirm).await);
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Over, 1, 1));
    let refused = fixture.rows(&operator, frozen.id, Standing::Refused).await;
    assert_eq!(refused[0].id, ids[0].to_string());
    assert_eq!(refused[0].code, Some(Code::Stale));
    assert_eq!(fixture.status(ids[0]).await, "succeeded");
}

#[tokio::test]
async fn it_stops_between_two_rows_goes_on_and_can_be_given_up() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ids = mails(&fixture, 25).await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    fixture.engine.advance_bulks().await.unwrap();
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Pause).await);
    fixture.advance().await;
    assert_eq!(results(&fixture.bulk(&operator, frozen.id).await), (BulkState::Paused, 20, 0));
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Resume).await);
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Abandon).await);
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Abandoned, 20, 0));
    assert_eq!(fixture.count(RECONCILED).await, 20, "what was decided stays decided");
    let refused = fixture.decide_bulk(&operator, frozen.id, Verb::Resume).await;
    assert_eq!(code(refused), Code::NotAllowedInState);
}

#[tokio::test]
async fn stuck_leases_and_dead_events_are_frozen_from_their_own_lists() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (stuck, _) = fixture.executing("k-1").await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    let (live, _) = fixture.executing("k-2").await;
    crate::outbox::tell(&fixture, "a", "thing.happened").await;
    let mut tx = fixture.pool().begin().await.unwrap();
    for sql in [
        "set local session_replication_role = replica",
        "update outbox set status = 'dead' where aggregate = 'a'",
        "update aggregates set blocked = true where aggregate = 'a'",
    ] {
        sqlx::query(sql).execute(&mut *tx).await.unwrap();
    }
    tx.commit().await.unwrap();

    let stale = [("status", "stale")];
    let leases =
        fixture.freeze_list(&operator, BulkList::Leases, Verb::Release, &stale).await.unwrap();
    let dead = [("status", "dead"), ("topic", "thing.happened")];
    let events =
        fixture.freeze_list(&operator, BulkList::Outbox, Verb::Requeue, &dead).await.unwrap();
    let nothing = [("status", "blocked")];
    let flows =
        fixture.freeze_list(&operator, BulkList::Workflows, Verb::Resume, &nothing).await.unwrap();
    fixture.advance().await;
    for id in [leases.id, events.id] {
        assert_eq!(fixture.bulk(&operator, id).await.row.eligible, 1);
        done(fixture.decide_bulk(&operator, id, Verb::Run).await);
    }
    assert_eq!(fixture.bulk(&operator, flows.id).await.row.total, 0);
    fixture.advance().await;
    assert_eq!(
        (fixture.status(stuck).await, fixture.status(live).await),
        ("unknown".into(), "executing".into())
    );
    assert_eq!(crate::outbox::standing(&fixture, "dead").await, 0);
}
