//! Whoever confirms is not alone with the record: the provider is asked again first, and its *no* stops
//! the decision unless two people override it (O21 to O23, D10).

use domain::problem::Code;
use engine::Decided;

use super::*;
use crate::fixture::{asked, code, done as carried_out, happened};

const DENIED: &str = "select count(*) from audit where action = 'confirm' and result = 'denied'";

fn failed() -> Reply {
    json(200, r#"{"id":"ch_1","status":"failed"}"#)
}

/// A kind whose provider is asked, and whose *not found* is proof once it had time to show.
fn believed() -> KindPolicy {
    KindPolicy { absent_is_proof: true, ..looked_up() }
}

fn says(id: OperationId, version: i64, outcome: Outcome, reference: Option<&str>) -> ActionRequest {
    ActionRequest {
        outcome: Some(outcome),
        external_reference: reference.map(str::to_owned),
        ..action(id, Verb::Confirm, version)
    }
}

async fn version(scene: &Scene, id: OperationId) -> i64 {
    let view = scene.fixture.engine.operation_for_service(&scene.fixture.service, id).await;
    view.unwrap().version
}

#[tokio::test]
async fn what_the_provider_denies_is_not_confirmed_by_one_person() {
    let cases = [
        ("it was rejected", failed(), Outcome::Happened, Some("ch_1")),
        ("under another reference", charged(12_900), Outcome::Happened, Some("ch_9")),
        ("with another amount", charged(19_200), Outcome::Happened, Some("ch_1")),
        ("it is not there", not_found(), Outcome::Happened, Some("ch_1")),
        ("it happened, not stopped", charged(12_900), Outcome::NotHappenedStop, None),
        ("it happened, not to be retried", charged(12_900), Outcome::NotHappenedRetry, None),
    ];
    let tried = cases.len();
    let mut effects = 0;
    for (said, answer, outcome, reference) in cases {
        let scene = Scene::new(believed(), answer).await;
        let olga = scene.fixture.person("olga", Role::Operator).await;
        scene.fixture.person("ada", Role::Approver).await;
        let id = scene.unknown("k").await;
        scene.fixture.db.advance_clock(SETTLED).await;
        let before = version(&scene, id).await;
        let decision = says(id, before, outcome, reference);
        let alone = scene.engine.act(&olga, decision.clone()).await;
        assert_eq!(code(alone), Code::ProviderContradicts, "{said}");
        assert_eq!(scene.fixture.status(id).await, "unknown", "{said}");
        assert_eq!(version(&scene, id).await, before, "{said}");
        assert_eq!(scene.said(DENIED).await, 1, "{said}");
        let methods: Vec<_> = scene.stub.seen().into_iter().map(|asked| asked.method).collect();
        assert_eq!(methods, ["GET"], "{said}: asked once, and nothing is sent by asking");

        let against = ActionRequest { overrides: true, ..decision };
        let request = asked(scene.engine.act(&olga, against).await);
        assert!(request.overrides, "{said}: two people may, by name");
        assert_eq!(scene.fixture.status(id).await, "unknown", "{said}: nothing is done by asking");
        effects += usize::from(version(&scene, id).await != before);
    }
    assert_eq!(effects, 0);
    testkit::threat("T27", tried, effects);
}

#[tokio::test]
async fn what_the_provider_bears_out_or_cannot_tell_is_confirmed_once() {
    for (says, answer) in
        [("it happened", charged(12_900)), ("nothing that can be read", json(500, "{}"))]
    {
        let scene = Scene::new(looked_up(), answer).await;
        let olga = scene.fixture.person("olga", Role::Operator).await;
        let id = scene.unknown("k").await;
        let shown = version(&scene, id).await;
        let acted = carried_out(scene.engine.act(&olga, happened(id, shown, "ch_1")).await);
        assert!(!acted.replayed, "{says}");
        assert_eq!(scene.fixture.status(id).await, "succeeded", "{says}");
        let again = scene.engine.act(&olga, happened(id, shown, "ch_1")).await.unwrap();
        assert!(matches!(again, Decided::Done(acted) if acted.replayed), "{says}");
        assert_eq!(scene.said(DENIED).await, 0, "{says}");
    }
}
