//! Versions: a workflow keeps the one it was started with; a process without it leaves it alone;
//! one that says something else now is stopped, never guessed at (D32, D33, W5).

use std::time::Duration;

use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    problem::Code,
};
use engine::{ActionRequest, FinishOutcome, workflows::Definition};
use serde_json::json;

use super::support::{Flow, all_done, effect, input, line, stage, with};
use crate::fixture::{code, done};

/// The line in another version, which publishes without charging.
fn second() -> Definition {
    Definition::of("line", 2)
        .step("mail", effect("campaign.send"))
        .step("publish", effect("document.publish").after(&["mail"]))
        .build()
        .unwrap()
}

/// The same version, whose mail says something else now.
pub fn drifted() -> Definition {
    let mail =
        engine::workflows::Step::operation("campaign.send", |_| Ok(json!({ "other": true })));
    Definition::of("line", 1)
        .step("mail", mail)
        .step("charge", effect("invoice.charge").after(&["mail"]))
        .step("publish", effect("document.publish").after(&["charge"]))
        .build()
        .unwrap()
}

pub async fn mailed(fixture: &crate::fixture::Fixture) -> Flow<'_> {
    let flow = Flow::start(fixture, "line", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    flow.carry_out(&work, FinishOutcome::Done).await;
    flow
}

#[tokio::test]
async fn an_input_that_changed_behind_a_finished_step_blocks_and_starts_nothing() {
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    flow.engine = with(&fixture.db, vec![drifted()]).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "blocked");
    let cause = flow.view().await.cause.unwrap();
    assert!(cause.starts_with("definition_drift") && cause.contains("mail"), "{cause}");
    assert!(flow.claim().await.is_empty());
    assert_eq!(flow.effects("mail"), 1);
}

#[tokio::test]
async fn steps_that_changed_under_the_same_version_block() {
    let other = Definition::of("line", 1)
        .step("mail", effect("campaign.send"))
        .step("publish", effect("document.publish").after(&["mail"]))
        .build()
        .unwrap();
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    flow.engine = with(&fixture.db, vec![other]).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "blocked");
}

#[tokio::test]
async fn a_deployment_between_two_steps_leaves_old_workflows_to_old_processes() {
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    let old = std::mem::replace(&mut flow.engine, with(&fixture.db, vec![second()]).await);
    assert_eq!(flow.turn().await, 0, "not its version");
    assert_eq!(flow.status().await, "running", "and never a reason to fail it");
    // New ones run by the new version beside it.
    let newer = flow.engine.start_workflow(&fixture.service, "line", "k2", b"{}").await.unwrap();
    assert!(matches!(newer, engine::workflows::Begun::Fresh(_)));
    let version = "select definition_version::bigint from workflows where key = 'k2'";
    assert_eq!(fixture.count(version).await, 2);
    flow.engine = old;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
}

#[tokio::test]
async fn a_process_with_both_versions_carries_each_on_by_its_own() {
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    flow.engine = with(&fixture.db, vec![second(), line()]).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(flow.effects("charge"), 1, "as the first version says");
}

#[tokio::test]
async fn a_version_that_nobody_has_any_more_is_told_to_a_person() {
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    flow.engine = with(&fixture.db, vec![second()]).await;
    assert_eq!(flow.engine.block_unserved_workflows().await.unwrap().handled, 0, "a deployment");
    let stranger = with(&fixture.db, vec![]).await;
    fixture.db.advance_clock(Duration::from_secs(16 * 60)).await;
    assert_eq!(stranger.block_unserved_workflows().await.unwrap().handled, 0, "not its kind");
    let both = with(&fixture.db, vec![line(), second()]).await;
    assert_eq!(both.block_unserved_workflows().await.unwrap().handled, 0, "it has the version");
    assert_eq!(flow.engine.block_unserved_workflows().await.unwrap().handled, 1);
    assert_eq!(flow.status().await, "blocked");
    assert!(flow.view().await.cause.unwrap().starts_with("version_missing"));
    assert_eq!(flow.engine.block_unserved_workflows().await.unwrap().handled, 0);
}

#[tokio::test]
async fn a_person_decides_how_a_workflow_goes_on_once_with_a_receipt() {
    for (verb, from, after) in [
        (Verb::Cancel, "running", "compensating"),
        (Verb::Compensate, "blocked", "compensating"),
        (Verb::Resume, "blocked", "running"),
    ] {
        let fixture = stage(vec![line()]).await;
        let mut flow = mailed(&fixture).await;
        if from == "blocked" {
            flow.engine = with(&fixture.db, vec![drifted()]).await;
            flow.turn().await;
            flow.engine = with(&fixture.db, vec![line()]).await;
        }
        let operator = fixture.person("operator", Role::Operator).await;
        let version = flow.engine.workflow(&operator, flow.id).await.unwrap().row.version;
        let request = |version| {
            let target = Subject::new(TargetType::Workflow, flow.id.to_string());
            ActionRequest::new(target, verb, version, "the customer asked for it")
        };
        assert_eq!(code(flow.engine.act(&operator, request(version + 1)).await), Code::Stale);
        let acted = done(flow.engine.act(&operator, request(version)).await);
        assert_eq!(acted.receipt.before.status.as_str(), from, "{verb}");
        assert_eq!(acted.receipt.after.status.as_str(), after, "{verb}");
        let again = done(flow.engine.act(&operator, request(version)).await);
        assert!(again.replayed);
        assert_eq!(again.receipt.id, acted.receipt.id);
    }
}

#[tokio::test]
async fn nobody_resumes_into_the_same_drift_and_only_what_is_blocked_is_resumed_or_undone() {
    let fixture = stage(vec![line()]).await;
    let mut flow = mailed(&fixture).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let version =
        async |flow: &Flow<'_>| flow.engine.workflow(&operator, flow.id).await.unwrap().row.version;
    let request = |verb, version| {
        let target = Subject::new(TargetType::Workflow, flow.id.to_string());
        ActionRequest::new(target, verb, version, "the definition was mended")
    };
    let running = version(&flow).await;
    for verb in [Verb::Resume, Verb::Compensate] {
        let refused = fixture.engine.act(&operator, request(verb, running)).await;
        assert_eq!(code(refused), Code::NotAllowedInState, "{verb}: it runs");
    }
    let drifting = with(&fixture.db, vec![drifted()]).await;
    drifting.advance_workflows().await.unwrap();
    let blocked = version(&flow).await;
    let still = drifting.act(&operator, request(Verb::Resume, blocked)).await;
    let Err(engine::EngineError::Refused(refusal)) = still else { panic!("resumed into it") };
    assert_eq!(refusal.code, Code::NotAllowedInState);
    assert!(refusal.detail.unwrap_or_default().contains("mail"), "it says what differs");
    let without = with(&fixture.db, vec![second()]).await;
    let missing = without.act(&operator, request(Verb::Resume, blocked)).await;
    assert_eq!(code(missing), Code::NotAllowedInState, "a process without its version");
    assert_eq!(version(&flow).await, blocked, "nothing moved");
    // A process that says what it said carries it to its end; nothing is done twice.
    done(fixture.engine.act(&operator, request(Verb::Resume, blocked)).await);
    flow.engine = fixture.engine.clone();
    flow.drive(&all_done).await;
    assert_eq!((flow.status().await.as_str(), flow.effects("mail")), ("completed", 1));
}
