//! The table of answers to services: what each call says, and what stands behind it.

use std::time::Duration;

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::{Value, json};

use crate::support::{Answer, Program, Stage};

pub async fn finish(service: &Program<'_>, won: &Answer, outcome: Value) -> Answer {
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let fence = won.json()["fence"].clone();
    service
        .post(&format!("/operations/{id}/start"), &json!({ "fence": fence }))
        .await
        .expect(StatusCode::OK);
    let mut body = json!({ "fence": fence });
    body.as_object_mut().unwrap().extend(outcome.as_object().unwrap().clone());
    service.post(&format!("/operations/{id}/finish"), &body).await
}

#[tokio::test]
async fn the_first_request_wins_and_its_repeats_get_the_stored_bytes() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    won.expect(StatusCode::CREATED);
    for field in ["id", "fence", "lease_until", "provider_key"] {
        assert!(!won.json()[field].is_null(), "{field}");
    }
    let answer = "{\"charge\": \"ch_1\",  \"n\":1.10}";
    let done = json!({
        "outcome": "done",
        "external_reference": "ch_1",
        "amount_minor": 12_900,
        "currency": "EUR",
        "response": { "status": 201, "content_type": "application/json", "body": answer },
    });
    let finished = finish(&service, &won, done.clone()).await;
    finished.expect(StatusCode::OK);
    assert_eq!(finished.json()["status"], "succeeded");

    for _ in 0..2 {
        let repeat = service.reserve("INV-1", 12_900).await;
        repeat.expect(StatusCode::CREATED);
        assert_eq!(repeat.header("idempotent-replayed"), "true");
        assert_eq!(repeat.header("content-type"), "application/json");
        assert_eq!(repeat.text(), answer);
    }
    // The same finish again is the same finish.
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let mut body = done;
    body["fence"] = won.json()["fence"].clone();
    let again = service.post(&format!("/operations/{id}/finish"), &body).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.json(), finished.json());
    service.get(&format!("/operations/{id}")).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn another_payload_under_the_same_key_is_refused_and_kept() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    service.reserve("INV-1", 12_900).await.expect(StatusCode::CREATED);
    service.reserve("INV-1", 99_900).await.refused(Code::KeyReused);
    let kept: i64 = sqlx::query_scalar("select count(*) from payload_conflicts")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(kept, 1);
    // Another tenant's key is another key.
    stage.service("globex").await.reserve("INV-1", 99_900).await.expect(StatusCode::CREATED);
}

#[tokio::test]
async fn an_operation_in_progress_says_when_to_ask_again() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let repeat = service.reserve("INV-1", 12_900).await;
    repeat.refused(Code::OperationInProgress);
    assert!(repeat.header("retry-after").parse::<u64>().unwrap() >= 1);
    assert_eq!(repeat.json()["id"], id.as_str());
    assert_eq!(repeat.json()["status_url"], format!("/api/v1/operations/{id}"));

    let fence = json!({ "fence": won.json()["fence"] });
    let start = format!("/operations/{id}/start");
    service.post(&start, &fence).await.expect(StatusCode::OK);
    service.post(&start, &fence).await.refused(Code::AlreadyStarted);
    service.post(&format!("/operations/{id}/heartbeat"), &fence).await.expect(StatusCode::OK);
    service.post(&start, &json!({ "fence": 77 })).await.refused(Code::FenceLost);
    service
        .post(&format!("/operations/{id}/heartbeat"), &json!({ "fence": 77 }))
        .await
        .refused(Code::FenceLost);
}

#[tokio::test]
async fn an_unknown_outcome_is_a_409_that_warns_of_a_new_key() {
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let repeat = stage.service("acme").await.reserve("INV-1", 12_900).await;
    repeat.refused(Code::OutcomeUnknown);
    assert_eq!(repeat.json()["safe_new_key"], false);
    assert_eq!(repeat.header("onceover-safe-new-key"), "false");
    assert_eq!(repeat.json()["id"], unknown.id.as_str());
    assert!(!repeat.text().to_lowercase().contains("fail"), "{}", repeat.text());
}

