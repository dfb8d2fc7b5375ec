//! A long story is told in pieces: each event once, in order, and no page reads more than its piece.

use domain::{access::Role, ids::OperationId, verdict::Safety};
use engine::{FinishOutcome, console::Piece};
use sqlx::Executor as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{
    fixture::{Fixture, engine},
    plans::{Plans, judge},
};

/// Statements that one page of an operation may ask the database.
const MAX_STATEMENTS: usize = 26;

async fn happens(fixture: &Fixture, id: OperationId, times: i64) {
    sqlx::query(
        "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence,
           attempt, actor_kind, actor, detail)
         select o.tenant_id, o.id, o.created_at + n * interval '1 second', 'O32', 'unknown', 'unknown', 10 + n, 1, 1,
           'staff', 'olga', jsonb_build_object('reason', 'event ' || n)
         from operations o, generate_series(1, $2) n where o.id = $1",
    )
    .bind(id.uuid())
    .bind(times)
    .execute(fixture.pool())
    .await
    .unwrap();
}

#[tokio::test]
async fn every_event_of_a_long_story_stands_in_one_piece_and_the_last_is_told_unasked() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let before = fixture.engine.operation(&viewer, id).await.unwrap();
    assert_eq!((before.timeline_from, before.timeline_total), (0, before.timeline.len()));
    happens(&fixture, id, 1_000).await;

    let told = async |from| {
        let piece = Piece { from, size: 40 };
        fixture.engine.operation_told(&viewer, id, piece).await.unwrap()
    };
    let last = told(None).await;
    let total = before.timeline.len() + 1_000;
    assert_eq!(last.timeline_total, total);
    assert_eq!(last.timeline_from, (total - 1) / 40 * 40);
    let mut anchors = Vec::new();
    for from in (0..total).step_by(40) {
        let piece = told(Some(from + 7)).await;
        assert_eq!(piece.timeline_from, from, "a piece holds what is asked for");
        anchors.extend(piece.timeline.into_iter().map(|item| (item.at, item.anchor)));
    }
    assert_eq!(anchors.len(), total);
    assert!(anchors.is_sorted_by(|a, b| a.0 <= b.0));
    anchors.sort_by(|a, b| a.1.cmp(&b.1));
    anchors.dedup_by(|a, b| a.1 == b.1);
    assert_eq!(anchors.len(), total, "none twice");
    assert_eq!(told(Some(1_000_000)).await.timeline, last.timeline);
    assert_eq!(last.verdict, before.verdict, "the verdict does not hang on the piece");
}

#[tokio::test]
async fn what_somebody_said_long_ago_counts_for_the_verdict_of_a_long_story() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    sqlx::query(
        "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence,
           attempt, actor_kind, actor)
         select tenant_id, id, created_at, 'O22', 'unknown', 'reserved', 4, 1, 1, 'staff', 'olga'
         from operations where id = $1",
    )
    .bind(id.uuid())
    .execute(fixture.pool())
    .await
    .unwrap();
    let short = fixture.engine.operation(&viewer, id).await.unwrap();
    happens(&fixture, id, 600).await;
    let long = fixture.engine.operation(&viewer, id).await.unwrap();
    assert_eq!(long.verdict, short.verdict);
    assert_ne!(long.verdict.safety, Safety::SafeToRetry);
}

#[tokio::test]
async fn a_page_of_five_thousand_events_asks_no_more_often_than_one_of_five() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    // Among others' events: alone in its table, reading all of it would be the shortest way.
    let (other, _) = fixture.executing("other").await;
    happens(&fixture, other, 100_000).await;
    happens(&fixture, id, 5_000).await;
    sqlx::query("analyze operation_events").execute(fixture.pool()).await.unwrap();
    Plans::explain_from_now_on(&fixture).await;
    let explained = engine(&fixture.db).await;
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    for from in [None, Some(0), Some(2_500)] {
        plans.take();
        explained.operation_told(&viewer, id, Piece { from, size: 40 }).await.unwrap();
        let told = plans.take();
        let (read, wrong) = judge(told.iter().map(|plan| ("a long story", plan)));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        assert!((10..=MAX_STATEMENTS).contains(&read), "{read} statements");
    }
}

