//! What stays, what goes, and what nobody can read afterwards.

use std::time::Duration;

use domain::access::Role;
use engine::{
    Admission, Engine, FinishOutcome, StoredAnswer, identity::Admin, store::kind::KindPolicy,
};
use testkit::eventually;

use crate::fixture::{Fixture, finish, mail, mail_request, person, won};

const RETENTION: Duration = Duration::from_secs(86_401);
const WEEK: Duration = Duration::from_secs(7 * 86_400);
const LIMIT: Duration = Duration::from_secs(20);
/// What no table may hold once it was removed.
const CANARY: &str = "Kanarienvogel";

async fn put(fixture: &Fixture, kind: &KindPolicy) {
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(fixture.service.tenant_id(), kind).await.unwrap();
}

/// A kind whose tombstones go a day after burial.
fn passing() -> KindPolicy {
    KindPolicy { purge_after_ms: Some(86_400_000), ..mail() }
}

/// An operation that is done and told.
async fn ended(fixture: &Fixture, key: &str) -> domain::ids::OperationId {
    let (id, fence) =
        won(fixture.engine.reserve(&fixture.service, mail_request(key)).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Done, Some("m_1")).await.unwrap();
    fixture.db.settle_outbox().await;
    id
}

async fn planting(fixture: &Fixture, statements: &[&'static str]) {
    let mut db = fixture.pool().acquire().await.unwrap();
    sqlx::query("set session_replication_role = replica").execute(&mut *db).await.unwrap();
    for sql in statements {
        sqlx::query(sqlx::AssertSqlSafe(*sql)).execute(&mut *db).await.unwrap();
    }
    sqlx::query("set session_replication_role = origin").execute(&mut *db).await.unwrap();
}

async fn tombstones(fixture: &Fixture) -> i64 {
    fixture.count("select count(*) from operations where tombstoned_at is not null").await
}

#[tokio::test]
async fn a_backlog_that_is_pointed_at_hides_nothing_behind_it() {
    let fixture = Fixture::new().await;
    ended(&fixture, "free").await;
    planting(
        &fixture,
        &[
            "insert into operations (tenant_id, operation, key, hash, hash_version, status, payload, attempt, max_attempts,
               completed_at, expires_at, ended_by, created_by_kind, created_by)
             select tenant_id, operation, 'held-' || n, hash, 1, status, payload, 1, 3, completed_at,
               expires_at - interval '1 hour', 'O6', 'service', 'planted'
             from operations, generate_series(1, 2500) n where key = 'free'",
            "insert into incidents (tenant_id, operation_id, cause, summary)
             select tenant_id, id, 'planted', 'x' from operations where key like 'held-%'",
        ],
    )
    .await;
    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0);
    sqlx::query(
        "update incidents set closed_at = onceover_now(), closed_by = 'Olga', reason = 'seen', version = version + 1
         where operation_id in (select id from operations where key in ('held-7', 'held-2400'))",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    let mut handled = 0;
    for _ in 0..3 {
        handled += fixture.engine.expire_due().await.unwrap().handled;
    }
    assert_eq!(handled, 2, "what is let go is found on the next round");
}

