//! A worker is paused beyond its lease and wakes up: it changes nothing, and what it knows is kept.

use domain::operation::Status;
use sandbox::{
    Provider,
    providers::{Mode, Rule},
};
use testkit::eventually;

use super::scene::{Effect, LIMIT, PAST_LEASE, Scene};

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_worker_changes_nothing_and_its_answer_is_shown_as_evidence() {
    let scene = Scene::open(false).await;
    let slow = Rule::once(Mode::Slow { ms: 3_000 });
    scene.providers.add(Provider::Payments, slow).await.unwrap();
    let paused = scene.worker("w-paused");
    let id = scene.queue(Effect::Charge, "k-1").await;
    // Executing is written before the first byte is sent: paused in between, nothing would happen at
    // all. The rule is used up once the request has arrived.
    eventually("the provider has the request", LIMIT, async || {
        scene.providers.modes().await.unwrap().0.values().all(Vec::is_empty)
    })
    .await;
    paused.pause();
    scene.until_applied(id).await;
    scene.database.advance_clock(PAST_LEASE).await;
    let _second = scene.worker("w-2");
    scene.until_needs_person(id).await;
    let before = scene.engine.operation(&scene.operator, id).await.unwrap();
    paused.wake();
    eventually("its late answer is kept", LIMIT, async || {
        !scene.engine.operation(&scene.operator, id).await.unwrap().evidence.is_empty()
    })
    .await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    let evidence = &page.evidence[0];
    assert_eq!((evidence.source.as_str(), evidence.says.as_str()), ("worker", "done"));
    assert!(
        evidence.fence.is_some_and(|fence| fence < page.row.lease.fence),
        "it carried the fence it had lost"
    );
    assert_eq!(page.row.status, Status::Unknown, "an old owner's word is no proof");
    assert!(page.row.version > before.row.version, "a page shown before is stale now");
    assert!(page.timeline.iter().any(|item| item.rule == "O24"));
    assert_eq!(scene.effects(id).await, 1);
    testkit::threat("T28", 1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_stays_its_workers_and_happens_once() {
    let scene = Scene::open(false).await;
    scene.mode(Effect::Mail, Mode::Slow { ms: 2_000 }).await;
    let _slow = scene.worker("w-slow");
    let _other = scene.worker("w-other");
    let id = scene.queue(Effect::Mail, "k-1").await;
    scene.until_status(id, "succeeded").await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(page.takeovers, 0);
    assert_eq!(scene.effects(id).await, 1);
}