/// An operation of a workflow of many steps, told of in many events that were tried again and again, and
/// named by many messages; and as much of others beside it.
async fn lives_long(fixture: &Fixture, id: OperationId, other: OperationId) {
    let mut db = fixture.pool().acquire().await.unwrap();
    let hash = "00".repeat(32);
    let mut statements = vec![
        "set statement_timeout = 0".to_owned(),
        "set session_replication_role = replica".to_owned(),
        format!(
            "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, created_by_kind,
               created_by)
             select tenant_id, 'long', 'w-' || n, 1, '\\x{hash}', 'running', 'service', 'x'
             from operations, generate_series(1, 3000) n where id = '{id}'"
        ),
        format!(
            "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, operation_id)
             select w.tenant_id, w.id, 's-' || n, n, 'running',
               case when w.key = 'w-1' and n = 7 then '{id}'::uuid end
             from workflows w, generate_series(1, case when w.key = 'w-1' then 300 else 3 end) n"
        ),
        "insert into machine_events (tenant_id, machine, record_id, step_key, rule, to_status, version, actor_kind, actor)
         select s.tenant_id, 'step', s.workflow_id, s.step_key, 'S4', 'running', n, 'engine', 'e'
         from workflow_steps s join workflows w on w.id = s.workflow_id and w.key = 'w-1',
           generate_series(1, 100) n"
            .to_owned(),
    ];
    for (of, events) in [(id, 2_000), (other, 30_000)] {
        statements.push(format!(
            "insert into outbox (tenant_id, aggregate, seq, topic, payload, operation_id, status, created_at, settled_at)
             select tenant_id, id::text, 1000 + n, 'operation.unknown', '{{}}', id, 'published',
               created_at + n * interval '1 second', now()
             from operations, generate_series(1, {events}) n where id = '{of}'"
        ));
        statements.push(format!(
            "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
               window_until, operation_id, settled_at)
             select tenant_id, 'c', 's', id::text || n, '\\x{hash}', 1, 'processed', now(), now(), id, now()
             from operations, generate_series(1, {events}) n where id = '{of}'"
        ));
    }
    statements.extend([
        format!(
            "insert into outbox_attempts (tenant_id, event_id, at, fence, owner, outcome)
             select tenant_id, id, created_at, 1, 'p', 'transport_down' from outbox, generate_series(1, 40)
             where operation_id = '{id}'"
        ),
        "insert into machine_events (tenant_id, machine, record_id, rule, to_status, version, actor_kind, actor)
         select tenant_id, 'inbox', id, 'N6', 'processed', n, 'engine', 'e' from inbox, generate_series(1, 2) n"
            .to_owned(),
    ]);
    for table in
        ["workflows", "workflow_steps", "machine_events", "outbox", "inbox", "outbox_attempts"]
    {
        statements.push(format!("analyze {table}"));
    }
    for statement in statements {
        db.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    }
    db.execute("set session_replication_role = origin").await.unwrap();
}

#[tokio::test]
async fn much_around_an_operation_is_told_by_its_indexes_and_by_no_more_statements() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let (other, fence) = fixture.executing("other").await;
    fixture.finish(other, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let (quiet, _) = fixture.executing("quiet").await;
    lives_long(&fixture, id, other).await;
    Plans::explain_from_now_on(&fixture).await;
    let explained = engine(&fixture.db).await;
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    let mut asked = Vec::new();
    // Once before: a connection that is opened in the middle asks for itself.
    for of in [quiet, id, quiet, id] {
        plans.take();
        let page = explained.operation(&viewer, of).await.unwrap();
        explained.operation_links(&viewer, of).await.unwrap();
        let told = plans.take();
        let (read, wrong) = judge(told.iter().map(|plan| ("much around it", plan)));
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
        asked.push((read, page.timeline_total));
    }
    let (quiet, much) = (asked[2], asked[3]);
    // The workflow that the one belongs to and what stands beside it are one statement more each.
    assert!(much.0 <= quiet.0 + 2, "{quiet:?} {much:?}");
    // 100 of each, ten of each of those, and the moves of its own step alone.
    assert!((1_200..=2_500).contains(&much.1), "{much:?}");
}
