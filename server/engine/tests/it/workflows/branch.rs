//! Decisions: taken once, stored as an artifact, and the branch that is not taken is skipped (S8).

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use engine::{
    FinishOutcome,
    workflows::{CAMPAIGN_AGENT, Definition, Step, campaign_agent},
};
use serde_json::{Value, json};

use super::{
    four_ways::Subject,
    support::{Flow, all_done, effect, input, stage, with},
};

fn agent() -> Definition {
    campaign_agent().unwrap()
}

fn campaign(hold_words: &Value) -> Value {
    json!({
        "campaign_id": "CMP-1", "recipient_id": "R-1", "topic": "prices",
        "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR",
        "document_id": "DOC-1", "version": 1, "hold_words": hold_words,
    })
}

#[tokio::test]
async fn the_agent_sends_runs_four_ways_and_asks_the_model_once() {
    let effects = ["draft", "mail", "charge", "publish"];
    let input = campaign(&json!([]));
    let subject = Subject { definition: agent, input, effects: &effects, skipped: &[] };
    subject.runs_four_ways(async |_, _| {}).await;
}

#[tokio::test]
async fn the_agent_holds_a_draft_that_must_not_go_out_and_skips_the_rest() {
    let skipped = ["mail", "charge", "publish"];
    let input = campaign(&json!(["customer"]));
    let subject = Subject { definition: agent, input, effects: &["draft"], skipped: &skipped };
    subject.runs_four_ways(async |_, _| {}).await;
}

#[tokio::test]
async fn what_the_model_said_reaches_the_steps_behind_it_byte_for_byte() {
    let fixture = stage(vec![agent()]).await;
    let mut flow = Flow::start(&fixture, CAMPAIGN_AGENT, "k", &campaign(&json!([]))).await;
    flow.turn().await;
    let drafting = flow.claim().await.remove(0);
    assert_eq!(drafting.operation, "draft.generate");
    flow.carry_out(&drafting, FinishOutcome::Done).await;
    let response = async |flow: &Flow<'_>| {
        flow.engine.artifact(&fixture.service, flow.id, "draft", "response").await.unwrap()
    };
    let first = response(&flow).await;
    // Another process carries on: the model is not asked, its answer is read.
    flow.engine = with(&fixture.db, vec![agent()]).await;
    flow.turn().await;
    assert_eq!(response(&flow).await, first);
    let decision = flow.engine.artifact(&fixture.service, flow.id, "decide", "decision").await;
    assert_eq!(decision.unwrap().body, b"send");
    let text: Value = serde_json::from_slice(&first.body).unwrap();
    for work in flow.claim().await {
        let payload: Value = serde_json::from_slice(&work.payload).unwrap();
        if work.operation == "campaign.send" {
            assert_eq!(payload["text"], text["text"]);
        }
        flow.carry_out(&work, FinishOutcome::Done).await;
    }
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
    assert_eq!(flow.effects("draft"), 1, "one call of the model");
    assert_eq!(response(&flow).await, first);
}

#[tokio::test]
async fn a_decision_is_taken_once_however_often_the_workflow_is_carried_on() {
    let asked = Arc::new(AtomicUsize::new(0));
    let definition = || {
        let counts = Arc::clone(&asked);
        Definition::of("choice", 1)
            .step(
                "choose",
                Step::decision(
                    &["left", "right"],
                    |context| Ok(context.input().clone()),
                    // Another answer each time: only the first may count.
                    move |_| match counts.fetch_add(1, Ordering::Relaxed) {
                        0 => "left".into(),
                        _ => "right".into(),
                    },
                ),
            )
            .step("mail", effect("campaign.send").when("choose", "left"))
            .step("charge", effect("invoice.charge").when("choose", "right"))
            .step("publish", effect("document.publish").after(&["mail", "charge"]))
            .build()
            .unwrap()
    };
    let fixture = stage(vec![definition()]).await;
    let mut flow = Flow::start(&fixture, "choice", "k", &input()).await;
    for _ in 0..3 {
        flow.engine = with(&fixture.db, vec![definition()]).await;
        flow.turn().await;
        for work in flow.claim().await {
            flow.carry_out(&work, FinishOutcome::Done).await;
        }
    }
    assert_eq!(flow.status().await, "completed");
    assert_eq!(asked.load(Ordering::Relaxed), 1);
    assert_eq!(flow.step("mail").await, "succeeded");
    assert_eq!(flow.step("charge").await, "skipped");
    assert_eq!(flow.step("publish").await, "succeeded", "a skipped step lets others start");
}

#[tokio::test]
async fn what_hangs_on_a_skipped_decision_is_skipped_too() {
    let choose = |says: &'static str| {
        Step::decision(&["yes", "no"], |_| Ok(json!({})), move |_| says.to_owned())
    };
    let definition = Definition::of("nested", 1)
        .step("outer", choose("no"))
        .step("inner", choose("yes").when("outer", "yes"))
        .step("mail", effect("campaign.send").when("inner", "yes"))
        .build()
        .unwrap();
    let fixture = stage(vec![definition]).await;
    let flow = Flow::start(&fixture, "nested", "k", &input()).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "completed", "decisions need no executor outside");
    assert_eq!(flow.step("inner").await, "skipped");
    assert_eq!(flow.step("mail").await, "skipped");
    flow.leaves_a_clean_slate().await;
}

#[tokio::test]
async fn a_decision_that_is_no_option_blocks_and_is_not_stored() {
    let definition = Definition::of("lost", 1)
        .step("choose", Step::decision(&["yes"], |_| Ok(json!({})), |_| "perhaps".to_owned()))
        .build()
        .unwrap();
    let fixture = stage(vec![definition]).await;
    let flow = Flow::start(&fixture, "lost", "k", &input()).await;
    flow.turn().await;
    assert_eq!(flow.status().await, "blocked");
    assert!(flow.view().await.cause.unwrap().contains("perhaps"));
    assert_eq!(fixture.count("select count(*) from workflow_artifacts").await, 0);
}
