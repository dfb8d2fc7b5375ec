//! A long story is told in pieces: each event once, in order, and no page reads more than its piece.

use domain::{access::Role, ids::OperationId, verdict::Safety};
use engine::{FinishOutcome, console::Piece};
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
