//! Evidence of Done stops whatever would repeat or deny the effect, and only proof or a person
//! leaves *unknown*.

use std::time::Duration;

use domain::problem::Code;
use engine::{Admission, FinishOutcome, WebhookTaken};
use hmac::{Hmac, KeyInit as _, Mac as _};

use crate::fixture::{Fixture, code, won};

fn signed(secret: &str, at: i64, body: &str) -> String {
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
    mac.update(format!("{at}.{body}").as_bytes());
    format!("t={at},v1={}", hex::encode(mac.finalize().into_bytes()))
}

async fn now(fixture: &Fixture) -> i64 {
    fixture.count("select extract(epoch from onceover_now())::bigint").await
}

pub async fn webhook(fixture: &Fixture, body: &str) -> WebhookTaken {
    deliver(fixture, "a secret of the tests", 0, body).await.unwrap()
}

/// Delivers a body signed with a secret, at an instant so many seconds from now.
pub async fn deliver(
    fixture: &Fixture,
    secret: &str,
    shift_s: i64,
    body: &str,
) -> Result<WebhookTaken, engine::EngineError> {
    let signature = signed(secret, now(fixture).await + shift_s, body);
    fixture.engine.provider_webhook("acme", "payments", &signature, body.as_bytes()).await
}

pub fn done(event: &str, key: &str, reference: &str, amount: i64) -> String {
    format!(
        r#"{{"id":"{event}","type":"charge.succeeded","provider_key":"{key}","reference":"{reference}","amount_minor":{amount},"currency":"EUR","invoice_id":"INV-1"}}"#
    )
}

#[tokio::test]
async fn a_signed_webhook_that_matches_is_proof() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let body = done("evt_1", &id.to_string(), "ch_1", 12_900);
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Proved);
    assert_eq!(fixture.status(id).await, "succeeded");
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Repeated, "one message, one effect");
    assert_eq!(fixture.count("select count(*) from evidence").await, 1);
}

#[tokio::test]
async fn a_webhook_about_another_amount_or_target_proves_nothing() {
    let fixture = Fixture::new().await;
    for (key, body) in [
        ("amount", done("evt_1", "ID", "ch_1", 1)),
        ("target", done("evt_2", "ID", "ch_1", 12_900).replace("INV-1", "INV-2")),
    ] {
        let (id, fence) = fixture.executing(key).await;
        fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        let body = body.replace("ID", &id.to_string());
        assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Kept);
        assert_eq!(fixture.status(id).await, "unknown", "{key}");
    }
    assert_eq!(
        fixture.count("select count(*) from incidents where cause = 'answer_differs'").await,
        2
    );
}

#[tokio::test]
async fn a_forged_or_stale_webhook_changes_nothing() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let body = done("evt_1", &id.to_string(), "ch_1", 12_900);
    let at = now(&fixture).await;
    let right = signed("a secret of the tests", at, &body);
    for (signature, sent) in [
        (signed("another secret", at, &body), body.clone()),
        (signed("a secret of the tests", at - 3600, &body), body.clone()),
        (signed("a secret of the tests", at + 3600, &body), body.clone()),
        (right.clone(), body.replace("12900", "12901")),
        (String::new(), body.clone()),
        ("t=1,v1=zz".into(), body.clone()),
    ] {
        let taken =
            fixture.engine.provider_webhook("acme", "payments", &signature, sent.as_bytes()).await;
        assert_eq!(code(taken), Code::Unauthenticated, "{signature}");
    }
    for (tenant, provider) in [("globex", "payments"), ("acme", "other")] {
        let taken =
            fixture.engine.provider_webhook(tenant, provider, &right, body.as_bytes()).await;
        assert_eq!(code(taken), Code::Unauthenticated);
    }
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count("select count(*) from evidence").await, 0);
}

