//! Masked fields from the outside: nowhere but in a reveal, by page without JavaScript and by API.

use axum::http::{StatusCode, header};
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::json;

use crate::{
    forms::{input, leads_to, refused_form},
    support::{Stage, charge},
};

const CARD: &str = "4111111111111111";
const TOKEN: &str = "tok-canary-77";

/// A charge, done, with masked fields in its payload, its answer, a payload of another request, an
/// event and a message that waits for a person.
async fn canaries(stage: &Stage) -> String {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let kind = KindPolicy {
        masked_pointers: vec!["/card".into(), "/token".into()],
        search_pointers: vec!["/invoice_id".into(), "/card".into()],
        ..charge()
    };
    admin.put_kind(tenant, &kind).await.unwrap();
    let service = stage.service("acme").await;
    let reserve = |amount: i64| {
        json!({ "operation": "invoice.charge", "key": "INV-1", "payload": {
            "invoice_id": "INV-1", "amount_minor": amount, "currency": "EUR", "card": CARD, "token": TOKEN,
        } })
    };
    let won = service.post("/operations", &reserve(12_900)).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    service.post("/operations", &reserve(1)).await.refused(Code::KeyReused);
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let finish = json!({
        "fence": fence, "outcome": "done", "external_reference": "ch_1",
        "response": { "content_type": "application/json", "body": json!({ "card": CARD, "paid": true }).to_string() },
        "events": [{ "aggregate": "INV-1", "topic": "invoice.paid", "payload": { "card": CARD, "token": TOKEN } }],
    });
    service.post(&at("finish"), &finish).await.expect(StatusCode::OK);
    let message = json!({
        "consumer": "billing", "source": "orders", "message_id": "m-1",
        "produced_at": "2020-01-01T00:00:00Z", "payload": { "card": CARD },
        "then": { "operation": { "operation": "invoice.charge", "payload": {
            "invoice_id": "INV-2", "amount_minor": 5, "currency": "EUR", "card": CARD, "token": TOKEN } } },
    });
    service.post("/inbox", &message).await;
    id
}

async fn ids(stage: &Stage, statement: &'static str) -> Vec<String> {
    sqlx::query_scalar(statement).fetch_all(stage.database.owner_pool()).await.unwrap()
}

