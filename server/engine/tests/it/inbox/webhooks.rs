//! Providers' signed messages through the inbox: forged, stale, early, twice, out of order, after
//! the end, and under an id that means something else (F23).

use std::time::Duration;

use domain::problem::Code;
use engine::{FinishOutcome, WebhookTaken};

use crate::{
    evidence::{deliver, done, webhook},
    fixture::{Fixture, code},
};

fn rejected(event: &str, key: &str) -> String {
    done(event, key, "ch_1", 12_900).replace("succeeded", "rejected")
}

#[tokio::test]
async fn a_true_webhook_is_on_record_like_any_message_and_a_forged_one_leaves_no_trace() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let body = done("evt_1", &id.to_string(), "ch_1", 12_900);
    for (secret, shift) in [("another secret", 0), ("a secret of the tests", -302)] {
        let taken = deliver(&fixture, secret, shift, &body).await;
        assert_eq!(code(taken), Code::Unauthenticated);
    }
    assert_eq!(fixture.messages().await, 0);
    assert_eq!(fixture.count("select count(*) from inbox_failures").await, 0);
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Proved);
    let row =
        "select count(*) from inbox where consumer = 'provider:payments' and source = 'payments'
        and message_id = 'evt_1' and status = 'processed' and operation_id is not null";
    assert_eq!(fixture.count(row).await, 1);
}

#[tokio::test]
async fn fifty_deliveries_of_a_webhook_are_one_piece_of_evidence() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let body = done("evt_1", &id.to_string(), "ch_1", 12_900);
    let taken = futures_util::future::join_all((0..50).map(|_| webhook(&fixture, &body))).await;
    let count = |wanted| taken.iter().filter(|taken| **taken == wanted).count();
    assert_eq!((count(WebhookTaken::Proved), count(WebhookTaken::Repeated)), (1, 49));
    assert_eq!(fixture.count("select count(*) from evidence").await, 1);
    assert_eq!(fixture.status(id).await, "succeeded");
}

#[tokio::test]
async fn before_our_own_commit_it_is_kept_and_proves_as_soon_as_the_outcome_is_unknown() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let body = done("evt_1", &id.to_string(), "ch_1", 12_900);
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Kept);
    assert_eq!(fixture.status(id).await, "executing");
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Repeated);
    assert_eq!(fixture.status(id).await, "succeeded");
    assert_eq!(fixture.count("select count(*) from incidents").await, 0);
}

#[tokio::test]
async fn out_of_order_a_rejection_never_undoes_what_was_proved() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let key = id.to_string();
    assert_eq!(webhook(&fixture, &done("evt_2", &key, "ch_1", 12_900)).await, WebhookTaken::Proved);
    assert_eq!(webhook(&fixture, &rejected("evt_1", &key)).await, WebhookTaken::Kept);
    assert_eq!(fixture.status(id).await, "succeeded");
    let open =
        "select count(*) from incidents where cause = 'outcome_contradicted' and closed_at is null";
    assert_eq!(fixture.count(open).await, 1, "a person looks at it");
}

#[tokio::test]
async fn an_events_id_with_another_body_is_refused_and_both_are_kept() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    let body = done("evt_1", &id.to_string(), "ch_1", 1);
    assert_eq!(webhook(&fixture, &body).await, WebhookTaken::Kept);
    let other = done("evt_1", &id.to_string(), "ch_1", 12_900);
    let taken = deliver(&fixture, "a secret of the tests", 0, &other).await;
    assert_eq!(code(taken), Code::MessageReused);
    assert_eq!(fixture.status(id).await, "unknown", "a body under a used id proves nothing");
    assert_eq!(fixture.count("select count(*) from inbox_conflicts").await, 1);
    assert_eq!(fixture.count("select count(*) from evidence").await, 1);
}

#[tokio::test]
async fn after_the_tombstone_it_is_kept_and_wakes_nothing() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(Duration::from_secs(2 * 86_400)).await;
    fixture.engine.expire_due().await.unwrap();
    let stone = "select count(*) from operations where tombstoned_at is not null";
    assert_eq!(fixture.count(stone).await, 1);
    let key = id.to_string();
    assert_eq!(webhook(&fixture, &done("evt_1", &key, "ch_1", 12_900)).await, WebhookTaken::Kept);
    assert_eq!(fixture.count("select count(*) from incidents").await, 0, "it agrees");
    assert_eq!(webhook(&fixture, &rejected("evt_2", &key)).await, WebhookTaken::Kept);
    assert_eq!(fixture.count("select count(*) from incidents where closed_at is null").await, 1);
    assert_eq!(fixture.status(id).await, "succeeded", "final is final");
    assert_eq!(fixture.count(stone).await, 1);
}

#[tokio::test]
async fn a_body_that_cannot_be_read_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    for body in ["", "[]", "{}", r#"{"id":"","type":"a","provider_key":"k"}"#] {
        let taken = deliver(&fixture, "a secret of the tests", 0, body).await;
        let code = code(taken);
        assert!(matches!(code, Code::RequestInvalid | Code::Unprocessable), "{body}: {code}");
    }
    assert_eq!(fixture.messages().await, 0);
}
