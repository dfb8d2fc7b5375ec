//! The same request many times, at once and late, and another payload under its key.

use std::time::Duration;

use domain::problem::Code;
use engine::{Admission, EngineError, Reserve};

use super::scene::{Effect, Scene};

#[tokio::test(flavor = "multi_thread")]
async fn delivered_twice_and_fifty_times_at_once_it_happens_once() {
    let scene = Scene::open(true).await;
    let _workers = [scene.worker("w-1"), scene.worker("w-2")];
    for effect in Effect::BOTH {
        for times in [2, 50] {
            let key = format!("k-{times}");
            let calls = (0..times).map(|_| {
                let (engine, service) = (scene.engine.clone(), scene.service.clone());
                let request = effect.request(&key);
                tokio::spawn(async move { engine.reserve(&service, request).await.unwrap() })
            });
            let mut ids = Vec::new();
            for call in calls.collect::<Vec<_>>() {
                ids.push(match call.await.unwrap() {
                    Admission::Queued { id }
                    | Admission::InProgress { id, .. }
                    | Admission::Replayed { id, .. } => id,
                    other => panic!("{other:?}"),
                });
            }
            ids.dedup();
            assert_eq!(ids.len(), 1, "all of them are one operation");
            scene.until_status(ids[0], "succeeded").await;
            assert_eq!(scene.effects(ids[0]).await, 1, "{effect:?} {times} times");
        }
    }
    testkit::threat("T25", 52, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_repeat_after_the_answer_is_old_gets_it_and_does_nothing() {
    let scene = Scene::open(true).await;
    let worker = scene.worker("w-1");
    for effect in Effect::BOTH {
        let id = scene.queue(effect, "k").await;
        scene.until_status(id, "succeeded").await;
        let repeat = || scene.engine.reserve(&scene.service, effect.request("k"));
        let Admission::Replayed { answer: first, .. } = repeat().await.unwrap() else { panic!() };
        let Admission::Replayed { answer: later, .. } = repeat().await.unwrap() else { panic!() };
        assert_eq!(first, later);
        assert_eq!(scene.effects(id).await, 1);
    }
    assert_eq!(worker.stop(), Some(0));
    scene.database.advance_clock(Duration::from_secs(3600)).await;
    scene.database.settle_outbox().await;
    assert_eq!(scene.engine.expire_due().await.unwrap().handled, 2);
    let _worker = scene.worker("w-2");
    for effect in Effect::BOTH {
        let expired = scene.engine.reserve(&scene.service, effect.request("k")).await.unwrap();
        let Admission::Tombstoned { id, .. } = expired else { panic!("{expired:?}") };
        assert_eq!(scene.effects(id).await, 1, "the key stays closed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_payload_under_the_key_is_refused_and_never_sent() {
    let scene = Scene::open(true).await;
    let _worker = scene.worker("w-1");
    for effect in Effect::BOTH {
        let other = Reserve { payload: effect.request("other").payload, ..effect.request("k") };
        let refused = || async {
            match scene.engine.reserve(&scene.service, other.clone()).await {
                Err(EngineError::Refused(refusal)) => assert_eq!(refusal.code, Code::KeyReused),
                answer => panic!("{answer:?}"),
            }
        };
        let id = scene.queue(effect, "k").await;
        refused().await;
        scene.until_status(id, "succeeded").await;
        refused().await;
        assert_eq!(scene.effects(id).await, 1);
        let subject = match effect {
            Effect::Charge => "invoice_id",
            Effect::Mail => "recipient_id",
        };
        assert!(scene.providers.ledger(&[(subject, "other")]).await.unwrap().is_empty());
        let page = scene.engine.operation(&scene.operator, id).await.unwrap();
        assert_eq!(page.conflicts[0].count, 2);
    }
    testkit::threat("T25", 1, 0);
}
