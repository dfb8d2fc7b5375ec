//! An outcome that is contradicted is shown as disputed, with what is recorded beside what stands against
//! it, on its own page and on those that speak of it.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::Stage;

#[tokio::test]
async fn a_contradicted_outcome_shows_both_facts_and_its_conflict_does_not_say_that_it_happened() {
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
    let operator = stage.browser("operator@acme.test").await;
    let conflict: String = sqlx::query_scalar("select id::text from payload_conflicts")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap();
    let conflict = format!("/conflicts/{conflict}");
    assert!(operator.get(&conflict).await.text().contains("The first request happened."));

    service.post(&at("finish"), &done("ch_2")).await.expect(StatusCode::ACCEPTED);
    let page = operator.get(&format!("/operations/{id}")).await.text();
    for words in [
        "Disputed: evidence contradicts the recorded outcome.",
        "Recorded: it happened, under ch_1.",
        "Against it: a worker says it happened, under ch_2.",
    ] {
        assert!(page.contains(words), "{words}: {page}");
    }
    let page = operator.get(&conflict).await.text();
    assert!(page.contains("Disputed") && !page.contains("The first request happened."), "{page}");
}
