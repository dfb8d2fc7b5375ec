//! Idempotency keys, and the ledger over restarts.

use std::{io::Write, time::Duration};

use sandbox::{
    EffectKind,
    client::Outcome,
    providers::{Config, Error, LedgerError, Mode, Providers, Rule},
};
use serde_json::json;

use crate::support::{DEADLINE, Folder, Running, charge_body, eventually};

#[tokio::test]
async fn fifty_deliveries_at_once_charge_once() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let calls: Vec<_> = (0..50)
        .map(|_| {
            let provider = sandbox.provider.clone();
            tokio::spawn(async move {
                provider
                    .call(EffectKind::Charge, "op-1", &charge_body("INV-1", 500), DEADLINE)
                    .await
            })
        })
        .collect();
    let mut bodies = Vec::new();
    for call in calls {
        bodies.push(call.await.expect("no panic").answer.map(|answer| answer.body));
    }
    bodies.dedup();
    assert_eq!(bodies.len(), 1, "every answer is the first one, byte for byte");
    assert_eq!(sandbox.ledger("invoice_id", "INV-1").await.len(), 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn the_same_key_with_another_amount_does_nothing() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.charge("op-1", "INV-1", 500).await;
    let other = sandbox.charge("op-1", "INV-1", 600).await;
    assert_eq!(other.answer.map(|answer| answer.status), Some(409));
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 1);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_provider_without_keys_charges_twice_and_the_ledger_tells() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::always(Mode::NoKeys)).await;
    let first = sandbox.charge("op-1", "INV-1", 500).await;
    let second = sandbox.charge("op-1", "INV-1", 500).await;
    assert_ne!(first.reference, second.reference);
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 2);
    assert_eq!(sandbox.get("/payments/charges?key=op-1").await.1["count"], json!(2));
    sandbox.stop().await;
}

#[tokio::test]
async fn a_forgotten_key_charges_again() {
    let folder = Folder::new();
    let sandbox = Running::with(Config {
        key_ttl: Duration::from_millis(300),
        ..Config::new(folder.path().into(), 7)
    })
    .await;
    let first = sandbox.charge("op-1", "INV-1", 500).await;
    let second = eventually("another charge under the forgotten key", async || {
        let call = sandbox.charge("op-1", "INV-1", 500).await;
        (call.reference != first.reference).then_some(call)
    })
    .await;
    assert_eq!(second.outcome, Outcome::Done);
    assert_eq!(sandbox.ledger("key", "op-1").await.len(), 2);
    sandbox.rule(Rule::always(Mode::KeyTtl { ms: 60_000 })).await;
    assert_eq!(
        sandbox.charge("op-1", "INV-1", 500).await.reference,
        second.reference,
        "a rule can lengthen the memory"
    );
    sandbox.stop().await;
}

#[tokio::test]
async fn a_restart_forgets_neither_effects_nor_keys_nor_rules() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let first = sandbox.charge("op-1", "INV-1", 12_900).await;
    let mail = json!({ "campaign_id": "été", "recipient_id": "rcp-1" });
    sandbox.provider.call(EffectKind::Mail, "op-2", &mail, DEADLINE).await;
    sandbox.rule(Rule::always(Mode::NoLookup).for_key(EffectKind::Charge, "op-1")).await;
    let before = sandbox.control.ledger(&[]).await.expect("the ledger");
    sandbox.stop().await;

    let again = Running::start(&folder).await;
    assert_eq!(again.control.ledger(&[]).await.expect("the ledger"), before);
    let repeated = again.charge("op-1", "INV-1", 12_900).await;
    assert_eq!(repeated, first, "the stored answer, byte for byte");
    assert_eq!(again.get("/payments/charges?key=op-1").await.0, 501);
    assert_eq!(again.ledger("campaign_id", "été").await.len(), 1);
    again.stop().await;
}

#[tokio::test]
async fn a_torn_last_line_was_never_answered_and_is_cut_off() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.charge("op-1", "INV-1", 500).await;
    sandbox.stop().await;
    let file = folder.path().join("payments.jsonl");
    let mut ledger = std::fs::OpenOptions::new().append(true).open(&file).expect("the file");
    ledger.write_all(br#"{"id":"ch_torn","ki"#).expect("written");
    drop(ledger);

    let again = Running::start(&folder).await;
    again.charge("op-2", "INV-2", 500).await;
    assert_eq!(again.control.ledger(&[]).await.expect("the ledger").len(), 2);
    again.stop().await;
    // The next line did not grow onto the torn one: both can be read back.
    let third = Running::start(&folder).await;
    for key in ["op-1", "op-2"] {
        assert_eq!(third.ledger("key", key).await.len(), 1, "{key}");
    }
    third.stop().await;
}

#[tokio::test]
async fn a_broken_ledger_or_a_second_owner_stops_the_start() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let second = Providers::bind(Config::new(folder.path().into(), 7)).await;
    assert!(matches!(second, Err(Error::Ledger(LedgerError::InUse(_)))));
    sandbox.stop().await;

    std::fs::write(folder.path().join("mail.jsonl"), "{\"id\":1}\n").expect("written");
    let broken = Providers::bind(Config::new(folder.path().into(), 7)).await;
    assert!(matches!(broken, Err(Error::Ledger(LedgerError::Broken { line: 1, .. }))));

    let open = Config {
        listen: "0.0.0.0:0".parse().expect("an address"),
        ..Config::new(folder.path().into(), 7)
    };
    assert!(matches!(Providers::bind(open).await, Err(Error::NotLoopback(_))));
}

#[tokio::test]
async fn a_ledger_line_says_who_what_and_when() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let call = sandbox.charge("op-1", "INV-1", 12_900).await;
    let id = call.reference.expect("charged");
    let line = sandbox.ledger("reference", &id).await.remove(0);
    for (name, value) in [
        ("provider", json!("payments")),
        ("kind", json!("charge")),
        ("id", json!(id)),
        ("key", json!("op-1")),
        ("reference", json!("INV-1")),
        ("invoice_id", json!("INV-1")),
        ("amount_minor", json!(12_900)),
        ("currency", json!("EUR")),
    ] {
        assert_eq!(line[name], value, "{name}");
    }
    assert!(line["at"].as_str().is_some_and(|at| at.ends_with('Z')));
    // A worker may send the payload alone: its invoice is the merchant's reference too.
    let bare = json!({ "invoice_id": "INV-1", "amount_minor": 1, "currency": "EUR" });
    sandbox.provider.call(EffectKind::Charge, "op-2", &bare, DEADLINE).await;
    assert_eq!(sandbox.ledger("reference", "INV-1").await.len(), 2);
    assert_eq!(sandbox.get("/ledger?colour=red").await.0, 400);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_bad_request_is_refused_with_the_field_named() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    for (body, field) in [
        (json!({ "currency": "EUR" }), "amount_minor"),
        (json!({ "amount_minor": 1.5, "currency": "EUR" }), "amount_minor"),
        (json!({ "amount_minor": 5, "currency": "eur" }), "currency"),
        (json!([]), "object"),
    ] {
        let call = sandbox.provider.call(EffectKind::Charge, "op-1", &body, DEADLINE).await;
        let answer = call.answer.expect("an answer");
        assert_eq!(answer.status, 400);
        assert!(String::from_utf8_lossy(&answer.body).contains(field), "{field}");
    }
    assert!(sandbox.control.ledger(&[]).await.expect("the ledger").is_empty());
    sandbox.stop().await;
}
