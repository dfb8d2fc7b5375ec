//! Workflows by the JSON API: started and carried out by a service, looked at by a person.

use axum::http::StatusCode;
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::{Value, json};

use crate::support::{Program, Stage, charge};

/// The kinds of the campaign's agent, all carried out by the service itself.
async fn kinds(stage: &Stage) {
    let mut admin = stage.admin().await;
    for tenant in ["acme", "globex"] {
        let tenant = admin.ensure_tenant(tenant, tenant).await.unwrap();
        for name in ["draft.generate", "campaign.send", "document.publish"] {
            let kind = KindPolicy {
                name: name.into(),
                money: false,
                amount_pointer: None,
                currency_pointer: None,
                approval_threshold_minor: None,
                search_pointers: vec![],
                ..charge()
            };
            admin.put_kind(tenant, &kind).await.unwrap();
        }
    }
}

fn campaign() -> Value {
    json!({
        "campaign_id": "CMP-1", "recipient_id": "R-1", "topic": "prices",
        "invoice_id": "INV-1", "amount_minor": 12_900, "currency": "EUR",
        "document_id": "DOC-1", "version": 1,
    })
}

fn start(key: &str, input: &Value) -> Value {
    json!({ "kind": "campaign.agent", "key": key, "input": input })
}

/// Carries a step out, with one artifact of its own.
async fn carry_out(service: &Program<'_>, steps: &str, step: &str) -> Value {
    let taken = service.post(&format!("{steps}/{step}/start"), &json!({})).await;
    taken.expect(StatusCode::CREATED);
    let taken = taken.json();
    let fence = &taken["fence"];
    let id = taken["id"].as_str().unwrap();
    let begin = json!({ "fence": fence });
    service.post(&format!("/operations/{id}/start"), &begin).await.expect(StatusCode::OK);
    let checkpoint = json!({
        "fence": fence, "outcome": "done", "external_reference": format!("ref_{step}"),
        "response": { "body": { "text": "Dear customer", "subject": "Prices" } },
        "artifacts": [{ "name": "log", "content_type": "text/plain", "body_base64": "AP8=" }],
    });
    let path = format!("{steps}/{step}/checkpoint");
    let first = service.post(&path, &checkpoint).await;
    first.expect(StatusCode::OK);
    let again = service.post(&path, &checkpoint).await;
    again.expect(StatusCode::OK);
    assert_eq!(first.json(), again.json());
    taken
}

