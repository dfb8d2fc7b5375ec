//! Messages over HTTP: first, again, late, dead, reused, and what a person's program sees of them.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use domain::problem::Code;
use engine::store::inbox_consumer::ConsumerPolicy;
use serde_json::{Value, json};

use crate::support::{Program, Stage};

async fn now(stage: &Stage) -> DateTime<Utc> {
    sqlx::query_scalar("select onceover_now()")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap()
}

fn message(id: &str, produced_at: DateTime<Utc>) -> Value {
    json!({
        "consumer": "billing",
        "source": "orders",
        "message_id": id,
        "produced_at": produced_at,
        "payload": { "invoice_id": id, "amount_minor": 12_900, "currency": "EUR" },
        "then": { "operation": { "operation": "invoice.charge" } },
    })
}

#[tokio::test]
async fn a_message_is_created_once_and_answered_alike_ever_after() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let body = message("m-1", now(&stage).await);
    let first = service.post("/inbox", &body).await;
    first.expect(StatusCode::CREATED);
    let answer = first.json();
    assert_eq!(answer["status"], "processed");
    let id = answer["operation_id"].as_str().unwrap().to_owned();
    let again = service.post("/inbox", &body).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.json(), answer);
    service.get(&format!("/operations/{id}")).await.expect(StatusCode::OK);
    let work = service
        .post("/operations/claim", &json!({ "kinds": ["invoice.charge"], "max": 10 }))
        .await
        .json();
    assert_eq!(work["items"].as_array().unwrap().len(), 1, "one message, one piece of work");
    assert_eq!(work["items"][0]["payload"], body["payload"]);

    let mut other = body.clone();
    other["payload"]["amount_minor"] = json!(1);
    service.post("/inbox", &other).await.refused(Code::MessageReused);
}

#[tokio::test]
async fn what_came_late_or_failed_too_often_is_answered_by_its_state() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let now = now(&stage).await;
    let late = message("m-1", now - TimeDelta::days(8));
    for _ in 0..2 {
        let answer = service.post("/inbox", &late).await;
        answer.refused(Code::Quarantined);
        assert_eq!(answer.json()["state"], "quarantined");
        assert!(answer.json()["id"].is_string());
    }
    let tenant = stage.admin().await.ensure_tenant("acme", "acme").await.unwrap();
    let policy = ConsumerPolicy { max_failures: 2, ..ConsumerPolicy::of_default("billing") };
    stage.admin().await.put_inbox_consumer(tenant, &policy).await.unwrap();
    let mut poison = message("m-2", now);
    poison["then"]["operation"]["operation"] = json!("letter.send");
    service.post("/inbox", &poison).await.refused(Code::KindUnknown);
    let dead = service.post("/inbox", &poison).await;
    dead.refused(Code::Dead);
    assert!(dead.text().contains("kind_unknown"), "{}", dead.text());
    service.post("/inbox", &poison).await.refused(Code::Dead);

    let operator = stage.staff("operator@acme.test").await;
    let list = operator.get("/inbox?status=dead").await.json();
    assert_eq!(list["items"].as_array().unwrap().len(), 1);
    assert_eq!(list["items"][0]["message_id"], "m-2");
    let id = list["items"][0]["id"].as_str().unwrap();
    let detail = operator.get(&format!("/inbox/{id}")).await.json();
    assert_eq!((&detail["status"], &detail["failures"]), (&json!("dead"), &json!(2)));
    assert_eq!(detail["needs_second_person"], true);
    assert!(detail["payload"]["text"].as_str().unwrap().contains("12900"));
    let all = operator.get("/inbox?consumer=billing&source=orders&limit=1").await.json();
    let next = all["next"].as_str().unwrap();
    let rest = operator.get(&format!("/inbox?limit=1&cursor={next}")).await.json();
    assert_eq!(rest["items"][0]["message_id"], "m-1");
    assert_eq!(operator.get("/inbox?q=m-2").await.json()["items"][0]["id"], id);
    for query in ["status=unknown", "limit=0", "cursor=x", "operation=x"] {
        operator.get(&format!("/inbox?{query}")).await.refused(Code::FilterInvalid);
    }
    let stranger = stage.staff("operator@globex.test").await;
    stranger.get(&format!("/inbox/{id}")).await.refused(Code::NotFound);
    assert_eq!(stranger.get("/inbox").await.json()["items"], json!([]));
    operator.get("/inbox/no-id").await.refused(Code::NotFound);
}

#[tokio::test]
async fn a_message_that_cannot_be_taken_is_refused_with_its_field_and_leaves_nothing() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let now = now(&stage).await;
    let good = message("m-1", now);
    let with = |name: &str, value: Value| {
        let mut body = good.clone();
        body[name] = value;
        body
    };
    for (body, code, field) in [
        (with("produced_at", Value::Null), Code::RequestInvalid, "produced_at"),
        (with("produced_at", json!("today")), Code::RequestInvalid, "produced_at"),
        (
            with("produced_at", json!(now + TimeDelta::minutes(11))),
            Code::RequestInvalid,
            "produced_at",
        ),
        (with("consumer", json!(1)), Code::Unprocessable, "consumer"),
        (with("consumer", json!("provider:payments")), Code::Unprocessable, "consumer"),
        (with("source", Value::Null), Code::Unprocessable, "source"),
        (with("message_id", json!("x".repeat(513))), Code::Unprocessable, "message_id"),
        (with("then", json!({ "workflow": 1, "operation": {} })), Code::Unprocessable, "then"),
        (
            with("then", json!({ "webhook": { "provider": "payments" } })),
            Code::Unprocessable,
            "then",
        ),
        (with("extra", json!(1)), Code::Unprocessable, "extra"),
    ] {
        let answer = service.post("/inbox", &body).await;
        answer.refused(code);
        assert_eq!(answer.json()["field"], field, "{}", answer.text());
    }
    let twice = r#"{"consumer":"a","source":"b","message_id":"c","produced_at":"2026-01-01T00:00:00Z","payload":{"a":1,"a":2}}"#;
    service.post_text("/inbox", &[], twice).await.refused(Code::PayloadInvalid);
    let mut admin = stage.admin().await;
    let token =
        admin.add_service_token("acme", "m", &["campaign.send".into()], None).await.unwrap();
    let mailer = Program { stage: &stage, token: Some(token) };
    mailer.post("/inbox", &good).await.refused(Code::TokenScope);
    let rows: i64 = sqlx::query_scalar(
        "select (select count(*) from inbox) + (select count(*) from inbox_failures) + (select count(*) from operations)",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap();
    assert_eq!(rows, 0);
}

#[tokio::test]
async fn whoever_may_have_it_done_a_second_time_reads_the_amount_and_possible_days() {
    let stage = Stage::open().await;
    let late = message("m-1", now(&stage).await - TimeDelta::days(8));
    let answer = stage.service("acme").await.post("/inbox", &late).await;
    answer.refused(Code::Quarantined);
    let id = answer.json()["id"].as_str().unwrap().to_owned();
    let operator = stage.browser("operator@acme.test").await;
    let page = operator.get(&format!("/inbox/{id}")).await;
    page.expect(StatusCode::OK);
    let page = page.text();
    assert!(page.contains("129.00 EUR"), "not cents to be read as euros: {page}");
    assert!(page.contains("Its window ended"), "{page}");
    assert!(!page.contains("Remembered in full until"), "it never was: {page}");
    let form = operator.get(&format!("/inbox/{id}/run")).await;
    form.expect(StatusCode::OK);
    assert!(form.text().contains("129.00 EUR"), "{}", form.text());
}
