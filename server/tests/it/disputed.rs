//! An outcome that is contradicted is shown as disputed, with what is recorded beside what stands against
//! it, on its own page and on those that speak of it.

use axum::http::StatusCode;
use serde_json::json;

use crate::support::{Program, Stage, WEBHOOK_SECRET};

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

/// The provider's own word, signed: that it happened, under a reference.
async fn webhook(stage: &Stage, id: &str, reference: &str) -> String {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let event = json!({
        "id": "evt_1", "type": "charge.succeeded", "provider_key": id, "reference": reference,
        "amount_minor": 12_900, "currency": "EUR", "invoice_id": "INV-1",
    })
    .to_string();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let mut mac = Hmac::<sha2::Sha256>::new_from_slice(WEBHOOK_SECRET.as_bytes()).unwrap();
    mac.update(format!("{now}.{event}").as_bytes());
    let signature = format!("t={now},v1={}", hex::encode(mac.finalize().into_bytes()));
    let provider = Program { stage, token: None };
    let headers = [("onceover-webhook-signature", signature.as_str())];
    let answer = provider.post_text("/webhooks/acme/payments", &headers, event).await;
    answer.expect(StatusCode::OK);
    answer.json()["taken"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn what_a_person_confirmed_is_disputed_once_the_providers_webhook_contradicts_it() {
    let stage = Stage::open().await;
    let operator = stage.staff("operator@acme.test").await;
    let reader = stage.browser("operator@acme.test").await;
    let target = stage.unknown("acme", "INV-1").await;
    let place = format!("/operations/{}", target.id);
    let confirm = format!("{place}/actions/confirm");
    operator.post(&confirm, &target.confirm()).await.expect(StatusCode::OK);
    let page = reader.get(&place).await.text();
    assert!(!page.contains("Disputed"), "one person\u{2019}s word, and nothing against it: {page}");

    let taken = webhook(&stage, &target.id, "ch_other").await;
    let page = reader.get(&place).await.text();
    for words in [
        "Disputed: evidence contradicts the recorded outcome.",
        "Recorded: it happened, under ch_1.",
        "Against it: the provider\u{2019}s webhook says it happened, under ch_other.",
    ] {
        assert!(page.contains(words), "{taken}: {words}: {page}");
    }
    let again = operator.get(&place).await.json();
    assert_eq!(again["status"], "succeeded", "a webhook overrides no person: {again}");
}
