//! Each fault mode: what the caller sees, and what the ledger says.

use std::time::{Duration, Instant};

use sandbox::{
    EffectKind,
    client::{Call, Outcome},
    providers::{Mode, Modes, Rule},
};
use serde_json::json;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{DEADLINE, Folder, Running, charge_body, eventually};

/// One charge under one rule: the call and the number of ledger lines.
async fn under(rule: Rule) -> (Call, usize) {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(rule).await;
    let call = sandbox.charge("op-1", "INV-1", 12_900).await;
    let lines = sandbox.ledger("invoice_id", "INV-1").await.len();
    sandbox.stop().await;
    (call, lines)
}

fn status(call: &Call) -> Option<u16> {
    call.answer.as_ref().map(|answer| answer.status)
}

#[tokio::test]
async fn normal_charges_and_names_what_it_charged() {
    let (call, lines) = under(Rule::always(Mode::Normal)).await;
    assert_eq!((call.outcome, lines, status(&call)), (Outcome::Done, 1, Some(201)));
    assert!(call.reference.as_deref().is_some_and(|id| id.starts_with("ch_")));
    assert_eq!((call.amount_minor, call.currency.as_deref()), (Some(12_900), Some("EUR")));
}

#[tokio::test]
async fn apply_drop_charges_and_the_caller_knows_nothing() {
    let (call, lines) = under(Rule::always(Mode::ApplyDrop)).await;
    assert_eq!((call.outcome, lines, status(&call)), (Outcome::Ambiguous, 1, None));
}

#[tokio::test]
async fn apply_drop_lets_no_byte_of_a_reply_out() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::once(Mode::ApplyDrop)).await;
    let body = charge_body("INV-1", 500).to_string();
    let request = format!(
        "POST /payments/charges HTTP/1.1\r\nhost: x\r\nidempotency-key: op-1\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let mut wire = TcpStream::connect(sandbox.address).await.expect("connects");
    wire.write_all(request.as_bytes()).await.expect("sends");
    let mut seen = Vec::new();
    let read = tokio::time::timeout(DEADLINE, wire.read_to_end(&mut seen))
        .await
        .expect("the connection ends");
    let error = read.expect_err("the connection is reset, not closed in good order");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
    assert!(seen.is_empty());
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_500_with_and_without_effect_look_the_same() {
    let (applied, one) = under(Rule::always(Mode::Apply500)).await;
    let (failed, none) = under(Rule::always(Mode::Fail500)).await;
    assert_eq!((one, none), (1, 0));
    assert_eq!(applied, failed);
    assert_eq!(applied.outcome, Outcome::Ambiguous);
}

#[tokio::test]
async fn reject_and_throttle_do_nothing_and_say_so() {
    let (rejected, none) = under(Rule::always(Mode::Reject { code: "card_declined".into() })).await;
    assert_eq!((rejected.outcome, status(&rejected), none), (Outcome::Rejected, Some(402), 0));
    let body = rejected
        .answer
        .map(|answer| String::from_utf8_lossy(&answer.body).into_owned())
        .unwrap_or_default();
    assert!(body.contains(r#""code":"card_declined""#), "{body}");
    let (throttled, none) = under(Rule::always(Mode::Throttle)).await;
    assert_eq!((throttled.outcome, status(&throttled), none), (Outcome::NotDone, Some(429), 0));
}

#[tokio::test]
async fn what_is_charged_already_cannot_be_declined() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let first = sandbox.charge("op-1", "INV-1", 500).await;
    sandbox.rule(Rule::always(Mode::Reject { code: "card_declined".into() })).await;
    let again = sandbox.charge("op-1", "INV-1", 500).await;
    assert_eq!(again.reference, first.reference);
    sandbox.stop().await;
}

#[tokio::test]
async fn slow_charges_although_the_caller_has_left() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::once(Mode::Slow { ms: 300 })).await;
    let begun = Instant::now();
    let call = sandbox.charge_within("op-1", "INV-1", 500, Duration::from_millis(50)).await;
    assert_eq!(call.outcome, Outcome::Ambiguous);
    assert!(begun.elapsed() < Duration::from_millis(300), "the caller left first");
    eventually("the charge after the caller left", async || {
        (sandbox.ledger("key", "op-1").await.len() == 1).then_some(())
    })
    .await;
    sandbox.stop().await;
}