#[tokio::test]
async fn an_open_undo_a_running_workflow_or_a_request_keeps_the_contents() {
    let fixture = Fixture::new().await;
    ended(&fixture, "k").await;
    let olga = fixture.person("olga", Role::Operator).await;
    drop(olga);
    fixture.db.advance_clock(RETENTION).await;
    for (point, release) in [
        (
            "insert into compensations (tenant_id, operation_id, kind, status, requested_by_kind, requested_by, move)
             select tenant_id, id, 'campaign.retract', 'requested', 'staff', 'Olga', 'C1' from operations where key = 'k'",
            "update compensations set status = 'not_needed', version = version + 1, move = 'C4', settled_at = onceover_now()",
        ),
        (
            "insert into outbox (tenant_id, aggregate, seq, topic, payload, operation_id)
             select tenant_id, id::text, 99, 'x', '', id from operations where key = 'k'",
            "delete from outbox where seq = 99",
        ),
        (
            "insert into approvals (tenant_id, verb, target_type, target_id, version, decision, binds, seen, reason, status,
               requester_id, requester, expires_at)
             select o.tenant_id, 'correct', 'operation', o.id::text, o.version, '{}', sha256(''), '{}', 'r', 'pending',
               s.id, 'Olga', onceover_now() + interval '1 hour' from operations o, staff s where o.key = 'k'",
            "update approvals set status = 'withdrawn', decided_at = onceover_now(), decider_id = requester_id, decider = requester",
        ),
    ] {
        sqlx::query(point).execute(fixture.pool()).await.unwrap();
        assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0, "{point}");
        let by_hand = "update operations set payload = null, response_body = null, response_type = null,
            response_status = null, tombstoned_at = onceover_now(), version = version + 1, move = 'O27' where key = 'k'";
        assert!(sqlx::query(by_hand).execute(fixture.pool()).await.is_err(), "whoever writes");
        if release.starts_with("delete") {
            planting(&fixture, &[release]).await;
        } else {
            sqlx::query(release).execute(fixture.pool()).await.unwrap();
        }
    }
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_replay_that_races_expiry_gets_the_answer_or_410_and_never_a_second_effect() {
    let fixture = Fixture::new().await;
    for n in 0..20 {
        ended(&fixture, &format!("k-{n}")).await;
    }
    fixture.db.advance_clock(RETENTION).await;
    let expiring = tokio::spawn({
        let engine = fixture.engine.clone();
        async move { engine.expire_due().await.unwrap() }
    });
    let mut asked = Vec::new();
    for n in (0..20).rev() {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        asked.push(tokio::spawn(async move {
            engine.reserve(&service, mail_request(&format!("k-{n}"))).await.unwrap()
        }));
    }
    for asked in asked {
        match asked.await.unwrap() {
            Admission::Replayed { .. } | Admission::Tombstoned { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    expiring.await.unwrap();
    assert_eq!(fixture.count("select count(*) from operations where attempt = 1").await, 20);
    assert_eq!(fixture.count("select count(*) from operations").await, 20);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_janitor_that_dies_in_a_batch_leaves_each_row_whole_or_buried() {
    let fixture = Fixture::new().await;
    for n in 0..6 {
        ended(&fixture, &format!("k-{n}")).await;
    }
    fixture.db.advance_clock(RETENTION).await;
    // It stops at the fourth row, which is held, and dies there.
    let mut tx = fixture.pool().begin().await.unwrap();
    sqlx::query("select 1 from operations where key = 'k-3' for update")
        .execute(&mut *tx)
        .await
        .unwrap();
    let settings =
        engine::Settings { worker_name: "w-dies".into(), ..fixture.engine.settings().clone() };
    let runtime = tokio::task::spawn_blocking(move || {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        runtime.spawn(async move {
            Engine::connect(settings).await.unwrap().expire_due().await.unwrap();
        });
        runtime
    })
    .await
    .unwrap();
    eventually("it waits for the row", LIMIT, async || {
        fixture.count("select count(*) from pg_stat_activity where wait_event_type = 'Lock' and application_name = 'w-dies'").await > 0
    })
    .await;
    runtime.shutdown_background();
    tx.rollback().await.unwrap();
    assert_eq!(tombstones(&fixture).await, 3);
    let torn =
        "select count(*) from operations where (tombstoned_at is null) <> (payload is not null)";
    assert_eq!(fixture.count(torn).await, 0);
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 3);
}

/// Tables that still hold the canary, as text or in hexadecimal.
async fn held_in(fixture: &Fixture) -> Vec<String> {
    let tables: Vec<String> = sqlx::query_scalar(
        "select table_name::text from information_schema.tables
         where table_schema = 'public' and table_type = 'BASE TABLE' order by 1",
    )
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    let mut held = Vec::new();
    for table in tables {
        let sql = format!(
            "select count(*) from {table} t where t::text ilike '%' || $1 || '%' or t::text ilike '%' || $2 || '%'"
        );
        let count: i64 = sqlx::query_scalar(sqlx::AssertSqlSafe(sql))
            .bind(CANARY)
            .bind(hex::encode(CANARY))
            .fetch_one(fixture.pool())
            .await
            .unwrap();
        if count > 0 {
            held.push(table);
        }
    }
    held
}

#[tokio::test]
async fn after_its_time_nobodys_data_is_left_anywhere() {
    let fixture = Fixture::new().await;
    put(&fixture, &passing()).await;
    let payload = format!(r#"{{"campaign_id":"c-1","recipient_id":"{CANARY}"}}"#);
    let request = engine::Reserve { payload: payload.clone().into_bytes(), ..mail_request("k") };
    let (id, fence) = won(fixture.engine.reserve(&fixture.service, request.clone()).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let response = StoredAnswer {
        status: 200,
        content_type: "text/plain".into(),
        body: format!("to {CANARY}").into_bytes(),
        cut: false,
    };
    let done = engine::Finish {
        response: Some(response),
        ..finish(fence, FinishOutcome::Done, Some("m_1"))
    };
    fixture.engine.finish(&fixture.service, id, done).await.unwrap();
    let other = engine::Reserve {
        payload: payload.replace("c-1", "c-2").into_bytes(),
        ..mail_request("k")
    };
    assert!(fixture.engine.reserve(&fixture.service, other).await.is_err());
    let operator = person(&fixture.db, &fixture.engine, "acme", "operator", Role::Operator).await;
    fixture.engine.add_note(&operator, id, "form-1", &format!("rang {CANARY}")).await.unwrap();
    fixture.engine.take(&operator, id, true).await.unwrap();
    sqlx::query(
        "insert into evidence (tenant_id, operation_id, source, says, text, actor_kind, actor)
         select tenant_id, id, 'staff', 'statement', 'seen by Kanarienvogel', 'staff', 'Olga' from operations where key = 'k'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    fixture.db.settle_outbox().await;
    assert!(held_in(&fixture).await.len() >= 4, "{:?}", held_in(&fixture).await);

    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.purge_due().await.unwrap().handled, 0, "only a tombstone goes");
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(
        held_in(&fixture).await,
        Vec::<String>::new(),
        "a tombstone holds nothing of anybody"
    );
    assert_eq!(fixture.engine.purge_due().await.unwrap().handled, 0, "not before its time");

    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.purge_due().await.unwrap().handled, 1);
    for table in [
        "select count(*) from operations where not console",
        "select count(*) from payload_conflicts",
        "select count(*) from operation_terms",
        "select count(*) from evidence",
        "select count(*) from notes",
        "select count(*) from operation_takes",
        "select count(*) from incidents",
        "select count(*) from leases",
    ] {
        assert_eq!(fixture.count(table).await, 0, "{table}");
    }
    let last: String = sqlx::query_scalar(
        "select move from operation_events where operation_id = $1 order by id desc limit 1",
    )
    .bind(id.uuid())
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    assert_eq!(last, "O29", "its timeline stays and says so");
    let (anew, _) = won(fixture.engine.reserve(&fixture.service, request).await.unwrap());
    assert_ne!(anew, id, "the key is free again: a new operation");
}

#[tokio::test]
async fn money_publications_and_what_others_point_at_are_never_purged() {
    let fixture = Fixture::new().await;
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    let tenant = fixture.service.tenant_id();
    let money = KindPolicy { purge_after_ms: Some(1), ..crate::fixture::charge() };
    assert!(admin.put_kind(tenant, &money).await.is_err());
    let public = KindPolicy { publication: true, ..passing() };
    assert!(admin.put_kind(tenant, &public).await.is_err());

    put(&fixture, &passing()).await;
    ended(&fixture, "undone").await;
    ended(&fixture, "disputed").await;
    ended(&fixture, "goes").await;
    let (paid, fence) = fixture.executing("paid").await;
    fixture.finish(paid, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    fixture.db.settle_outbox().await;
    sqlx::query(
        "insert into compensations (tenant_id, operation_id, kind, status, requested_by_kind, requested_by, move)
         select tenant_id, id, 'campaign.retract', 'requested', 'staff', 'Olga', 'C1' from operations where key = 'undone'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    sqlx::query(
        "update compensations set status = 'not_needed', version = version + 1, move = 'C4'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 4);
    sqlx::query(
        "insert into incidents (tenant_id, operation_id, cause, summary)
         select tenant_id, id, 'late', 'a webhook after burial' from operations where key = 'disputed'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    fixture.db.advance_clock(WEEK).await;
    assert_eq!(fixture.engine.purge_due().await.unwrap().handled, 1);
    let kept: Vec<String> = sqlx::query_scalar("select key from operations order by key")
        .fetch_all(fixture.pool())
        .await
        .unwrap();
    assert_eq!(kept, ["disputed", "paid", "undone"]);
    let by_hand = "delete from operations where key = 'paid'";
    assert!(sqlx::query(by_hand).execute(fixture.pool()).await.is_err(), "whoever writes");
}

#[tokio::test]
async fn a_workflows_input_and_artifacts_go_with_its_last_operation() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id().uuid();
    let workflow: uuid::Uuid = sqlx::query_scalar(
        "insert into workflows (tenant_id, kind, key, definition_version, input, input_hash, status, next_at,
           created_by_kind, created_by, move)
         values ($1, 'campaign', 'w', 1, 'Kanarienvogel', sha256(''), 'running', onceover_now(), 'service', 'x', 'W1')
         returning id",
    )
    .bind(tenant)
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    for step in ["a", "b"] {
        sqlx::query(
            "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, move)
             values ($1, $2, $3, 1, 'pending', 'S0')",
        )
        .bind(tenant)
        .bind(workflow)
        .bind(step)
        .execute(fixture.pool())
        .await
        .unwrap();
        sqlx::query(
            "insert into workflow_artifacts (tenant_id, workflow_id, step_key, name, content_type, body, size, sha256)
             values ($1, $2, $3, 'draft', 'text/plain', 'Kanarienvogel', 13, sha256('Kanarienvogel'))",
        )
        .bind(tenant)
        .bind(workflow)
        .bind(step)
        .execute(fixture.pool())
        .await
        .unwrap();
        let request = engine::Reserve {
            workflow_id: Some(workflow),
            step_key: Some(step.into()),
            ..mail_request(step)
        };
        let (id, fence) = won(fixture.engine.reserve(&fixture.service, request).await.unwrap());
        fixture.engine.start(&fixture.service, id, fence).await.unwrap();
        fixture.finish(id, fence, FinishOutcome::Done, Some("m_1")).await.unwrap();
        if step == "a" {
            fixture.db.advance_clock(RETENTION).await;
        }
    }
    fixture.db.settle_outbox().await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0, "the workflow goes on");
    sqlx::query("update workflow_steps set status = 'skipped', version = version + 1, completed_at = onceover_now(), move = 'S8'")
        .execute(fixture.pool())
        .await
        .unwrap();
    sqlx::query("update workflows set status = 'completed', version = version + 1, completed_at = onceover_now(), move = 'W7'")
        .execute(fixture.pool())
        .await
        .unwrap();
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(
        held_in(&fixture).await,
        ["workflow_artifacts", "workflows"],
        "the other step stays"
    );
    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(held_in(&fixture).await, Vec::<String>::new());
    assert_eq!(
        fixture.count("select count(*) from workflow_artifacts").await,
        2,
        "that they were stays"
    );
}

#[tokio::test]
async fn what_waits_is_counted_up_to_a_bound() {
    use engine::background::Queue;
    let fixture = Fixture::new().await;
    ended(&fixture, "k").await;
    fixture.db.advance_clock(RETENTION).await;
    let expiry = fixture.engine.backlog(Queue::Expiry).await.unwrap();
    assert_eq!((expiry.waiting, expiry.is_more), (1, false));
    assert!(expiry.oldest_at.is_some());
    for queue in [
        Queue::LapsedCalls,
        Queue::Unknown,
        Queue::Purge,
        Queue::Undoing,
        Queue::Workflows,
        Queue::LapsedEvents,
        Queue::Inbox,
        Queue::Requests,
        Queue::Bulks,
    ] {
        assert_eq!(fixture.engine.backlog(queue).await.unwrap().waiting, 0, "{queue:?}");
    }
    planting(
        &fixture,
        &["insert into operations (tenant_id, operation, key, hash, hash_version, status, attempt, max_attempts,
             unknown_since, next_reconcile_at, created_by_kind, created_by)
           select tenant_id, operation, 'u-' || n, hash, 1, 'unknown', 1, 3, onceover_now(), onceover_now(), 'service', 'x'
           from operations, generate_series(1, 1200) n where key = 'k'"],
    )
    .await;
    planting(
        &fixture,
        &[
            "insert into outbox (tenant_id, aggregate, seq, topic, payload, status, owner, lease_until)
               select id, 'a-' || n, 1, 'x', '1', 'publishing', 'w', onceover_now() - n * interval '1 second'
               from tenants, generate_series(1, 3) n",
            "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
               window_until, settled_at)
             select id, 'c', 's', 'm-' || n, sha256(''), 1, 'processed', onceover_now(),
               onceover_now() - n * interval '1 minute', onceover_now()
             from tenants, generate_series(1, 1200) n",
        ],
    )
    .await;
    let lapsed = fixture.engine.backlog(Queue::LapsedEvents).await.unwrap();
    assert_eq!((lapsed.waiting, lapsed.is_more), (3, false));
    let inbox = fixture.engine.backlog(Queue::Inbox).await.unwrap();
    assert_eq!((inbox.waiting, inbox.is_more), (1_000, true));
    let oldest: chrono::DateTime<chrono::Utc> =
        sqlx::query_scalar("select min(window_until) from inbox")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    assert_eq!(
        inbox.oldest_at,
        Some(oldest),
        "the oldest of all, not of those that were met first"
    );
    let unknown = fixture.engine.backlog(Queue::Unknown).await.unwrap();
    assert_eq!((unknown.waiting, unknown.is_more), (1_000, true));
}

#[tokio::test]
async fn kinds_whose_provider_no_process_at_work_reaches_are_named() {
    let fixture = Fixture::new().await;
    let named = async || {
        let kinds = fixture.engine.unreached_kinds().await.unwrap();
        kinds.into_iter().map(|kind| kind.kind).collect::<Vec<_>>()
    };
    assert_eq!(named().await, ["campaign.send", "invoice.charge"]);
    let beat = engine::background::ProcessBeat {
        first: true,
        draining: false,
        stopped: false,
        busy: 0,
        kinds: &["invoice.charge".to_owned()],
        program_version: "1",
    };
    fixture.engine.beat(&beat).await.unwrap();
    assert_eq!(named().await, ["campaign.send"]);
    fixture.db.advance_clock(std::time::Duration::from_secs(31)).await;
    assert_eq!(named().await, ["campaign.send", "invoice.charge"], "it was not heard of since");
}
