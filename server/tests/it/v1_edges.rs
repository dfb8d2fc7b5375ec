//! Limits of the JSON API, and the door of providers' webhooks.

use axum::http::{StatusCode, header};
use domain::problem::Code;
use serde_json::json;

use crate::{
    support::{Program, Stage},
    v1_answers::finish,
};

#[tokio::test]
async fn limits_are_named_and_finish_has_its_own() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let too_large = service.post_text("/operations", &[], vec![b' '; 1024 * 1024 + 1]).await;
    too_large.refused(Code::TooLarge);
    assert!(too_large.text().contains("1048576"));
    // Without an announced length the limit holds as well.
    let chunks =
        [(); 2].map(|()| Ok::<_, std::io::Error>(bytes::Bytes::from(vec![b' '; 700 * 1024])));
    let body = axum::body::Body::from_stream(futures_util::stream::iter(chunks));
    service.post_text("/operations", &[], body).await.refused(Code::TooLarge);

    let won = service.reserve("INV-1", 12_900).await;
    let answer = "x".repeat(3 * 1024 * 1024);
    let done = json!({
        "outcome": "done",
        "external_reference": "ch_1",
        "response": { "content_type": "text/plain", "body": answer },
    });
    finish(&service, &won, done).await.expect(StatusCode::OK);
    let repeat = service.reserve("INV-1", 12_900).await;
    repeat.expect(StatusCode::OK);
    assert_eq!(repeat.body.len(), 1024 * 1024);
    assert_eq!(repeat.header("onceover-answer-cut"), "true");
    let id = won.json()["id"].as_str().unwrap().to_owned();
    let body = vec![b' '; 8 * 1024 * 1024 + 1];
    service.post_text(&format!("/operations/{id}/finish"), &[], body).await.refused(Code::TooLarge);
}

#[tokio::test]
async fn a_signed_webhook_proves_and_a_forged_one_changes_nothing() {
    use hmac::{Hmac, KeyInit as _, Mac as _};
    let stage = Stage::open().await;
    let unknown = stage.unknown("acme", "INV-1").await;
    let event = json!({
        "id": "evt_1", "type": "charge.succeeded", "provider_key": unknown.id, "reference": "ch_1",
        "amount_minor": 12_900, "currency": "EUR", "invoice_id": "INV-1",
    })
    .to_string();
    let now = std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap().as_secs();
    let sign = |secret: &str, time: u64| {
        let mut mac = Hmac::<sha2::Sha256>::new_from_slice(secret.as_bytes()).unwrap();
        mac.update(format!("{time}.{event}").as_bytes());
        format!("t={time},v1={}", hex::encode(mac.finalize().into_bytes()))
    };
    let provider = Program { stage: &stage, token: None };
    let path = "/webhooks/acme/payments";
    let before = stage.effects().await;
    let forged = sign("not the secret", now);
    let stale = sign(crate::support::WEBHOOK_SECRET, now - 3_600);
    for headers in [
        &[][..],
        &[("onceover-webhook-signature", forged.as_str())],
        &[("onceover-webhook-signature", &stale)],
    ] {
        provider.post_text(path, headers, event.clone()).await.refused(Code::Unauthenticated);
    }
    let good = sign(crate::support::WEBHOOK_SECRET, now);
    let headers = [("onceover-webhook-signature", good.as_str())];
    provider
        .post_text("/webhooks/nobody/payments", &headers, event.clone())
        .await
        .refused(Code::Unauthenticated);
    assert_eq!(stage.effects().await, before);

    let answer = provider.post_text(path, &headers, event.clone()).await;
    answer.expect(StatusCode::OK);
    assert_eq!(answer.json()["taken"], "proved");
    let again = provider.post_text(path, &headers, event.clone()).await;
    assert_eq!(again.json()["taken"], "repeated");
    assert_eq!(again.headers[header::CONTENT_TYPE], "application/json");
}