#[tokio::test]
async fn a_final_failure_replays_and_says_whether_a_new_key_is_safe() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    finish(&service, &won, json!({ "outcome": "rejected" })).await.expect(StatusCode::OK);
    let repeat = service.reserve("INV-1", 12_900).await;
    repeat.refused(Code::FailedTerminal);
    assert_eq!(repeat.header("idempotent-replayed"), "true");
    assert_eq!(repeat.header("onceover-safe-new-key"), "true");

    let won = service.reserve("INV-2", 12_900).await;
    let declined = json!({
        "outcome": "rejected",
        "response": { "status": 402, "content_type": "text/plain", "body": "card declined" },
    });
    finish(&service, &won, declined).await.expect(StatusCode::OK);
    let repeat = service.reserve("INV-2", 12_900).await;
    repeat.expect(StatusCode::PAYMENT_REQUIRED);
    assert_eq!(
        (repeat.header("content-type"), repeat.text().as_str()),
        ("text/plain", "card declined")
    );
}

#[tokio::test]
async fn what_was_not_done_is_tried_again_later() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    finish(&service, &won, json!({ "outcome": "not_done" })).await.expect(StatusCode::OK);
    let repeat = service.reserve("INV-1", 12_900).await;
    repeat.refused(Code::RetryLater);
    assert!(repeat.header("retry-after").parse::<u64>().unwrap() >= 1);
    stage.database.advance_clock(Duration::from_secs(3_600)).await;
    let again = service.reserve("INV-1", 12_900).await;
    again.expect(StatusCode::CREATED);
    assert_eq!(again.json()["provider_key"], won.json()["provider_key"]);
}

#[tokio::test]
async fn a_former_owners_word_is_kept_as_evidence() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let fence = json!({ "fence": won.json()["fence"] });
    service.post(&format!("/operations/{id}/start"), &fence).await.expect(StatusCode::OK);
    stage.database.advance_clock(Duration::from_secs(60)).await;
    stage.state.engine.take_over_expired().await.unwrap();
    let late =
        json!({ "fence": won.json()["fence"], "outcome": "done", "external_reference": "ch_1" });
    let answer = service.post(&format!("/operations/{id}/finish"), &late).await;
    answer.expect(StatusCode::ACCEPTED);
    assert_eq!(answer.json()["code"], "late_evidence_kept");
    assert_eq!(answer.json()["status"], "unknown");
}

#[tokio::test]
async fn a_tombstone_keeps_the_key_closed() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    finish(&service, &won, json!({ "outcome": "rejected" })).await.expect(StatusCode::OK);
    stage.database.settle_outbox().await;
    stage.database.advance_clock(Duration::from_secs(3_600)).await;
    stage.state.engine.expire_due().await.unwrap();
    let repeat = service.reserve("INV-1", 12_900).await;
    repeat.refused(Code::Tombstoned);
    assert_eq!(repeat.json()["operation_status"], "failed_terminal");
    service.reserve("INV-1", 1).await.refused(Code::KeyReused);
}

#[tokio::test]
async fn queued_work_is_claimed_with_the_bytes_that_were_sent() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let payload = r#"{"z":1.10,"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR","big":9007199254740993}"#;
    let body = format!(
        r#"{{"operation":"invoice.charge","key":"k","mode":"queued","payload":{payload}}}"#
    );
    let queued = service.post_text("/operations", &[], body.clone()).await;
    queued.expect(StatusCode::ACCEPTED);
    service.post_text("/operations", &[], body).await.refused(Code::OperationInProgress);
    let claim = json!({ "kinds": ["invoice.charge"], "max": 5 });
    let claimed = service.post("/operations/claim", &claim).await;
    claimed.expect(StatusCode::OK);
    assert!(claimed.text().contains(&format!("\"payload\":{payload}")), "{}", claimed.text());
    assert_eq!(claimed.json()["items"][0]["amount_minor"], 12_900);
    assert_eq!(service.post("/operations/claim", &claim).await.json()["items"], json!([]));
}

