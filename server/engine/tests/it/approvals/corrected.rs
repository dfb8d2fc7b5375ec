//! What a person confirmed wrongly and two put right: evidence is weighed against what was put right,
//! not against the state that stays (O25, O26).

use std::time::Duration;

use domain::{
    action::{Outcome, Verb},
    ids::OperationId,
};
use engine::ActionRequest;

use super::Scene;
use crate::{
    evidence::{done, webhook},
    fixture::action,
};

const CONTRADICTED: &str =
    "select count(*) from incidents where cause = 'confirmation_contradicted'";

/// An operation that a person confirmed, and two corrected to the opposite.
async fn corrected(scene: &Scene, key: &str, from: Outcome, to: Outcome) -> OperationId {
    let fixture = &scene.fixture;
    let (id, _) = fixture.needs_person(key).await;
    // What might still be on its way by then was answered.
    fixture.db.advance_clock(Duration::from_secs(120)).await;
    let reference = |outcome| (outcome == Outcome::Happened).then(|| "ch_1".to_owned());
    let confirm = ActionRequest {
        outcome: Some(from),
        external_reference: reference(from),
        ..action(id, Verb::Confirm, scene.version(id).await)
    };
    if from == Outcome::Happened {
        fixture.engine.act(&scene.operator, confirm).await.unwrap();
    } else {
        let request = scene.ask(confirm).await;
        scene.approve(&scene.ada, request.id).await.unwrap();
    }
    let correct = ActionRequest {
        outcome: Some(to),
        external_reference: reference(to),
        ..action(id, Verb::Correct, scene.version(id).await)
    };
    let request = scene.ask(correct).await;
    scene.approve(&scene.ada, request.id).await.unwrap();
    id
}

#[tokio::test]
async fn evidence_against_a_correction_is_an_incident_though_it_agrees_with_the_state() {
    let scene = Scene::open().await;
    let id = corrected(&scene, "k", Outcome::Happened, Outcome::NotHappenedStop).await;
    webhook(&scene.fixture, &done("e-1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(scene.count(CONTRADICTED).await, 1);
    assert_eq!(scene.fixture.status(id).await, "succeeded", "final is final");
}

#[tokio::test]
async fn evidence_for_a_correction_is_no_incident_though_it_differs_from_the_state() {
    let scene = Scene::open().await;
    let id = corrected(&scene, "k", Outcome::NotHappenedStop, Outcome::Happened).await;
    webhook(&scene.fixture, &done("e-1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(scene.count("select count(*) from incidents").await, 0);
    // Another reference than the one that it was put right to may be a second effect.
    webhook(&scene.fixture, &done("e-2", &id.to_string(), "ch_2", 12_900)).await;
    assert_eq!(scene.count(CONTRADICTED).await, 1);
    let second = "select count(*) from incidents where cause = 'double_effect_suspected'";
    assert_eq!(scene.count(second).await, 1);
}
