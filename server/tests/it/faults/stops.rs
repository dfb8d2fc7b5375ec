//! A worker is told to stop while it works: what it has begun ends, or is known to be unknown.

use domain::operation::Event;
use sandbox::providers::Mode;
use testkit::eventually;

use super::scene::{Effect, LIMIT, PAST_LEASE, Scene};

async fn count(scene: &Scene, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(scene.database.owner_pool()).await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_under_way_ends_and_is_recorded_and_nothing_new_begins() {
    let scene = Scene::open(true).await;
    // Longer than the pause between two beats of a process, shorter than the drain.
    scene.mode(Effect::Charge, Mode::Slow { ms: 7_000 }).await;
    let worker = scene.worker("w-1");
    let id = scene.queue(Effect::Charge, "k-1").await;
    scene.until_status(id, "executing").await;
    eventually("its beat shows the call", LIMIT, async || {
        count(&scene, "select count(*) from workers where name = 'w-1' and busy = 1 and 'invoice.charge' = any(kinds)")
            .await
            == 1
    })
    .await;
    worker.ask_to_stop();
    eventually("it says that it drains", LIMIT, async || {
        count(&scene, "select count(*) from workers where draining and stopped_at is null").await
            == 1
    })
    .await;
    let later = scene.queue(Effect::Mail, "k-2").await;
    assert_eq!(worker.end(), Some(0));
    assert_eq!(scene.status(id).await, "succeeded");
    assert_eq!(scene.effects(id).await, 1);
    assert_eq!(scene.status(later).await, "reserved", "it claims nothing once it was told");
    assert_eq!(count(&scene, "select count(*) from leases").await, 0);
    assert_eq!(count(&scene, "select count(*) from workers where stopped_at is not null").await, 1);
    assert!(
        count(&scene, "select count(*) from task_status where worker = 'w-1' and failures = 0")
            .await
            >= 4,
        "what its tasks did is there to see"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_longer_than_the_drain_is_known_to_be_unknown_and_found_by_lookup() {
    let scene = Scene::open(true).await;
    scene.mode(Effect::Charge, Mode::Hang).await;
    let worker = scene.worker_with("w-1", &[("ONCEOVER_DRAIN_SECONDS", "1")]);
    let id = scene.queue(Effect::Charge, "k-1").await;
    scene.until_applied(id).await;
    assert_eq!(worker.stop(), Some(0));
    assert_eq!(scene.status(id).await, "unknown", "at once: nobody waits for its lease");
    let sql = "select count(*) from operation_events where move = 'O10' and (detail ->> 'drained')::boolean";
    assert_eq!(count(&scene, sql).await, 1);
    let _second = scene.worker("w-2");
    scene.until_status(id, "succeeded").await;
    assert_eq!(scene.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn told_twice_it_ends_at_once_and_its_lease_tells() {
    let scene = Scene::open(true).await;
    scene.mode(Effect::Charge, Mode::Hang).await;
    let worker = scene.worker_with("w-1", &[("ONCEOVER_DRAIN_SECONDS", "3600")]);
    let id = scene.queue(Effect::Charge, "k-1").await;
    scene.until_applied(id).await;
    worker.ask_to_stop();
    eventually("it drains", LIMIT, async || {
        count(&scene, "select count(*) from workers where draining").await == 1
    })
    .await;
    worker.ask_to_stop();
    assert_eq!(worker.end(), Some(130));
    assert_eq!(scene.status(id).await, "executing");
    scene.database.advance_clock(PAST_LEASE).await;
    let _second = scene.worker("w-2");
    scene.until_status(id, "succeeded").await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert!(page.timeline.iter().any(|item| item.rule == Event::LeaseLost.rule()));
    assert_eq!(scene.effects(id).await, 1);
}
