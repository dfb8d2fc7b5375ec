//! What the first page says of the queues, and of a queue chosen from them.

use axum::http::StatusCode;
use serde_json::json;

use crate::{
    pages_records::{has, says},
    support::Stage,
};

#[tokio::test]
async fn a_conflict_of_an_ended_operation_is_told_and_asks_for_nobody() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let won = service.reserve("INV-1", 12_900).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let done = |reference: &str| json!({ "fence": fence, "outcome": "done", "external_reference": reference });
    service.post(&at("finish"), &done("ch_1")).await.expect(StatusCode::OK);
    service.reserve("INV-1", 1).await.expect(StatusCode::UNPROCESSABLE_ENTITY);

    let viewer = stage.browser("viewer@acme.test").await;
    let queue = "/?cause=payload_conflict";
    let page = viewer.get(queue).await.text();
    assert!(page.contains(&format!("/operations/{id}")), "{page}");
    assert!(!page.contains("person-dot") && !page.contains("at stake"), "{page}");
    has(&says(&viewer, queue).await, &["greatest amount first, currencies taken as equal"]);

    service.post(&at("finish"), &done("ch_2")).await.expect(StatusCode::ACCEPTED);
    let page = viewer.get(queue).await.text();
    assert!(page.contains("person-dot"), "{page}");
    has(&says(&viewer, queue).await, &["129.00 EUR at stake"]);
}

#[tokio::test]
async fn an_empty_queue_does_not_say_that_nothing_waits_anywhere() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    service.reserve("INV-1", 12_900).await.expect(StatusCode::CREATED);
    service.reserve("INV-1", 1).await.expect(StatusCode::UNPROCESSABLE_ENTITY);
    let viewer = stage.browser("viewer@acme.test").await;
    let page = says(&viewer, "/?cause=dead_event").await;
    has(&page, &["Nothing waits in this queue.", "Look at all queues", "Failed undos"]);
    assert!(!page.contains("Nothing waits for a person."), "{page}");
    assert!(!says(&viewer, "/").await.contains("Nothing waits"));
}
