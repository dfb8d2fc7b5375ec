//! The page of an operation tells in one timeline what happened around it, each thing with its way on.

use axum::http::StatusCode;
use serde_json::json;

use crate::{
    pages_records::{has, says},
    support::Stage,
};

/// The addresses that a page leads to.
fn ways(source: &str) -> Vec<&str> {
    source.split("href=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect()
}

#[tokio::test]
async fn an_operations_page_leads_to_its_events_and_to_the_message_that_brought_it() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let now: chrono::DateTime<chrono::Utc> = sqlx::query_scalar("select onceover_now()")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let message = json!({
        "consumer": "billing",
        "source": "orders",
        "message_id": "m-1",
        "produced_at": now,
        "payload": { "invoice_id": "INV-7", "amount_minor": 12_900, "currency": "EUR" },
        "then": { "operation": { "operation": "invoice.charge" } },
    });
    let taken = service.post("/inbox", &message).await.json();
    let id = taken["operation_id"].as_str().unwrap().to_owned();
    let operator = stage.browser("operator@acme.test").await;
    let path = format!("/operations/{id}");
    let version =
        stage.staff("operator@acme.test").await.get(&path).await.json()["version"].clone();
    let program = stage.staff("operator@acme.test").await;
    let cancel = json!({ "version": version, "reason": "ordered twice" });
    program.post(&format!("{path}/actions/cancel"), &cancel).await.expect(StatusCode::OK);
    let late = json!({ "version": version, "reason": "rather not" });
    let refused = program.post(&format!("{path}/actions/release"), &late).await;
    assert!(refused.status.is_client_error());

    let page = says(&operator, &path).await;
    has(
        &page,
        &[
            "Message to billing: Its effect is done.",
            "Messages about it",
            "m-1",
            "Event operation.failed_terminal: Written with the change that it tells of.",
            "Events that tell of it",
            "Wanted to release the lease, refused: ",
            "\u{201c}rather not\u{201d}",
        ],
    );
    let source = operator.get(&path).await.text();
    let event: String =
        sqlx::query_scalar("select id::text from outbox where operation_id = $1::uuid")
            .bind(&id)
            .fetch_one(stage.database.owner_pool())
            .await
            .unwrap();
    let inbox: String = sqlx::query_scalar("select id::text from inbox")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let ways = ways(&source);
    for there in [format!("/outbox/{event}"), format!("/inbox/{inbox}"), format!("#x{event}")] {
        assert!(ways.contains(&there.as_str()), "{there} is not among {ways:?}");
    }
    assert!(source.contains(&format!("id=\"x{event}\"")), "and the link to the item leads to it");

    // The same for a program: each item names the record that it belongs to.
    let told = program.get(&format!("{path}/timeline")).await.json();
    let items = told["items"].as_array().unwrap();
    let of = |record: &str| {
        let found = items.iter().find(|item| item["of"]["record"] == record);
        found.map(|item| item["of"]["id"].as_str().unwrap().to_owned())
    };
    assert_eq!((of("event"), of("message")), (Some(event), Some(inbox)));
}
