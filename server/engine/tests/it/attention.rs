//! The first page: every cause has its queue, one queue over all of them, and what it says of health,
//! outcomes and ages holds.

use std::time::Duration;

use domain::{
    access::Role,
    ids::OperationId,
    problem::Code,
    record::RecordType,
    view::{AttentionRow, Cause, Overview, Queue},
};
use engine::{Engine, FinishOutcome, Settings, StaffCaller, background::TaskStatus};

use crate::{
    evidence::{done, webhook},
    fixture::{Fixture, add_tenant, asked, code, happened, person, won},
};

fn count(overview: &Overview, cause: Cause) -> i64 {
    overview.queues.iter().find(|queue| queue.cause == cause).unwrap().count
}

async fn overview(fixture: &Fixture, by: &StaffCaller) -> Overview {
    fixture.engine.overview(by, None).await.unwrap()
}

/// One queue by itself: its figures, and its rows.
async fn alone(fixture: &Fixture, by: &StaffCaller, cause: Cause) -> (Queue, Vec<AttentionRow>) {
    let shown = fixture.engine.overview(by, Some(cause)).await.unwrap();
    let queue = shown.queues.into_iter().find(|queue| queue.cause == cause).unwrap();
    (queue, shown.merged)
}

/// A row past its machine: what becomes of it is another test's matter.
async fn plant(fixture: &Fixture, table: &str, sql: &str) {
    let tenant = fixture.service.tenant_id().to_string();
    for sql in [
        format!("alter table {table} disable trigger user"),
        sql.replace("TENANT", &tenant),
        format!("alter table {table} enable trigger user"),
    ] {
        sqlx::query(sqlx::AssertSqlSafe(sql)).execute(fixture.pool()).await.unwrap();
    }
}

#[tokio::test]
async fn every_cause_has_its_queue_and_stands_in_the_merged_one_by_stake_and_age() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (unknown, _) = fixture.needs_person("unknown").await;
    let (forward, fence) = fixture.executing("charged").await;
    fixture.finish(forward, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    webhook(&fixture, &done("e-1", &forward.to_string(), "ch_2", 12_900)).await;
    let (asked_for, version) = fixture.needs_person("asked").await;
    let over = r#"{"invoice_id":"INV-1","amount_minor":900000,"currency":"EUR"}"#;
    let (big, fence) = won(fixture.reserve_as("big", over).await.unwrap());
    fixture.engine.start(&fixture.service, big, fence).await.unwrap();
    fixture.finish(big, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    let view = fixture.engine.operation_for_service(&fixture.service, big).await.unwrap();
    let request = asked(fixture.engine.act(&operator, happened(big, view.version, "ch_9")).await);
    fixture.engine.act(&operator, happened(asked_for, version, "ch_3")).await.unwrap();
    fixture.reserve("conflict").await;
    let other = crate::fixture::PAYLOAD.replace("12900", "1");
    assert!(fixture.reserve_as("conflict", &other).await.is_err());
    crate::outbox::tell(&fixture, "a", "thing.happened").await;
    plant(&fixture, "outbox", "update outbox set status = 'dead' where aggregate = 'a'").await;
    plant(
        &fixture,
        "workflows",
        "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, created_by_kind, created_by)
         values ('TENANT', 'campaign', 'c-1', 1, sha256(''), 'blocked', 'service', 'billing')",
    )
    .await;
    let compensation = format!(
        "insert into compensations (tenant_id, operation_id, kind, status, amount_minor, currency, requested_by_kind,
           requested_by) values ('TENANT', '{forward}', 'invoice.refund', 'failed', 12900, 'EUR', 'staff', 'olga')"
    );
    plant(&fixture, "compensations", &compensation).await;
    plant(
        &fixture,
        "inbox",
        "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
           window_until) values ('TENANT', 'billing', 'orders', 'm-1', sha256(''), 1, 'dead', onceover_now(),
           onceover_now())",
    )
    .await;
    // The lease of the reservation under a conflict has run out by now.
    fixture.db.advance_clock(Duration::from_secs(120)).await;

    for (by, mine, others) in [(&viewer, 0, 1), (&operator, 0, 1), (&approver, 1, 0)] {
        let shown = overview(&fixture, by).await;
        assert_eq!(count(&shown, Cause::ApprovalMine), mine, "{}", by.email());
        assert_eq!(count(&shown, Cause::ApprovalOthers), others, "{}", by.email());
    }
    let shown = overview(&fixture, &approver).await;
    for cause in Cause::ALL {
        let expected = match cause {
            Cause::UnknownOutcome => 2,
            Cause::ApprovalOthers => 0,
            _ => 1,
        };
        assert_eq!(count(&shown, cause), expected, "{cause:?}");
    }
    let stake = |cause| {
        let queue = shown.queues.iter().find(|queue| queue.cause == cause).unwrap();
        queue.at_stake.first().map(|money| money.amount_minor)
    };
    assert_eq!(stake(Cause::UnknownOutcome), Some(912_900));
    assert_eq!(stake(Cause::StuckCompensation), Some(12_900));
    assert_eq!(stake(Cause::DeadEvent), None);
    let first = &shown.merged[..2];
    assert!(first.iter().any(|row| row.record.id == big.to_string()));
    assert!(first.iter().any(|row| row.record.id == request.id.to_string()));
    let find = |record| shown.merged.iter().find(|row| row.record.record == record).unwrap();
    assert_eq!(find(RecordType::Event).record.label, "thing.happened");
    assert_eq!(find(RecordType::Workflow).record.key, "c-1");
    assert_eq!(find(RecordType::Message).record.key, "m-1");
    assert_eq!(find(RecordType::Compensation).record.page_id, forward.to_string());
    assert_eq!(find(RecordType::Approval).record.label, "confirm invoice.charge");
    assert_eq!(find(RecordType::Incident).operation.as_ref().unwrap().id, forward);
    assert!(shown.merged.iter().any(|row| row.record.id == unknown.to_string()));
    let stuck = shown
        .merged
        .iter()
        .filter(|row| row.operation.as_ref().is_some_and(|operation| operation.key == "conflict"));
    let causes: Vec<_> = stuck.map(|row| row.cause).collect();
    assert_eq!(causes, [Cause::StuckLease], "an operation stands once, under what presses most");

    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let elsewhere = person(&fixture.db, &fixture.engine, "globex", "gil", Role::Approver).await;
    let theirs = overview(&fixture, &elsewhere).await;
    assert!(theirs.merged.is_empty() && theirs.queues.iter().all(|queue| queue.count == 0));
    assert_eq!(theirs.health.publisher.waiting, 0);
    assert!(theirs.ageing.iter().all(|bucket| bucket.people + bucket.machines == 0));
}

