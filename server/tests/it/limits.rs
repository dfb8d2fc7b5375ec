//! A limit that is configured lower is honoured at every door, and the refusal names it.

use std::time::Duration;

use app::error::Field;
use axum::http::StatusCode;
use domain::{action::MAX_REASON_CHARS, problem::Code};
use serde_json::{Value, json};

use crate::{
    support::{Answer, Stage},
    v1_answers::finish,
};

/// Refused by a code, in words that name the limit.
fn names(answer: &Answer, code: Code, words: &str) {
    answer.refused(code);
    let detail = answer.json()["detail"].clone();
    assert!(detail.as_str().is_some_and(|detail| detail.contains(words)), "{detail}: {words}");
}

fn reservation(key: &str, note: &Value) -> Value {
    json!({
        "operation": "invoice.charge",
        "key": key,
        "payload": { "invoice_id": "I", "amount_minor": 1, "currency": "EUR", "note": note },
    })
}

#[tokio::test]
async fn lower_limits_of_keys_payloads_and_answers_are_honoured_and_named() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_MAX_KEY_CHARS", "64"),
        ("ONCEOVER_MAX_PAYLOAD_BYTES", "1024"),
        ("ONCEOVER_MAX_PAYLOAD_DEPTH", "4"),
        ("ONCEOVER_MAX_ANSWER_BYTES", "1024"),
    ])
    .await;
    let service = stage.service("acme").await;
    let long = service.reserve(&"é".repeat(65), 1).await;
    names(&long, Code::KeyInvalid, "has 65 characters; the limit is 64");
    let large = service.post("/operations", &reservation("k", &json!("x".repeat(1024)))).await;
    names(&large, Code::PayloadInvalid, "the limit is 1024 bytes");
    let deep = service.post("/operations", &reservation("k", &json!([[[[1]]]]))).await;
    names(&deep, Code::PayloadInvalid, "nested deeper than 4 levels");
    service
        .post("/operations", &reservation("k", &json!([[[1]]])))
        .await
        .expect(StatusCode::CREATED);

    let key = "é".repeat(64);
    let won = service.reserve(&key, 1).await;
    won.expect(StatusCode::CREATED);
    let done = json!({
        "outcome": "done",
        "external_reference": "ch_1",
        "response": { "content_type": "text/plain", "body": "x".repeat(1025) },
    });
    finish(&service, &won, done).await.expect(StatusCode::OK);
    let replay = service.reserve(&key, 1).await;
    replay.expect(StatusCode::OK);
    assert_eq!(replay.body.len(), 1024);
    assert_eq!(replay.header("onceover-answer-cut"), "true");
}

#[tokio::test]
async fn a_deeper_payload_is_taken_and_read_back_where_the_limit_is_raised() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_PAYLOAD_DEPTH", "128")]).await;
    let service = stage.service("acme").await;
    let note = (0..127).fold(json!(1), |inner, _| json!([inner]));
    let won = service.post("/operations", &reservation("k", &note)).await;
    won.expect(StatusCode::CREATED);
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let viewer = stage.staff("viewer@acme.test").await;
    let detail = viewer.get(&format!("/operations/{id}")).await;
    detail.expect(StatusCode::OK);
    assert!(detail.text().contains("invoice_id"));
    let over = service.post("/operations", &reservation("l", &json!([note]))).await;
    names(&over, Code::PayloadInvalid, "nested deeper than 128 levels");
}

#[tokio::test]
async fn lower_limits_of_bodies_are_honoured_and_named() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_MAX_FORM_BYTES", "16384"),
        ("ONCEOVER_MAX_API_BODY_BYTES", "20000"),
        ("ONCEOVER_MAX_FINISH_BODY_BYTES", "30000"),
    ])
    .await;
    let browser = stage.browser("operator@acme.test").await;
    let large = "x".repeat(16_384);
    let page = browser.post("/act/records/note", &[("text", large.as_str())]).await;
    page.expect(StatusCode::PAYLOAD_TOO_LARGE);
    assert!(page.text().contains("The limit here is 16384 bytes."), "{}", page.text());

    let service = stage.service("acme").await;
    for (path, limit) in [
        ("/operations", 20_000),
        ("/operations/00000000-0000-7000-8000-000000000000/finish", 30_000),
    ] {
        let over = service.post_text(path, &[], vec![b' '; limit + 1]).await;
        names(&over, Code::TooLarge, &format!("The limit here is {limit} bytes."));
        service.post_text(path, &[], vec![b' '; limit]).await.refused(Code::RequestInvalid);
    }
}