#[tokio::test]
async fn definitely_not_done_that_the_provider_contradicts_halts_the_retry() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
    webhook(&fixture, &done("evt_1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(fixture.status(id).await, "succeeded", "a signed word that matches is the proof");
    assert_eq!(fixture.count("select count(*) from incidents where closed_at is null").await, 1);
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    assert!(
        matches!(fixture.reserve("k").await, Admission::Replayed { .. }),
        "it does not run again"
    );
}

#[tokio::test]
async fn evidence_before_the_start_stops_the_call() {
    let fixture = Fixture::new().await;
    let (id, fence) = won(fixture.reserve("k").await);
    webhook(&fixture, &done("evt_1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(fixture.status(id).await, "reserved");
    assert_eq!(code(fixture.engine.start(&fixture.service, id, fence).await), Code::FenceLost);
    assert_eq!(
        fixture.status(id).await,
        "succeeded",
        "the proof was on record; nothing was called"
    );
    assert_eq!(fixture.count("select count(*) from operations where attempt > 0").await, 0);
}

#[tokio::test]
async fn evidence_during_a_call_stands_against_its_no() {
    let fixture = Fixture::new().await;
    for (key, outcome) in
        [("rejected", FinishOutcome::Rejected), ("not-done", FinishOutcome::NotDone)]
    {
        let (id, fence) = fixture.executing(key).await;
        webhook(&fixture, &done(&format!("evt_{key}"), &id.to_string(), "ch_1", 12_900)).await;
        fixture.finish(id, fence, outcome, None).await.unwrap();
        assert_eq!(fixture.status(id).await, "succeeded", "{key}: the signed word is the proof");
    }
    let halted = "select count(*) from incidents where cause = 'done_on_record'";
    assert_eq!(fixture.count(halted).await, 2, "that it was contradicted stays open");
}

#[tokio::test]
async fn an_old_holders_word_during_a_call_turns_its_no_into_unknown() {
    let fixture = Fixture::new().await;
    let (id, first) = won(fixture.reserve("k").await);
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    let (_, second) = won(fixture.reserve("k").await);
    fixture.engine.start(&fixture.service, id, second).await.unwrap();
    fixture.finish(id, first, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    fixture.finish(id, second, FinishOutcome::NotDone, None).await.unwrap();
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count("select count(*) from operations where needs_manual").await, 1);
}

#[tokio::test]
async fn a_signed_word_that_came_during_the_call_settles_it_when_the_worker_is_lost() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.executing("k").await;
    webhook(&fixture, &done("evt_1", &id.to_string(), "ch_1", 12_900)).await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    fixture.engine.take_over_expired().await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    assert_eq!(fixture.status(id).await, "succeeded");
    let recorded = "select count(*) from operations where external_reference = 'ch_1'";
    assert_eq!(fixture.count(recorded).await, 1);
}

#[tokio::test]
async fn a_webhook_without_amount_or_of_another_provider_proves_no_payment() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let bare = format!(r#"{{"id":"evt_1","type":"charge.succeeded","provider_key":"{id}"}}"#);
    assert_eq!(webhook(&fixture, &bare).await, WebhookTaken::Kept);
    let body = done("evt_2", &id.to_string(), "ch_1", 12_900);
    let signature = signed("a secret of the mail provider", now(&fixture).await, &body);
    let mail = fixture.engine.provider_webhook("acme", "mail", &signature, body.as_bytes()).await;
    assert_eq!(mail.unwrap(), WebhookTaken::Unmatched);
    assert_eq!(fixture.status(id).await, "unknown");
}

#[tokio::test]
async fn a_reference_named_for_the_first_time_contradicts_nothing_and_a_second_one_does() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, None).await.unwrap();
    webhook(&fixture, &done("evt_1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(fixture.count("select count(*) from incidents").await, 0);
    let (id, fence) = fixture.executing("late").await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    fixture.engine.take_over_expired().await.unwrap();
    for _ in 0..2 {
        fixture.finish(id, fence, FinishOutcome::Done, Some("ch_A")).await.unwrap();
    }
    let late = "select count(*) from evidence where external_reference = 'ch_A'";
    assert_eq!(fixture.count(late).await, 1, "the same words again are one piece of evidence");
    webhook(&fixture, &done("evt_2", &id.to_string(), "ch_B", 12_900)).await;
    let suspected = "select count(*) from incidents where cause = 'double_effect_suspected'";
    assert_eq!(fixture.count(suspected).await, 1);
}

#[tokio::test]
async fn a_second_reference_is_a_double_effect_suspected_and_moves_no_state() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    webhook(&fixture, &done("evt_1", &id.to_string(), "ch_1", 12_900)).await;
    assert_eq!(fixture.count("select count(*) from incidents").await, 0, "it agrees");
    webhook(&fixture, &done("evt_2", &id.to_string(), "ch_2", 12_900)).await;
    assert_eq!(
        fixture
            .count("select count(*) from incidents where cause = 'double_effect_suspected'")
            .await,
        1
    );
    assert_eq!(fixture.status(id).await, "succeeded", "final is final");
    testkit::threat("T27", 1, 0);
}

#[tokio::test]
async fn a_webhook_about_somebody_elses_effect_is_unmatched() {
    let fixture = Fixture::new().await;
    for (event, key) in [("evt_1", "not an id"), ("evt_2", "01a2287c-c88e-7848-88ac-9331cc799376")]
    {
        assert_eq!(webhook(&fixture, &done(event, key, "ch_1", 1)).await, WebhookTaken::Unmatched);
    }
}