#[tokio::test]
async fn a_queue_by_itself_shows_what_the_merged_one_has_no_room_for() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    plant(
        &fixture,
        "workflows",
        "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, created_by_kind, created_by)
         select 'TENANT', 'campaign', 'c-' || n, 1, sha256(''), 'blocked', 'service', 'billing'
         from generate_series(1, 50) n",
    )
    .await;
    assert!(!overview(&fixture, &viewer).await.merged_more, "fifty rows are all of fifty");
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    crate::outbox::tell(&fixture, "a", "thing.happened").await;
    plant(&fixture, "outbox", "update outbox set status = 'dead' where aggregate = 'a'").await;

    let shown = overview(&fixture, &viewer).await;
    assert_eq!((shown.merged.len(), shown.merged_more), (50, true));
    assert!(shown.merged.iter().all(|row| row.cause == Cause::BlockedWorkflow));
    let (queue, rows) = alone(&fixture, &viewer, Cause::DeadEvent).await;
    assert_eq!((queue.count, rows.len()), (1, 1));
    assert_eq!(rows[0].record.label, "thing.happened");
}

#[tokio::test]
async fn an_incident_about_an_unknown_outcome_is_one_row_of_all_and_found_in_its_own_queue() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("unknown").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    webhook(&fixture, &done("e-1", &id.to_string(), "ch_1", 1)).await;
    fixture.engine.reconcile_due().await.unwrap();
    let causes: Vec<_> =
        overview(&fixture, &viewer).await.merged.into_iter().map(|row| row.cause).collect();
    assert_eq!(causes, [Cause::UnknownOutcome]);
    let (queue, rows) = alone(&fixture, &viewer, Cause::OpenIncident).await;
    assert_eq!((queue.count, rows.len()), (1, 1));
    assert_eq!(rows[0].operation.as_ref().unwrap().id, id);
}