#[tokio::test]
async fn lower_limits_of_lists_are_honoured_and_named() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_MAX_PAGE_ROWS", "10"),
        ("ONCEOVER_MAX_LIST_DAYS", "7"),
        ("ONCEOVER_MAX_FILTER_CHARS", "64"),
    ])
    .await;
    let service = stage.service("acme").await;
    for n in 0..11 {
        service.reserve(&format!("k-{n}"), 1).await.expect(StatusCode::CREATED);
    }
    let viewer = stage.staff("viewer@acme.test").await;
    let page = viewer.get("/operations").await;
    page.expect(StatusCode::OK);
    assert_eq!(page.json()["items"].as_array().unwrap().len(), 10);
    for (query, words) in [
        ("limit=11", "a page has 1 to 10 rows"),
        ("from=2026-01-01T00:00:00Z&to=2026-01-09T00:00:00Z", "at most 7 days"),
        (&*format!("q={}", "x".repeat(65)), "q is longer than 64 characters"),
        (&*format!("cursor={}", "n".repeat(65)), "cursor is longer than 64 characters"),
        (&*format!("operation={}", "x".repeat(65)), "operation is longer than 64 characters"),
    ] {
        let answer = viewer.get(&format!("/operations?{query}")).await;
        names(&answer, Code::FilterInvalid, words);
    }
    let browser = stage.browser("viewer@acme.test").await;
    let page = browser.get("/operations?limit=11").await;
    page.expect(StatusCode::BAD_REQUEST);
    assert!(page.text().contains("data-code=\"filter_invalid\""), "{}", page.text());
}

#[tokio::test]
async fn a_raised_limit_of_rows_is_honoured_at_both_doors() {
    let stage = Stage::open_with(&[("ONCEOVER_MAX_PAGE_ROWS", "1000")]).await;
    let viewer = stage.staff("viewer@acme.test").await;
    viewer.get("/operations?limit=1000").await.expect(StatusCode::OK);
    viewer.get("/operations?limit=1001").await.refused(Code::FilterInvalid);
    let browser = stage.browser("viewer@acme.test").await;
    browser.get("/operations?limit=1000").await.expect(StatusCode::OK);
    browser.get("/operations?limit=1001").await.expect(StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_reason_has_one_limit_at_both_doors() {
    assert_eq!(MAX_REASON_CHARS, 2_000);
    assert!(Field::Reason.mend().contains("2,000 characters"));
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let browser = stage.browser("operator@acme.test").await;
    let page = browser.get(&format!("/operations/{}/confirm", unknown.id)).await;
    page.expect(StatusCode::OK);
    let page = page.text();
    let (_, after) = page.split_once("name=\"reason\"").unwrap();
    let (input, _) = after.split_once('>').unwrap();
    assert!(input.contains("maxlength=\"2000\""), "{input}");

    let operator = stage.staff("operator@acme.test").await;
    let path = format!("/operations/{}/actions/confirm", unknown.id);
    let mut decision = unknown.confirm();
    decision["reason"] = json!("é".repeat(MAX_REASON_CHARS + 1));
    let over = operator.post(&path, &decision).await;
    names(&over, Code::Unprocessable, "reason has more than 2000 characters");
    decision["reason"] = json!("é".repeat(MAX_REASON_CHARS));
    operator.post(&path, &decision).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn shorter_sessions_end_when_they_are_configured_to() {
    let stage = Stage::open_with(&[
        ("ONCEOVER_SESSION_IDLE_MINUTES", "5"),
        ("ONCEOVER_SESSION_ABSOLUTE_MINUTES", "15"),
    ])
    .await;
    let minutes = |n: u64| Duration::from_secs(n * 60);
    let idle = stage.browser("operator@acme.test").await;
    stage.database.advance_clock(minutes(4)).await;
    idle.get("/").await.expect(StatusCode::OK);
    stage.database.advance_clock(minutes(6)).await;
    idle.get("/").await.expect(StatusCode::SEE_OTHER);

    let busy = stage.browser("operator@acme.test").await;
    for _ in 0..3 {
        stage.database.advance_clock(minutes(4)).await;
        busy.get("/").await.expect(StatusCode::OK);
    }
    stage.database.advance_clock(minutes(4)).await;
    busy.get("/").await.expect(StatusCode::SEE_OTHER);
}
