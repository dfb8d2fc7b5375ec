//! A worker dies after the provider did the effect and before anything was written down.

use domain::{
    action::{Outcome, Verb},
    problem::Code,
    verdict::Safety,
};
use engine::{ActionRequest, Admission};
use sandbox::providers::Mode;

use super::scene::{Effect, PAST_LEASE, Scene};

fn happened(target: domain::ids::OperationId, version: i64, reference: &str) -> ActionRequest {
    ActionRequest {
        outcome: Some(Outcome::Happened),
        external_reference: Some(reference.into()),
        evidence: Some("https://provider.example/list".into()),
        ..ActionRequest::new(target, Verb::Confirm, version, "the provider's own list shows it")
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_effect_a_lookup_proves_it_and_it_happened_once() {
    for effect in Effect::BOTH {
        let scene = Scene::open(true).await;
        scene.mode(effect, Mode::Hang).await;
        let worker = scene.worker("w-1");
        let id = scene.queue(effect, "k-1").await;
        scene.until_applied(id).await;
        worker.kill();
        scene.database.advance_clock(PAST_LEASE).await;
        let _second = scene.worker("w-2");
        scene.until_status(id, "succeeded").await;
        assert_eq!(scene.effects(id).await, 1, "{effect:?}");
        match scene.engine.reserve(&scene.service, effect.request("k-1")).await.unwrap() {
            Admission::Replayed { id: same, .. } => assert_eq!(same, id),
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_after_the_effect_with_no_lookup_a_person_confirms_once_and_it_happened_once() {
    for effect in Effect::BOTH {
        let scene = Scene::open(false).await;
        scene.mode(effect, Mode::Hang).await;
        let worker = scene.worker("w-1");
        let id = scene.queue(effect, "k-1").await;
        scene.until_applied(id).await;
        worker.kill();
        scene.database.advance_clock(PAST_LEASE).await;
        let _second = scene.worker("w-2");
        scene.until_needs_person(id).await;

        let page = scene.engine.operation(&scene.operator, id).await.unwrap();
        assert_eq!(page.verdict.safety, Safety::NeedsPerson);
        assert!(page.verdict.sentence.contains("no lookup"), "{}", page.verdict.sentence);
        assert!(
            page.verdict.grounds.iter().any(|ground| ground.contains("lease ran out")),
            "{:?}",
            page.verdict
        );
        assert!(matches!(
            scene.engine.reserve(&scene.service, effect.request("k-1")).await.unwrap(),
            Admission::OutcomeUnknown { .. }
        ));

        let reference = scene.providers.ledger(&[("key", &id.to_string())]).await.unwrap()[0]["id"]
            .as_str()
            .unwrap()
            .to_owned();
        let decision = happened(id, page.row.version, &reference);
        let decide = async |decision| {
            scene.engine.act(&scene.operator, decision).await.unwrap().done().unwrap()
        };
        let first = decide(decision.clone()).await;
        let again = decide(decision).await;
        assert!(!first.replayed && again.replayed);
        assert_eq!(first.receipt, again.receipt, "resubmitted, the same receipt");
        assert_eq!(scene.status(id).await, "succeeded");
        assert_eq!(scene.effects(id).await, 1, "{effect:?}");
        let other = happened(id, page.row.version, "ch_other");
        let told = scene
            .engine
            .act(&scene.operator, other)
            .await
            .expect_err("decided otherwise")
            .refusal();
        assert_eq!((told.code, told.receipt), (Code::DecidedOtherwise, Some(first.receipt.id)));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn killed_before_the_call_it_runs_again_and_happens_once() {
    let scene = Scene::open(true).await;
    let id = scene.queue(Effect::Charge, "k-1").await;
    let kinds = vec![Effect::Charge.kind().operation().to_owned()];
    let lost = scene.engine.claim(&scene.service, &kinds, 1, None).await.unwrap();
    assert_eq!(lost[0].id, id, "a worker took it and is never heard of again");
    scene.database.advance_clock(PAST_LEASE).await;
    let worker = scene.worker("w-2");
    scene.until_status(id, "succeeded").await;
    assert_eq!(scene.effects(id).await, 1);
    assert_eq!(worker.stop(), Some(0), "it ends in order when asked to");
}