#[tokio::test]
async fn keys_of_every_kind_come_by_header_or_body() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let payload = r#"{"invoice_id":"I","amount_minor":1,"currency":"EUR"}"#;
    let body =
        |extra: &str| format!(r#"{{"operation":"invoice.charge","payload":{payload}{extra}}}"#);
    let header = ("idempotency-key", "\"a b\"");
    service.post_text("/operations", &[header], body("")).await.expect(StatusCode::CREATED);
    let same = service.post_text("/operations", &[], body(r#","key":"a b""#)).await;
    same.refused(Code::OperationInProgress);
    service
        .post_text("/operations", &[header], body(r#","key":"c""#))
        .await
        .refused(Code::KeyMismatch);
    service.post_text("/operations", &[], body("")).await.refused(Code::KeyMissing);
    service
        .post_text("/operations", &[("idempotency-key", "")], body(""))
        .await
        .refused(Code::KeyMissing);

    let awkward: String = "/%+&:@( )é😀".chars().cycle().take(512).collect();
    service.reserve(&awkward, 100).await.expect(StatusCode::CREATED);
    let long = service.reserve(&format!("{awkward}x"), 100).await;
    long.refused(Code::KeyInvalid);
    assert!(long.text().contains("512"));
    service.reserve("a\nb", 100).await.refused(Code::KeyInvalid);
    for reserved in ["wf:1:a", "comp:1"] {
        service.reserve(reserved, 100).await.refused(Code::KeyReserved);
    }
}

#[tokio::test]
async fn a_bad_payload_burns_no_key() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let good = r#""invoice_id":"INV-1","amount_minor":12900,"currency":"EUR""#;
    let cases = [
        (Code::PayloadInvalid, format!(r#"{{{good},"a":1,"a":2}}"#)),
        (Code::PayloadInvalid, format!(r#"{{{good},"s":"\ud800"}}"#)),
        (Code::PayloadInvalid, format!(r#"{{{good},"s":"\u0000"}}"#)),
        (
            Code::PayloadInvalid,
            r#"{"invoice_id":"INV-1","amount_minor":12900.5,"currency":"EUR"}"#.into(),
        ),
        (Code::PayloadInvalid, format!(r#"{{{good},"s":"{}"}}"#, "x".repeat(256 * 1024))),
        (Code::PayloadInvalid, format!("{}{}", "[".repeat(65), "]".repeat(65))),
        (
            Code::AmountMismatch,
            r#"{"invoice_id":"INV-1","amount_minor":1,"currency":"EUR"}"#.into(),
        ),
    ];
    for (code, payload) in cases {
        let body = format!(
            r#"{{"operation":"invoice.charge","key":"k","amount_minor":12900,"currency":"EUR","payload":{payload}}}"#
        );
        let answer = service.post_text("/operations", &[], body).await;
        let shown: String = payload.chars().take(80).collect();
        assert_eq!(answer.json()["code"], code.as_str(), "{shown}: {}", answer.text());
        assert_eq!(answer.status.as_u16(), code.status());
    }
    for (field, body) in [
        (
            "amount_minor",
            r#"{"operation":"invoice.charge","key":"k","payload":{},"amount_minor":1.5}"#,
        ),
        ("mode", r#"{"operation":"invoice.charge","key":"k","payload":{},"mode":"later"}"#),
        ("amont", r#"{"operation":"invoice.charge","key":"k","payload":{},"amont":1}"#),
        ("operation", r#"{"key":"k","payload":{}}"#),
    ] {
        let answer = service.post_text("/operations", &[], body).await;
        answer.refused(Code::Unprocessable);
        assert_eq!(answer.json()["field"], field);
    }
    let rows: i64 = sqlx::query_scalar("select count(*) from operations")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    assert_eq!(rows, 0);
}
