//! What the second person is shown of the time between: moves and evidence that came after the request was
//! made, and what is on record now.

use std::time::Duration;

use domain::{
    action::{Outcome, Verb},
    approval::ApprovalStatus,
    listing::ApprovalFilter,
};
use engine::ActionRequest;

use super::{Scene, says_done, webhook};
use crate::fixture::{action, happened};

#[tokio::test]
async fn who_decides_sees_what_moved_and_what_evidence_came_since_it_was_asked_for() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let denies = ActionRequest {
        outcome: Some(Outcome::NotHappenedStop),
        ..action(id, Verb::Confirm, version)
    };
    scene.fixture.db.advance_clock(Duration::from_secs(120)).await;
    let request = scene.ask(denies).await;
    let engine = &scene.fixture.engine;
    let before = engine.approval(&scene.ada, request.id).await.unwrap();
    let since = before.since.unwrap();
    assert!(since.moves.is_empty() && since.evidence.is_empty() && !since.more, "{since:?}");
    assert_eq!(since.amount, before.amount);
    assert_eq!(since.external_reference, None);

    // The provider's own word comes before anybody agreed.
    let body = says_done("evt_1", &id.to_string(), "ch_9", 50_000).replace("INV-1", "INV-9");
    webhook(&scene.fixture, &body).await;
    let after = engine.approval(&scene.ada, request.id).await.unwrap();
    let since = after.since.unwrap();
    let rules: Vec<_> = since.moves.iter().map(|item| item.rule.as_str()).collect();
    assert!(rules.contains(&"O16"), "{rules:?}");
    let moved = since.moves.iter().find(|item| item.rule == "O16").unwrap();
    assert!(moved.version.is_some_and(|now| now > after.seen.version));
    assert_eq!(since.external_reference.as_deref(), Some("ch_9"));
    let evidence: Vec<_> = since
        .evidence
        .iter()
        .map(|evidence| (evidence.source.as_str(), evidence.says.as_str()))
        .collect();
    assert_eq!(evidence, [("webhook", "done")]);
    assert_ne!(after.now.unwrap().version, after.seen.version);
    assert_eq!(after.status, ApprovalStatus::Pending, "looking at it settles nothing");
}

#[tokio::test]
async fn what_moved_before_it_was_asked_for_is_not_told_as_new_and_many_moves_are_bounded() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    sqlx::query(
        "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence,
           attempt, actor_kind, actor)
         select tenant_id, id, onceover_now() + n * interval '1 second', 'O19', 'unknown', 'unknown', $2, 1, 1,
           'reconciler', 'w-' || n
         from operations, generate_series(1, 80) n where id = $1",
    )
    .bind(id.uuid())
    .bind(version)
    .execute(scene.fixture.pool())
    .await
    .unwrap();
    let shown = scene.fixture.engine.approval(&scene.ben, request.id).await.unwrap();
    let since = shown.since.unwrap();
    assert!(since.more);
    let actors: Vec<_> = since.moves.iter().map(|item| item.actor.as_str()).collect();
    assert_eq!((actors.len(), actors.first(), actors.last()), (50, Some(&"w-31"), Some(&"w-80")));
    let listed =
        scene.fixture.engine.list_approvals(&scene.ben, &ApprovalFilter::default()).await.unwrap();
    assert!(listed.items.iter().all(|row| row.since.is_none()), "a list asks for none of it");
}
