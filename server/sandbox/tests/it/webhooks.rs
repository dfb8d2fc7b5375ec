//! Signed webhooks, received over a real socket.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Bytes,
    http::{HeaderMap, StatusCode},
    routing::post,
};
use sandbox::{
    providers::{Config, Mode, Rule, WebhookTarget},
    signature::{SIGNATURE_HEADER, sign},
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use crate::support::{Folder, Running, eventually};

type Received = Arc<Mutex<Vec<(String, Vec<u8>)>>>;

/// A receiver that refuses the first delivery, as a restarting engine would.
async fn receiver() -> (String, Received) {
    let received = Received::default();
    let seen = Arc::clone(&received);
    let app = Router::new().route(
        "/hook",
        post(move |headers: HeaderMap, body: Bytes| async move {
            let header = headers
                .get(SIGNATURE_HEADER)
                .and_then(|value| value.to_str().ok())
                .unwrap_or_default();
            let mut seen = seen.lock().expect("not poisoned");
            seen.push((header.to_owned(), body.to_vec()));
            if seen.len() == 1 { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::NO_CONTENT }
        }),
    );
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/hook", listener.local_addr().expect("an address"));
    tokio::spawn(async move { axum::serve(listener, app).await });
    (url, received)
}

#[tokio::test]
async fn a_charge_is_told_twice_signed_and_again_after_a_refusal() {
    let folder = Folder::new();
    let (url, received) = receiver().await;
    let target = WebhookTarget { url, secret: "whsec_test".into() };
    let sandbox =
        Running::with(Config { webhook: Some(target), ..Config::new(folder.path().into(), 7) })
            .await;
    sandbox.rule(Rule::always(Mode::ApplyDrop).with_webhook(20, true)).await;
    sandbox.charge("op-1", "INV-1", 12_900).await;
    // A repeat is no new effect, so nothing more is told.
    sandbox.charge("op-1", "INV-1", 12_900).await;
    let deliveries = eventually("two deliveries and one more after the refusal", async || {
        let seen = received.lock().expect("not poisoned").clone();
        (seen.len() >= 3).then_some(seen)
    })
    .await;
    assert_eq!(deliveries.len(), 3);
    let line = sandbox.ledger("key", "op-1").await.remove(0);
    for (header, body) in &deliveries {
        let event: Value = serde_json::from_slice(body).expect("JSON");
        assert_eq!(event["type"], json!("charge.succeeded"));
        assert_eq!(event["provider_key"], json!("op-1"));
        assert_eq!(event["reference"], line["id"]);
        assert_eq!(
            (&event["merchant_reference"], &event["invoice_id"]),
            (&json!("INV-1"), &json!("INV-1"))
        );
        assert_eq!((&event["amount_minor"], &event["currency"]), (&json!(12_900), &json!("EUR")));
        assert_eq!(body, &deliveries[0].1, "the same event every time");
        let seconds = header
            .strip_prefix("t=")
            .and_then(|rest| rest.split_once(','))
            .map(|(seconds, _)| seconds);
        let seconds: i64 = seconds.and_then(|text| text.parse().ok()).expect("an instant");
        assert_eq!(header, &sign(b"whsec_test", seconds, body));
    }
    sandbox.stop().await;
}
