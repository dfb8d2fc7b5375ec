//! What a provider tells afterwards.

use sandbox::{
    EffectKind,
    providers::{Mode, Rule},
};
use serde_json::json;

use crate::support::{DEADLINE, Folder, Running, eventually};

#[tokio::test]
async fn an_effect_is_found_by_key_and_by_the_providers_id() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    let id = sandbox.charge("op-1", "INV-1", 12_900).await.reference.expect("charged");
    for path in
        ["/payments/charges?key=op-1".to_owned(), format!("/payments/charges?reference={id}")]
    {
        let (status, body) = sandbox.get(&path).await;
        assert_eq!(status, 200);
        assert_eq!(body["found"], json!(true));
        assert_eq!(
            (&body["id"], &body["amount_minor"], &body["currency"]),
            (&json!(id), &json!(12_900), &json!("EUR"))
        );
        assert_eq!(body["status"], json!("succeeded"));
    }
    // A charge is no refund, and a merchant's reference is not the provider's.
    for path in [
        "/payments/refunds?key=op-1",
        "/payments/charges?reference=INV-1",
        "/payments/charges?key=op-2",
    ] {
        assert_eq!(sandbox.get(path).await, (404, json!({ "found": false })), "{path}");
    }
    assert_eq!(sandbox.get("/payments/charges").await.0, 400);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_lagging_lookup_first_denies_and_later_finds() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::always(Mode::LookupLag { ms: 400 })).await;
    sandbox.charge("op-1", "INV-1", 500).await;
    assert_eq!(sandbox.get("/payments/charges?key=op-1").await, (404, json!({ "found": false })));
    eventually("the lookup catches up", async || {
        (sandbox.get("/payments/charges?key=op-1").await.0 == 200).then_some(())
    })
    .await;
    sandbox.stop().await;
}

#[tokio::test]
async fn a_provider_without_lookup_says_so_whether_it_charged_or_not() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.rule(Rule::always(Mode::NoLookup).for_reference(EffectKind::Charge, "INV-1")).await;
    sandbox.rule(Rule::once(Mode::Fail500)).await;
    sandbox.charge("op-failed", "INV-1", 500).await;
    sandbox.charge("op-done", "INV-1", 500).await;
    sandbox.charge("op-else", "INV-2", 500).await;
    for key in ["op-failed", "op-done"] {
        let answer = sandbox.get(&format!("/payments/charges?key={key}")).await;
        assert_eq!(answer, (501, json!({ "error": "lookup_unsupported" })), "{key}");
    }
    assert_eq!(sandbox.get("/payments/charges?key=op-else").await.0, 200);
    sandbox.stop().await;
}

#[tokio::test]
async fn a_lookup_can_fail_or_name_another_amount() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    sandbox.charge("op-1", "INV-1", 500).await;
    sandbox.rule(Rule::once(Mode::Lookup500)).await;
    assert_eq!(sandbox.get("/payments/charges?key=op-1").await.0, 500);
    sandbox.rule(Rule::once(Mode::LookupWrongAmount)).await;
    assert_eq!(sandbox.get("/payments/charges?key=op-1").await.1["amount_minor"], json!(600));
    assert_eq!(sandbox.get("/payments/charges?key=op-1").await.1["amount_minor"], json!(500));
    sandbox.stop().await;
}

#[tokio::test]
async fn mails_publications_and_drafts_are_found_too() {
    let folder = Folder::new();
    let sandbox = Running::start(&folder).await;
    for (kind, body) in [
        (EffectKind::Mail, json!({ "campaign_id": "c", "recipient_id": "r" })),
        (EffectKind::Publication, json!({ "document_id": "DOC-1", "version": 2 })),
        (
            EffectKind::Unpublication,
            json!({ "document_id": "DOC-1", "version": 2, "publication_reference": "pub_1" }),
        ),
        (EffectKind::Draft, json!({ "topic": "t" })),
        (
            EffectKind::Refund,
            json!({ "invoice_id": "INV-1", "charge_reference": "ch_1", "amount_minor": 5, "currency": "EUR" }),
        ),
    ] {
        sandbox.provider.call(kind, "op-1", &body, DEADLINE).await;
        assert_eq!(sandbox.get(&format!("{}?key=op-1", kind.path())).await.0, 200, "{kind:?}");
    }
    sandbox.stop().await;
}
