//! Providers that answer badly: the operation still ends right, and nothing happens twice.

use domain::operation::Event;
use sandbox::providers::Mode;

use super::scene::{Effect, Scene};

#[tokio::test(flavor = "multi_thread")]
async fn an_effect_whose_answer_is_lost_or_unreadable_is_found_by_lookup() {
    for mode in [Mode::ApplyDrop, Mode::Apply500, Mode::Garbage, Mode::Nul] {
        let scene = Scene::open(true).await;
        scene.mode(Effect::Charge, mode.clone()).await;
        let _worker = scene.worker("w-1");
        let id = scene.queue(Effect::Charge, "k").await;
        scene.until_status(id, "succeeded").await;
        let page = scene.engine.operation(&scene.operator, id).await.unwrap();
        let rules: Vec<_> = page.timeline.iter().map(|item| item.rule.as_str()).collect();
        assert!(rules.contains(&Event::Ambiguous.rule()), "{mode:?}: {rules:?}");
        assert_eq!(scene.effects(id).await, 1, "{mode:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_five_megabyte_answer_ends_right_and_its_snapshot_is_marked_as_cut() {
    let scene = Scene::open(true).await;
    scene.mode(Effect::Charge, Mode::Huge).await;
    let _worker = scene.worker("w-1");
    let id = scene.queue(Effect::Charge, "k").await;
    scene.until_status(id, "succeeded").await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert!(page.response.is_some_and(|response| response.snapshot_cut));
    assert_eq!(scene.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provider_that_did_something_else_is_no_success() {
    let scene = Scene::open(false).await;
    scene.mode(Effect::Charge, Mode::WrongAmount).await;
    let _worker = scene.worker("w-1");
    let id = scene.queue(Effect::Charge, "k").await;
    scene.until_needs_person(id).await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(page.incidents[0].cause, "answer_differs");
    assert_eq!(scene.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_rejection_is_final_and_a_throttled_call_is_tried_again() {
    let scene = Scene::open(true).await;
    scene.mode(Effect::Charge, Mode::Reject { code: "card_declined".into() }).await;
    scene
        .providers
        .add(sandbox::Provider::Mail, sandbox::providers::Rule::once(Mode::Throttle))
        .await
        .unwrap();
    let _worker = scene.worker("w-1");
    let rejected = scene.queue(Effect::Charge, "k").await;
    let throttled = scene.queue(Effect::Mail, "k").await;
    scene.until_status(rejected, "failed_terminal").await;
    scene.until_status(throttled, "succeeded").await;
    assert_eq!(scene.effects(rejected).await, 0);
    assert_eq!(scene.effects(throttled).await, 1);
    let page = scene.engine.operation(&scene.operator, throttled).await.unwrap();
    assert_eq!(page.row.attempt, 2);
}