#[tokio::test]
async fn a_conflict_stakes_money_only_while_its_operation_is_open_or_disputed() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let conflict = async |key: &str| {
        let other = crate::fixture::PAYLOAD.replace("12900", "1");
        assert_eq!(code(fixture.reserve_as(key, &other).await), Code::KeyReused);
    };
    let (ended, fence) = fixture.executing("ended").await;
    fixture.finish(ended, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    conflict("ended").await;
    let (failed, fence) = fixture.executing("failed").await;
    fixture.finish(failed, fence, FinishOutcome::Rejected, None).await.unwrap();
    conflict("failed").await;
    let (queue, rows) = alone(&fixture, &viewer, Cause::PayloadConflict).await;
    assert_eq!((queue.count, queue.at_stake), (2, vec![]));
    assert!(rows.iter().all(|row| !row.needs_person() && row.at_stake.is_empty()));

    fixture.db.advance_clock(Duration::from_secs(1)).await;
    fixture.executing("open").await;
    conflict("open").await;
    webhook(&fixture, &done("e-1", &ended.to_string(), "ch_2", 12_900)).await;
    let (queue, rows) = alone(&fixture, &viewer, Cause::PayloadConflict).await;
    assert_eq!((queue.count, queue.at_stake[0].amount_minor), (3, 25_800));
    let shown: Vec<_> = rows
        .iter()
        .map(|row| (row.operation.as_ref().unwrap().key.as_str(), row.needs_person()))
        .collect();
    assert_eq!(shown, [("ended", true), ("open", true), ("failed", false)]);
}

/// What became of operations, over all hours that are shown.
fn sums(overview: &Overview) -> (i64, i64, i64) {
    overview.outcomes.iter().fold((0, 0, 0), |sum, hour| {
        (sum.0 + hour.succeeded, sum.1 + hour.failed, sum.2 + hour.unknown)
    })
}

#[tokio::test]
async fn outcomes_are_counted_once_each_in_the_hour_in_which_they_came() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let end = async |key: &str, outcome, reference| {
        let (id, fence) = fixture.executing(key).await;
        fixture.finish(id, fence, outcome, reference).await.unwrap();
    };
    for n in 0..3 {
        end(&format!("done-{n}"), FinishOutcome::Done, Some("ch_1")).await;
    }
    end("rejected", FinishOutcome::Rejected, None).await;
    let (id, version): (OperationId, i64) = fixture.needs_person("unknown").await;
    while fixture.engine.fold_outcomes().await.unwrap().handled > 0 {}
    assert_eq!(sums(&overview(&fixture, &viewer).await), (3, 1, 1));
    fixture.db.advance_clock(Duration::from_secs(3_600)).await;
    crate::fixture::done(fixture.engine.act(&operator, happened(id, version, "ch_2")).await);
    let rounds = async || fixture.engine.fold_outcomes().await.unwrap().handled;
    let (a, b) = tokio::join!(rounds(), rounds());
    assert_eq!(a + b, 1, "two processes that fold count nothing twice");
    let shown = overview(&fixture, &viewer).await;
    assert_eq!(shown.outcomes.len(), 24);
    assert_eq!(sums(&shown), (4, 1, 1), "the decision is an outcome, its receipt is none");
    assert_eq!((shown.outcomes[23].succeeded, shown.outcomes[22].succeeded), (1, 3));
    fixture.db.advance_clock(Duration::from_secs(23 * 3_600)).await;
    assert_eq!(sums(&overview(&fixture, &viewer).await), (1, 0, 0), "a day shows a day");
    assert_eq!(fixture.count("select count(*) from outcome_deltas").await, 0);
}

#[tokio::test]
async fn unknown_outcomes_stand_in_the_bucket_of_their_age() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    fixture.needs_person("old").await;
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let (id, fence) = fixture.executing("young").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let ageing = overview(&fixture, &viewer).await.ageing;
    let shown: Vec<_> = ageing
        .iter()
        .map(|bucket| (bucket.from_ms / 60_000, bucket.machines, bucket.people))
        .collect();
    assert_eq!(
        shown,
        [(0, 1, 0), (5, 0, 0), (60, 0, 1), (360, 0, 0), (1_440, 0, 0), (10_080, 0, 0)]
    );
    assert_eq!((ageing[0].to_ms, ageing[5].to_ms), (Some(300_000), None));
}