/// How often the log says that something was revealed.
async fn revealed(stage: &Stage) -> i64 {
    sqlx::query_scalar("select count(*) from audit where action = 'reveal' and result = 'done'")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn no_page_and_no_call_shows_a_masked_field_but_its_reveal() {
    let stage = Stage::open().await;
    let id = canaries(&stage).await;
    let approver = stage.browser("approver@acme.test").await;
    let program = stage.staff("approver@acme.test").await;
    let mut pages: Vec<String> = [
        "/",
        "/operations",
        "/operations?q=INV-1",
        "/workflows",
        "/outbox",
        "/inbox",
        "/inbox?status=quarantined",
        "/conflicts",
        "/leases",
        "/approvals",
        "/incidents",
        "/me",
        "/admin/kinds",
        "/admin/kinds/invoice.charge",
    ]
    .map(str::to_owned)
    .to_vec();
    pages.extend([format!("/operations/{id}"), format!("/operations/{id}/reveal")]);
    pages.extend([format!("/operations/{id}/compensate"), format!("/operations/{id}/evidence")]);
    for (list, statement) in [
        ("/outbox", "select id::text from outbox"),
        ("/inbox", "select id::text from inbox"),
        ("/conflicts", "select id::text from payload_conflicts"),
    ] {
        let found = ids(&stage, statement).await;
        assert!(!found.is_empty(), "{list}");
        pages.extend(found.into_iter().map(|id| format!("{list}/{id}")));
    }
    for page in &pages {
        let shown = approver.get(page).await;
        shown.expect(StatusCode::OK);
        for canary in [CARD, TOKEN] {
            assert!(!shown.text().contains(canary), "{canary} on {page}");
        }
        let call = page.split('?').next().unwrap();
        let shown = program.get(call).await;
        for canary in [CARD, TOKEN] {
            assert!(!shown.text().contains(canary), "{canary} at /api/v1{call}");
        }
    }
    let auditor = stage.browser("auditor@acme.test").await;
    let log = auditor.get("/audit").await.text();
    assert!(!log.contains(CARD) && !log.contains(TOKEN));
    // Found by the whole of it, and still not shown.
    let found = approver.get(&format!("/operations?q={CARD}")).await.text();
    assert!(found.contains(&format!("/operations/{id}")), "{found}");
    testkit::threat("T33", 2 * pages.len() + 2, 0);
}

#[tokio::test]
async fn a_reveal_by_page_shows_the_fields_to_its_sender_alone_and_stays_out_of_addresses() {
    let stage = Stage::open().await;
    let id = canaries(&stage).await;
    let approver = stage.browser("approver@acme.test").await;
    let page = approver.get(&format!("/operations/{id}")).await.text();
    assert!(page.contains(&format!("href=\"/operations/{id}/reveal\"")), "{page}");
    let form = approver.get(&format!("/operations/{id}/reveal")).await.text();
    assert!(form.contains("payload/card") && form.contains("answer/card"), "{form}");
    let key = input(&form, "form_key");
    let send = async |reason: &str, key: &str| {
        let fields = [
            ("target_type", "operation"),
            ("id", id.as_str()),
            ("form_key", key),
            ("reason", reason),
        ];
        approver.post("/act/records/reveal", &fields).await
    };
    let refused = send("", &key).await;
    refused_form(&refused, &format!("/operations/{id}/reveal"), Code::Unprocessable);
    let again = approver.get(refused.header("location")).await.text();
    assert_eq!(input(&again, "form_key"), key);

    let place = leads_to(&send("the bank asks", &key).await, "/reveals/");
    assert!(!place.contains(CARD));
    let shown = approver.get(&place).await;
    shown.expect(StatusCode::OK);
    assert_eq!(shown.headers[header::CACHE_CONTROL], "no-store");
    assert!(shown.text().contains(CARD) && shown.text().contains(TOKEN));
    assert_eq!(leads_to(&send("the bank asks", &key).await, "/reveals/"), place, "sent twice");
    assert_eq!(revealed(&stage).await, 1);

    for email in ["operator@acme.test", "viewer@acme.test"] {
        let other = stage.browser(email).await;
        let record = other.get(&format!("/operations/{id}")).await.text();
        let why = "lacks the right to reveal masked fields. Held by: approver.";
        assert!(record.contains(why), "{record}");
        let peeked = other.get(&place).await;
        peeked.expect(StatusCode::FORBIDDEN);
        assert!(!peeked.text().contains(CARD));
    }
    stage.stranger().get(&place).await.expect(StatusCode::SEE_OTHER);
    stage.database.advance_clock(std::time::Duration::from_secs(301)).await;
    let over = approver.get(&place).await.text();
    assert!(over.contains("This reveal is over.") && !over.contains(CARD), "{over}");
}

#[tokio::test]
async fn a_reveal_by_api_answers_once_with_the_values_and_is_written_once() {
    let stage = Stage::open().await;
    let id = canaries(&stage).await;
    let approver = stage.staff("approver@acme.test").await;
    let operator = stage.staff("operator@acme.test").await;
    let path = format!("/operations/{id}/actions/reveal");
    let why = json!({ "reason": "the bank asks" });
    operator.post(&path, &why).await.refused(Code::PermissionMissing);
    approver.post(&path, &json!({})).await.refused(Code::Unprocessable);
    let key = [("idempotency-key", "k-1")];
    let first = approver.post_text(&path, &key, why.to_string()).await;
    first.expect(StatusCode::OK);
    let bodies = first.json()["bodies"].clone();
    assert_eq!(
        bodies[0]["fields"][0],
        json!({ "pointer": "/card", "value": format!("\"{CARD}\"") })
    );
    let again = approver.post_text(&path, &key, why.to_string()).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    assert_eq!(again.json()["id"], first.json()["id"]);
    assert_eq!(revealed(&stage).await, 1);
    for (list, statement) in [
        ("outbox", "select id::text from outbox where topic = 'invoice.paid'"),
        ("inbox", "select id::text from inbox"),
    ] {
        let record = ids(&stage, statement).await.remove(0);
        let shown = approver.post(&format!("/{list}/{record}/actions/reveal"), &why).await;
        shown.expect(StatusCode::OK);
        assert!(shown.text().contains(CARD), "{list}");
    }
}