#[tokio::test]
async fn hang_charges_and_never_answers() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::once(Mode::Hang)).await;
    let call = sandbox.charge_within("op-1", "INV-1", 500, Duration::from_millis(200)).await;
    assert_eq!((call.outcome, call.answer), (Outcome::Ambiguous, None));
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 1);
    // An open hanging call does not keep the sandbox from stopping.
    sandbox.rule(Rule::once(Mode::Hang)).await;
    let hanging = tokio::spawn({
        let provider = sandbox.provider.clone();
        async move {
            provider.call(EffectKind::Charge, "op-2", &charge_body("INV-2", 1), DEADLINE).await
        }
    });
    eventually("the second charge", async || {
        (sandbox.ledger("key", "op-2").await.len() == 1).then_some(())
    })
    .await;
    sandbox.stop().await;
    assert_eq!(hanging.await.expect("no panic").outcome, Outcome::Ambiguous);
}

#[tokio::test]
async fn answers_that_are_hard_to_read_charge_all_the_same() {
    let (garbage, one) = under(Rule::always(Mode::Garbage)).await;
    assert_eq!((garbage.outcome, status(&garbage), one), (Outcome::Ambiguous, Some(200), 1));

    let (nul, one) = under(Rule::always(Mode::Nul)).await;
    let body =
        nul.answer.as_ref().map(|answer| String::from_utf8_lossy(&answer.body)).unwrap_or_default();
    assert!(body.contains(r"\u0000"), "{body}");
    assert_eq!((nul.outcome, one), (Outcome::Done, 1));

    let (huge, one) = under(Rule::always(Mode::Huge)).await;
    assert!(huge.answer.as_ref().is_some_and(|answer| answer.body.len() > 5 * 1024 * 1024));
    assert_eq!((huge.outcome, one), (Outcome::Done, 1));
}

#[tokio::test]
async fn wrong_amount_lies_to_the_caller_and_not_to_the_ledger() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::always(Mode::WrongAmount)).await;
    let call = sandbox.charge("op-1", "INV-1", 12_900).await;
    assert_eq!(call.amount_minor, Some(13_000));
    let line = sandbox.ledger("key", "op-1").await.remove(0);
    assert_eq!(line["amount_minor"], json!(12_900));
    sandbox.stop().await;
}

#[tokio::test]
async fn another_recipient_in_the_answer_proves_nothing() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let modes = Modes::one(EffectKind::Mail.provider(), Rule::always(Mode::WrongAmount));
    sandbox.rules(&modes).await;
    let body = json!({ "campaign_id": "spring", "recipient_id": "rcp-1" });
    let call = sandbox.provider.call(EffectKind::Mail, "op-1", &body, DEADLINE).await;
    assert_eq!(call.outcome, Outcome::Ambiguous);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_refused_connection_is_the_one_failure_that_proves_absence() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let provider = sandbox.provider.clone();
    sandbox.stop().await;
    let call =
        provider.call(EffectKind::Charge, "op-1", &charge_body("INV-1", 500), DEADLINE).await;
    assert_eq!(call.outcome, Outcome::NotDone);
}

#[tokio::test]
async fn rules_meet_whom_they_name_as_often_as_they_say() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let rules = json!({ "payments": [
        { "match": { "kind": "charge", "key": "op-shielded" }, "mode": "normal" },
        { "match": { "reference_prefix": "INV-BAD" }, "mode": "fail_500", "times": 2 },
    ] });
    sandbox.rules(&serde_json::from_value(rules).expect("valid rules")).await;
    assert_eq!(sandbox.charge("op-shielded", "INV-BAD-1", 5).await.outcome, Outcome::Done);
    assert_eq!(sandbox.charge("op-other", "INV-GOOD", 5).await.outcome, Outcome::Done);
    for outcome in [Outcome::Ambiguous, Outcome::Ambiguous, Outcome::Done] {
        assert_eq!(sandbox.charge("op-bad", "INV-BAD-2", 5).await.outcome, outcome);
    }
    let (_, left) = sandbox.get("/modes").await;
    assert_eq!(
        left,
        json!({ "payments": [{ "match": { "kind": "charge", "key": "op-shielded" }, "mode": "normal" }] })
    );
    sandbox.control.clear().await.expect("cleared");
    assert_eq!(sandbox.get("/modes").await.1, json!({}));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_rule_with_a_typo_is_refused_by_name() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let response = sandbox
        .http
        .put(format!("{}/modes", sandbox.url))
        .json(&json!({ "payments": [{ "mode": "aply_drop" }] }))
        .send()
        .await
        .expect("an answer");
    assert_eq!(response.status(), 400);
    assert!(response.text().await.expect("a body").contains("unknown mode"));
    sandbox.stop().await;
}