#[tokio::test]
async fn health_names_lost_processes_failing_tasks_and_the_oldest_transaction() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let beat = engine::background::ProcessBeat {
        first: true,
        draining: false,
        stopped: false,
        busy: 0,
        kinds: &[],
        program_version: "1",
    };
    fixture.engine.beat(&beat).await.unwrap();
    let mut held = fixture.pool().begin().await.unwrap();
    sqlx::query("select 1").execute(&mut *held).await.unwrap();
    let shown = overview(&fixture, &viewer).await.health;
    assert_eq!((shown.workers_alive, shown.workers_lost), (1, 0));
    let oldest = shown.oldest_transaction.expect("a transaction is open");
    assert_eq!(oldest.state, "idle in transaction");
    held.rollback().await.unwrap();
    assert!(shown.breakers.is_empty());
    assert!(shown.tasks.is_empty());

    // Two processes run one task, and in one of them it fails; the other task works.
    let second = Engine::connect(Settings {
        worker_name: "w-second".into(),
        ..crate::fixture::settings(&fixture.db)
    })
    .await
    .unwrap();
    let works = |task, handled| TaskStatus { task, handled, ago_ms: 5, ..TaskStatus::default() };
    let fails = TaskStatus {
        failures: 3,
        last_error: Some("the provider's name is not known".into()),
        ..works("reconcile", 0)
    };
    fixture.engine.report_tasks(&[works("reconcile", 2), works("expire", 0)]).await.unwrap();
    second.report_tasks(&[fails]).await.unwrap();
    let tasks = async || {
        let tasks = overview(&fixture, &viewer).await.health.tasks;
        let told = tasks.into_iter().map(|task| (task.task, task.failing, task.last_error));
        told.collect::<Vec<_>>()
    };
    let error = Some("the provider's name is not known".to_owned());
    assert_eq!(tasks().await, [("expire".to_owned(), 0, None), ("reconcile".to_owned(), 1, error)]);
    // Its next run went well: that it failed is over.
    second.report_tasks(&[works("reconcile", 1)]).await.unwrap();
    assert_eq!(tasks().await, [("expire".to_owned(), 0, None), ("reconcile".to_owned(), 0, None)]);
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    let shown = overview(&fixture, &viewer).await.health;
    assert_eq!((shown.workers_alive, shown.workers_lost), (0, 1));
}

#[tokio::test]
async fn health_names_providers_with_what_they_leave_open_and_their_last_word() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let providers = async || overview(&fixture, &viewer).await.health.providers;
    let end = async |key: &str, outcome, reference| {
        let (id, fence) = fixture.executing(key).await;
        fixture.finish(id, fence, outcome, reference).await.unwrap();
    };
    end("put off", FinishOutcome::NotDone, None).await;
    let open = providers().await;
    assert_eq!(open.len(), 1, "{open:?}");
    assert_eq!((open[0].unanswered, open[0].put_off), (0, 1));
    assert_eq!(open[0].answered_at, None, "it put its only call off");

    fixture.db.advance_clock(Duration::from_secs(60)).await;
    end("done", FinishOutcome::Done, Some("ch_1")).await;
    end("asked", FinishOutcome::Ambiguous, None).await;
    end("not asked yet", FinishOutcome::Ambiguous, None).await;
    plant(&fixture, "operations", "update operations set reconcile_tries = 2 where key = 'asked'")
        .await;
    let open = providers().await;
    assert_eq!(open.len(), 1, "{open:?}");
    let provider = &open[0];
    assert_eq!(provider.provider, "payments.charges");
    assert_eq!((provider.unanswered, provider.put_off), (1, 1));
    let answered = provider.answered_at.expect("it did one of the calls");
    assert!(answered > provider.since, "the oldest waits since before its last word");

    // What waits for a person stands in a queue of its own, and no other tenant hears of any.
    plant(&fixture, "operations", "update operations set needs_manual = true where key = 'asked'")
        .await;
    let open = providers().await;
    assert_eq!((open[0].unanswered, open[0].put_off), (0, 1));
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let elsewhere = person(&fixture.db, &fixture.engine, "globex", "gil", Role::Viewer).await;
    assert_eq!(overview(&fixture, &elsewhere).await.health.providers, []);
}
