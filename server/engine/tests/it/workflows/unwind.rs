//! Ends before the end: what has not begun is cancelled, what may have happened is never called
//! failed, and no step starts any more (S9, W8, W9).

use std::time::Duration;

use domain::problem::Code;
use engine::{FinishOutcome, workflows::Definition};
use testkit::within;

use super::support::{Flow, effect, ended, input, line, stage, step_of};
use crate::fixture::code;

/// Three effects beside each other.
fn fan() -> Definition {
    Definition::of("fan", 1)
        .step("mail", effect("campaign.send"))
        .step("charge", effect("invoice.charge"))
        .step("publish", effect("document.publish"))
        .step("last", effect("campaign.send").after(&["mail", "charge", "publish"]))
        .build()
        .unwrap()
}

async fn cancel(flow: &Flow<'_>) -> String {
    let cancelled =
        flow.engine.cancel_workflow(&flow.fixture.service, flow.id, "not wanted").await.unwrap();
    cancelled.status.to_string()
}

#[tokio::test]
async fn a_workflow_cancelled_before_anything_began_is_cancelled() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    assert_eq!(cancel(&flow).await, "cancelled");
    assert_eq!(cancel(&flow).await, "cancelled", "asked again, the same answer");
    assert_eq!(flow.turn().await, 0);
    for (step, status) in flow.steps().await {
        assert_eq!(status, "cancelled", "{step}");
    }
    let told = "select count(*) from outbox where topic = 'workflow.cancelled'";
    assert_eq!(fixture.count(told).await, 1);
    flow.leaves_a_clean_slate().await;
}

#[tokio::test]
async fn what_has_not_begun_is_cancelled_and_what_is_under_way_is_waited_for() {
    let fixture = stage(vec![fan()]).await;
    let flow = Flow::start(&fixture, "fan", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await;
    let of = |key: &str| work.iter().find(|work| step_of(work) == key).unwrap();
    flow.do_effect(of("mail")).await;
    flow.carry_out(of("charge"), FinishOutcome::NotDone).await;
    assert_eq!(cancel(&flow).await, "compensating");
    assert_eq!(flow.step("mail").await, "running", "its call is under way");
    assert_eq!(flow.step("charge").await, "cancelled", "it is not tried again");
    assert_eq!(flow.step("publish").await, "cancelled", "its holder may not start any more");
    assert_eq!(flow.step("last").await, "cancelled");
    let held = of("publish");
    let start = flow.engine.start(&fixture.service, held.id, held.fence).await;
    assert_eq!(code(start), Code::FenceLost);
    flow.end(of("mail"), FinishOutcome::Done).await;
    assert_eq!(flow.step("mail").await, "succeeded", "a late success joins what is undone");
    fixture.db.advance_clock(Duration::from_secs(3600)).await;
    assert_eq!(flow.turn().await, 0, "compensation's now");
    assert!(flow.claim().await.is_empty(), "and nothing starts");
    assert_eq!(fixture.count("select count(*) from workflows where next_at is not null").await, 1);
}

#[tokio::test]
async fn a_call_that_fails_while_the_workflow_is_undone_is_not_tried_again() {
    let fixture = stage(vec![fan()]).await;
    let flow = Flow::start(&fixture, "fan", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await;
    let of = |key: &str| work.iter().find(|work| step_of(work) == key).unwrap();
    flow.carry_out(of("charge"), FinishOutcome::Done).await;
    flow.do_effect(of("mail")).await;
    flow.carry_out(of("publish"), FinishOutcome::Rejected).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "compensating");
    let end = ended(of("mail"), FinishOutcome::NotDone);
    fixture.engine.finish(&fixture.service, of("mail").id, end).await.unwrap();
    assert_eq!(fixture.status(of("mail").id).await, "failed_terminal");
    assert_eq!(flow.step("mail").await, "cancelled");
    fixture.db.advance_clock(Duration::from_secs(3600)).await;
    assert!(flow.claim().await.is_empty());
}

#[tokio::test]
async fn a_step_in_doubt_stays_in_doubt_while_the_workflow_is_undone() {
    let fixture = stage(vec![fan()]).await;
    let flow = Flow::start(&fixture, "fan", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await;
    let of = |key: &str| work.iter().find(|work| step_of(work) == key).unwrap();
    flow.carry_out(of("mail"), FinishOutcome::Ambiguous).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "waiting");
    flow.carry_out(of("charge"), FinishOutcome::Rejected).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "compensating");
    assert_eq!(flow.step("mail").await, "blocked_unknown", "never failed, never cancelled");
    assert_eq!(flow.step("publish").await, "cancelled");
}

#[tokio::test]
async fn a_cancel_races_a_turn_and_one_of_them_waits() {
    for round in 0..10 {
        let fixture = stage(vec![fan()]).await;
        let flow = Flow::start(&fixture, "fan", "k", &input()).await;
        let (engine, service, id) = (flow.engine.clone(), fixture.service.clone(), flow.id);
        let turn = tokio::spawn(async move { engine.advance_workflows().await });
        if round % 2 == 0 {
            tokio::task::yield_now().await;
        }
        let cancelled = flow.engine.cancel_workflow(&service, id, "not wanted").await.unwrap();
        within("the turn ends", Duration::from_secs(30), turn).await.unwrap().unwrap();
        assert!(flow.claim().await.is_empty(), "nothing begins behind the cancel");
        for (step, status) in flow.steps().await {
            assert_eq!(status, "cancelled", "{step}, {}", cancelled.status);
        }
    }
}

#[tokio::test]
async fn a_workflow_that_is_over_is_not_cancelled() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.drive(&super::support::all_done).await;
    let cancelled = flow.engine.cancel_workflow(&fixture.service, flow.id, "too late").await;
    assert_eq!(code(cancelled), Code::NotAllowedInState);
    assert_eq!(flow.status().await, "completed");
}
