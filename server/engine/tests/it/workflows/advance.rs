//! Turns: what is ready is started, once, whoever comes by and however often.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use engine::{
    FinishOutcome,
    workflows::{Definition, Step},
};
use serde_json::json;
use testkit::eventually;

use super::{
    four_ways::Subject,
    support::{Flow, all_done, effect, input, line, stage, step_of, with},
};

/// Mail and charge beside each other, then publish.
fn parallel() -> Definition {
    Definition::of("parallel", 1)
        .step("draft", effect("draft.generate"))
        .step("mail", effect("campaign.send").after(&["draft"]))
        .step("charge", effect("invoice.charge").after(&["draft"]))
        .step("publish", effect("document.publish").after(&["mail", "charge"]))
        .build()
        .unwrap()
}

#[tokio::test]
async fn a_line_of_steps_runs_four_ways() {
    let effects = ["mail", "charge", "publish"];
    let subject = Subject { definition: line, input: input(), effects: &effects, skipped: &[] };
    subject
        .runs_four_ways(async |flow, failed| {
            let expected = if failed == "mail" { "failed" } else { "compensating" };
            assert_eq!(flow.status().await, expected, "{failed}");
        })
        .await;
}

#[tokio::test]
async fn steps_beside_each_other_run_four_ways() {
    let effects = ["draft", "mail", "charge", "publish"];
    let subject = Subject { definition: parallel, input: input(), effects: &effects, skipped: &[] };
    subject.runs_four_ways(async |_, _| {}).await;
}

#[tokio::test]
async fn a_step_waits_for_all_that_it_comes_after() {
    let fixture = stage(vec![parallel()]).await;
    let flow = Flow::start(&fixture, "parallel", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await;
    assert_eq!(work.iter().map(step_of).collect::<Vec<_>>(), ["draft"]);
    flow.carry_out(&work[0], FinishOutcome::Done).await;
    flow.turn().await;
    let mut both = flow.claim().await;
    both.sort_by_key(|work| work.key.clone());
    assert_eq!(both.iter().map(step_of).collect::<Vec<_>>(), ["charge", "mail"]);
    flow.carry_out(&both[0], FinishOutcome::Done).await;
    flow.turn().await;
    assert!(flow.claim().await.is_empty(), "the mail is not out yet");
    assert_eq!(flow.step("publish").await, "pending");
    flow.carry_out(&both[1], FinishOutcome::Done).await;
    flow.turn().await;
    assert_eq!(flow.claim().await.len(), 1);
    let view = flow.view().await;
    let seqs: Vec<_> = view.steps.iter().map(|step| step.completed_seq).collect();
    assert_eq!(seqs, [Some(1), Some(3), Some(2), None], "in the order in which they ended");
}

#[tokio::test]
async fn twenty_executors_of_two_processes_start_each_step_once() {
    let fixture = stage(vec![parallel()]).await;
    let flow = Flow::start(&fixture, "parallel", "k", &input()).await;
    let other = with(&fixture.db, vec![parallel()]).await;
    for _ in 0..4 {
        let turns = (0..20).map(|n| {
            let engine = if n % 2 == 0 { flow.engine.clone() } else { other.clone() };
            tokio::spawn(async move { engine.advance_workflows().await.unwrap().handled })
        });
        let mut handled = 0;
        for turn in turns.collect::<Vec<_>>() {
            handled += turn.await.unwrap();
        }
        assert_eq!(handled, 1, "one turn; the losers park");
        for work in flow.claim().await {
            flow.carry_out(&work, FinishOutcome::Done).await;
        }
    }
    assert_eq!(flow.status().await, "completed");
    assert_eq!(fixture.count("select count(*) from operations").await, 4);
    for step in ["draft", "mail", "charge", "publish"] {
        assert_eq!(flow.effects(step), 1, "{step}");
    }
}

#[tokio::test]
async fn an_executor_that_dies_within_its_turn_leaves_nothing_of_it() {
    let fixture = stage(vec![parallel()]).await;
    let flow = Flow::start(&fixture, "parallel", "k", &input()).await;
    let mut gate = fixture.pool().begin().await.unwrap();
    sqlx::query("lock table workflow_steps in share mode").execute(&mut *gate).await.unwrap();
    let engine = flow.engine.clone();
    let dying = tokio::spawn(async move { engine.advance_workflows().await });
    let waiting = "select count(*) from pg_stat_activity where datname = current_database()
        and wait_event_type = 'Lock' and query like 'update workflow_steps%'";
    eventually("the turn waits at its step", Duration::from_secs(10), async || {
        fixture.count(waiting).await == 1
    })
    .await;
    let other = with(&fixture.db, vec![parallel()]).await;
    assert_eq!(other.advance_workflows().await.unwrap().handled, 0, "the loser parks");
    sqlx::query(
        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
           and wait_event_type = 'Lock' and query like 'update workflow_steps%'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    dying.await.unwrap().unwrap_err();
    gate.rollback().await.unwrap();
    assert_eq!(fixture.count("select count(*) from operations").await, 0);
    assert_eq!(fixture.count("select count(*) from workflows where fence = 1").await, 1);
    assert_eq!(other.advance_workflows().await.unwrap().handled, 1, "another takes its place");
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(flow.effects("draft"), 1);
}

#[tokio::test]
async fn a_call_that_fails_for_now_is_the_same_step_again() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.turn().await;
    let work = flow.claim().await;
    flow.carry_out(&work[0], FinishOutcome::NotDone).await;
    assert_eq!(flow.step("mail").await, "waiting_retry");
    flow.turn().await;
    assert!(flow.claim().await.is_empty(), "not before its time");
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    let again = flow.claim().await;
    assert_eq!(again[0].id, work[0].id, "the same operation");
    assert_eq!(flow.step("mail").await, "running");
    flow.carry_out(&again[0], FinishOutcome::Done).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(flow.effects("mail"), 1);
}

#[tokio::test]
async fn a_function_that_cannot_make_its_input_blocks_one_workflow_and_no_other() {
    let asked = Arc::new(AtomicUsize::new(0));
    let counts = Arc::clone(&asked);
    let broken = Definition::of("broken", 1)
        .step(
            "mail",
            Step::operation("campaign.send", move |context| {
                counts.fetch_add(1, Ordering::Relaxed);
                match context.required("/how")?.as_str() {
                    Some("panic") => panic!("a fault of the definition"),
                    Some("charge") => Ok(json!([1])),
                    _ => Err("it has no recipient".into()),
                }
            }),
        )
        .build()
        .unwrap();
    let fixture = stage(vec![broken, line()]).await;
    for (how, cause) in [("panic", "panicked"), ("refuse", "no recipient"), ("none", "recipient")] {
        let flow = Flow::start(&fixture, "broken", how, &json!({ "how": how })).await;
        flow.turn().await;
        assert_eq!(flow.status().await, "blocked");
        assert!(flow.view().await.cause.unwrap().contains(cause));
        assert_eq!(flow.turn().await, 0, "a person's now");
    }
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(asked.load(Ordering::Relaxed), 3);
}

#[tokio::test]
async fn a_payload_that_its_kind_refuses_blocks_the_workflow_and_says_why() {
    let fixture = stage(vec![line()]).await;
    // A charge needs an amount.
    let flow = Flow::start(&fixture, "line", "k", &json!({ "invoice_id": "INV-1" })).await;
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "blocked");
    let view = flow.view().await;
    assert!(view.cause.as_deref().unwrap().contains("amount"), "{:?}", view.cause);
    assert_eq!(flow.step("mail").await, "succeeded", "what happened stays known");
    assert_eq!(flow.step("charge").await, "pending");
}
