//! Crashes between an effect and its checkpoint, and after it: what is not known is waited for, and
//! what is known is never done again (F30, I13).

use std::time::Duration;

use domain::access::Role;
use engine::FinishOutcome;

use super::support::{Flow, all_done, ended, input, line, stage, with};
use crate::fixture::happened;

#[tokio::test]
async fn a_crash_between_effect_and_checkpoint_waits_for_proof_and_does_nothing_twice() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    flow.do_effect(&work).await;
    // The executor dies here. Its lease runs out.
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    fixture.engine.take_over_expired().await.unwrap();
    assert_eq!(flow.step("mail").await, "blocked_unknown");
    flow.turn().await;
    assert_eq!(flow.status().await, "waiting");
    assert!(flow.claim().await.is_empty(), "nothing goes on in doubt");
    fixture.engine.reconcile_due().await.unwrap();
    let view = fixture.engine.operation_for_service(&fixture.service, work.id).await.unwrap();
    assert!(view.needs_manual);
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.engine.act(&operator, happened(work.id, view.version, "msg_1")).await.unwrap();
    assert_eq!(flow.step("mail").await, "succeeded", "in the transaction of the decision");
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    for step in ["mail", "charge", "publish"] {
        assert_eq!(flow.effects(step), 1, "{step}");
    }
    flow.leaves_a_clean_slate().await;
}

#[tokio::test]
async fn a_crash_after_the_checkpoint_goes_on_behind_it_in_another_process() {
    let fixture = stage(vec![line()]).await;
    let mut flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    flow.carry_out(&work, FinishOutcome::Done).await;
    let before = flow.view().await;
    // The process dies here; another has never heard of the workflow.
    flow.engine = with(&fixture.db, vec![line()]).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    let after = flow.view().await;
    assert_eq!(before.steps[0], after.steps[0], "step and artifacts as they were");
    assert_eq!(flow.effects("mail"), 1);
}

#[tokio::test]
async fn a_former_owner_changes_nothing() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.turn().await;
    let paused = flow.claim().await.remove(0);
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    let taken = flow.claim().await.remove(0);
    assert_eq!(taken.id, paused.id);
    let late = ended(&paused, FinishOutcome::Rejected);
    let kept = fixture.engine.finish(&fixture.service, paused.id, late).await.unwrap();
    assert!(matches!(kept, engine::Finished::LateEvidenceKept { .. }));
    assert_eq!(flow.step("mail").await, "running");
    flow.carry_out(&taken, FinishOutcome::Done).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(flow.effects("mail"), 1);
}

#[tokio::test]
async fn the_step_and_its_operation_end_together_or_not_at_all() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    flow.do_effect(&work).await;
    // The checkpoint cannot be written: the operation must not end without it.
    let refuse =
        "alter table workflow_artifacts add constraint no_artifact check (false) not valid";
    sqlx::query(refuse).execute(fixture.pool()).await.unwrap();
    let end = ended(&work, FinishOutcome::Done);
    fixture.engine.finish(&fixture.service, work.id, end.clone()).await.unwrap_err();
    assert_eq!(fixture.status(work.id).await, "executing");
    assert_eq!(flow.step("mail").await, "running");
    let allow = "alter table workflow_artifacts drop constraint no_artifact";
    sqlx::query(allow).execute(fixture.pool()).await.unwrap();
    fixture.engine.finish(&fixture.service, work.id, end).await.unwrap();
    assert_eq!(fixture.status(work.id).await, "succeeded");
    assert_eq!(flow.step("mail").await, "succeeded");
    assert_eq!(fixture.count("select count(*) from workflow_artifacts").await, 1);
}
