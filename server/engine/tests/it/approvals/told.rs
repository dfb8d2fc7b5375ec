//! Those who may approve are told by webhook: who asks for what, who may answer, and where.

use engine::Destination;
use serde_json::json;

use super::*;
use crate::outbox::{receiver::Receiver, relay_to, to};

#[tokio::test]
async fn a_webhook_names_who_may_approve_and_leads_to_the_request() {
    let scene = Scene::open().await;
    let receiver = Receiver::start().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    let notices = Destination { topics: vec!["approval.requested".into()], ..to(&receiver.url) };
    let mut relay = relay_to(&scene.fixture, vec![notices]).await;
    relay.claim_some().await.unwrap();
    relay.drain().await;

    let came = receiver.came();
    assert_eq!(came.len(), 1, "the request, once, and nothing else");
    let told = &came[0];
    assert_eq!(told.text("type"), "approval.requested");
    assert_eq!(told.text("source"), "/onceover/acme");
    let data = &told.event["data"];
    for (member, value) in [
        ("link", json!(format!("/approvals/{}", request.id))),
        ("approval_id", json!(request.id)),
        ("verb", json!("confirm")),
        ("target_type", json!("operation")),
        ("target_id", json!(id)),
        ("target_operation", json!("invoice.charge")),
        ("target_key", json!("k")),
        ("amount_minor", json!(50_000)),
        ("currency", json!("EUR")),
        ("requested_by", json!("operator@acme.test")),
        (
            "may_approve",
            json!([
                { "name": "ada", "email": "ada@acme.test" },
                { "name": "ben", "email": "ben@acme.test" },
            ]),
        ),
    ] {
        assert_eq!(data[member], value, "{member}: {data}");
    }
    // Who is named may follow the link and answer.
    let page = scene.fixture.engine.approval(&scene.ben, request.id).await.unwrap();
    assert_eq!(page.may_approve, ["ada", "ben"]);
    scene.approve(&scene.ben, request.id).await.unwrap();
}