#[tokio::test]
async fn a_service_carries_an_agent_out_and_a_person_reads_its_story() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let service = stage.service("acme").await;
    let started = service.post("/workflows", &start("k", &campaign())).await;
    started.expect(StatusCode::CREATED);
    let id = started.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(started.header("location"), format!("/api/v1/workflows/{id}"));
    let again = service.post("/workflows", &start("k", &campaign())).await;
    again.expect(StatusCode::OK);
    assert_eq!(again.json()["id"], id.as_str());
    assert_eq!(again.header("idempotent-replayed"), "true");
    let mut other = campaign();
    other["topic"] = json!("another");
    service.post("/workflows", &start("k", &other)).await.refused(Code::KeyReused);

    let steps = format!("/workflows/{id}/steps");
    let early = service.post(&format!("{steps}/publish/start"), &json!({})).await;
    early.refused(Code::NotAllowedInState);
    let draft = carry_out(&service, &steps, "draft").await;
    assert_eq!(draft["key"], format!("wf:{id}:draft"));
    assert_eq!(draft["payload"]["topic"], "prices");
    service
        .post(&format!("{steps}/draft/start"), &json!({}))
        .await
        .refused(Code::NotAllowedInState);
    let resumed = service.post(&format!("{steps}/draft/resume"), &json!({})).await;
    resumed.expect(StatusCode::OK);
    assert_eq!(resumed.json()["status"], "succeeded");
    let bytes = service.get(&format!("{steps}/draft/artifacts/log")).await;
    bytes.expect(StatusCode::OK);
    assert_eq!(bytes.body[..], [0, 255]);
    assert_eq!(bytes.header("content-type"), "application/octet-stream");
    assert_eq!(bytes.header("onceover-content-type"), "text/plain");
    for step in ["mail", "charge", "publish"] {
        carry_out(&service, &steps, step).await;
    }
    stage.state.engine.advance_workflows().await.unwrap();
    let whole = service.get(&format!("/workflows/{id}")).await;
    whole.expect(StatusCode::OK);
    assert_eq!(whole.json()["status"], "completed", "{}", whole.text());

    let viewer = stage.staff("viewer@acme.test").await;
    for query in ["", "?status=completed&kind=campaign.agent", "?q=k", &format!("?q={id}")] {
        let listed = viewer.get(&format!("/workflows{query}")).await;
        listed.expect(StatusCode::OK);
        assert_eq!(listed.json()["items"][0]["id"], id.as_str(), "{query}");
    }
    assert_eq!(viewer.get("/workflows?status=failed").await.json()["items"], json!([]));
    let detail = viewer.get(&format!("/workflows/{id}")).await.json();
    assert_eq!(detail["steps"].as_array().unwrap().len(), 5);
    assert!(!detail.to_string().contains("Dear customer"), "bytes of artifacts stay out");
    let story = viewer.get(&format!("/workflows/{id}/timeline")).await.json();
    let rules: Vec<_> =
        story["items"].as_array().unwrap().iter().map(|item| item["rule"].clone()).collect();
    assert_eq!(rules.first(), Some(&json!("W1")));
    assert_eq!(rules.last(), Some(&json!("W7")));
    let stranger = stage.service("globex").await;
    stranger.get(&format!("/workflows/{id}")).await.refused(Code::NotFound);
    stranger.get(&format!("{steps}/draft/artifacts/log")).await.refused(Code::NotFound);
}

#[tokio::test]
async fn what_cannot_be_read_is_refused_with_its_field() {
    let stage = Stage::open().await;
    kinds(&stage).await;
    let service = stage.service("acme").await;
    for (body, code) in [
        (json!({ "kind": "no.such", "key": "k", "input": {} }), Code::KindUnknown),
        (json!({ "kind": "campaign.agent", "input": {} }), Code::KeyMissing),
        (json!({ "kind": "campaign.agent", "key": "wf:1", "input": {} }), Code::KeyReserved),
        (json!({ "kind": "campaign.agent", "key": "k" }), Code::PayloadInvalid),
        (json!({ "key": "k", "input": {} }), Code::Unprocessable),
    ] {
        service.post("/workflows", &body).await.refused(code);
    }
    let started = service.post("/workflows", &start("k", &campaign())).await.json();
    let id = started["id"].as_str().unwrap();
    let checkpoint = format!("/workflows/{id}/steps/draft/checkpoint");
    for artifacts in [
        json!([{ "name": "a" }]),
        json!([{ "name": "a", "body": "x", "body_base64": "eA==" }]),
        json!([{ "name": "a", "body_base64": "not base64" }]),
        json!([{ "name": "response", "body": "x" }]),
        json!([{ "name": "a", "body": "x", "surprise": 1 }]),
    ] {
        let body = json!({ "fence": 1, "outcome": "done", "artifacts": artifacts });
        service.post(&checkpoint, &body).await.refused(Code::Unprocessable);
    }
    let cancel = format!("/workflows/{id}/cancel");
    service.post(&cancel, &json!({ "reason": " " })).await.refused(Code::Unprocessable);
    let cancelled = service.post(&cancel, &json!({ "reason": "not wanted" })).await;
    cancelled.expect(StatusCode::OK);
    assert_eq!(cancelled.json()["status"], "cancelled");
    let viewer = stage.staff("viewer@acme.test").await;
    for (field, query) in [("status", "status=done"), ("limit", "limit=0"), ("sort", "sort=id")] {
        let answer = viewer.get(&format!("/workflows?{query}")).await;
        answer.refused(Code::FilterInvalid);
        assert_eq!(answer.json()["field"], field);
    }
}
