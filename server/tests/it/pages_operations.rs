//! What the page of an operation says of its key's life, and where its reference leads.

use std::time::Duration;

use axum::http::StatusCode;
use chrono::{DateTime, Utc};
use domain::problem::Code;
use engine::store::kind::KindPolicy;
use serde_json::json;
use testkit::eventually;

use crate::{
    pages_records::{has, says},
    support::{Stage, charge},
};

const LIMIT: Duration = Duration::from_secs(30);
/// Shorter than a session may be idle.
const RETENTION: Duration = Duration::from_secs(600);

async fn kind(stage: &Stage, policy: KindPolicy) {
    let mut admin = stage.admin().await;
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    admin.put_kind(tenant, &policy).await.unwrap();
}

/// A charge that the provider did under this reference.
async fn done(stage: &Stage, key: &str, reference: &str) -> String {
    let service = stage.service("acme").await;
    let won = service.reserve(key, 12_900).await;
    won.expect(StatusCode::CREATED);
    let (id, fence) = (won.json()["id"].as_str().unwrap().to_owned(), won.json()["fence"].clone());
    let at = |call: &str| format!("/operations/{id}/{call}");
    service.post(&at("start"), &json!({ "fence": fence })).await.expect(StatusCode::OK);
    let finish = json!({
        "fence": fence, "outcome": "done", "external_reference": reference,
        "response": { "body": { "note": "paid in full" } },
    });
    service.post(&at("finish"), &finish).await.expect(StatusCode::OK);
    id
}

/// The markup of a fact on a page.
fn fact<'a>(page: &'a str, name: &str) -> Option<&'a str> {
    // The column of facts is the last of a page.
    let rest = page.rsplit_once(&format!("<dt>{name}</dt>"))?.1;
    Some(rest.split_once("<dd>")?.1.split_once("</dd>")?.0)
}

/// The instant of a fact.
fn instant(page: &str, name: &str) -> Option<i64> {
    let at = fact(page, name)?.split_once("datetime=\"")?.1.split_once('"')?.0;
    Some(at.parse::<DateTime<Utc>>().unwrap().timestamp())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_life_of_a_key_is_told_before_and_after_its_contents_expire() {
    let stage = Stage::open().await;
    let retention_ms = Some(i64::try_from(RETENTION.as_millis()).unwrap());
    kind(&stage, KindPolicy { retention_ms, ..charge() }).await;
    let id = done(&stage, "INV-1", "ch_1").await;
    let path = format!("/operations/{id}");
    let viewer = stage.browser("viewer@acme.test").await;
    let page = async || viewer.get(&path).await.markup();

    let before = page().await;
    assert!(before.contains("Life of its key"), "{before}");
    assert_eq!(fact(&before, "A repeat gets"), Some("the stored answer"));
    assert_eq!(fact(&before, "Repeats answered"), Some("none counted"));
    let ended = instant(&before, "Became final").unwrap();
    let apart = instant(&before, "Expires from").unwrap() - ended - 600;
    assert!((0..=1).contains(&apart), "its retention after it became final: {apart}");
    assert_eq!(fact(&before, "Tombstone since"), None);
    assert!(before.contains("paid in full"), "{before}");

    let service = stage.service("acme").await;
    let again = service.reserve("INV-1", 12_900).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    eventually("the repeat is counted", LIMIT, async || {
        fact(&page().await, "Repeats answered") == Some("at least one")
    })
    .await;
    assert!(instant(&page().await, "Last repeat").is_some());

    // What is not told yet holds it.
    stage.database.advance_clock(RETENTION + Duration::from_secs(1)).await;
    assert_eq!(stage.state.engine.expire_due().await.unwrap().handled, 0);
    stage.database.settle_outbox().await;
    assert_eq!(stage.state.engine.expire_due().await.unwrap().handled, 1);
    let after = page().await;
    assert_eq!(fact(&after, "A repeat gets"), Some("state and reference alone"));
    assert_eq!(fact(&after, "Repeats answered"), Some("at least one"));
    assert!(instant(&after, "Tombstone since") >= instant(&after, "Expires from"));
    assert!(after.contains("the key stays closed.") && after.contains("data-status=\"tombstone\""));
    assert!(!after.contains("paid in full") && !after.contains("invoice_id"), "{after}");
    has(&says(&viewer, &path).await, &["ch_1", "129.00 EUR"]);
    service.reserve("INV-1", 12_900).await.refused(Code::Tombstoned);
}

#[tokio::test]
async fn a_reference_leads_to_the_providers_own_page_and_a_hostile_one_to_nowhere_else() {
    let stage = Stage::open().await;
    let template = "https://provider.example/charges/{reference}";
    kind(&stage, KindPolicy { reference_url: Some(template.into()), ..charge() }).await;
    let viewer = stage.browser("viewer@acme.test").await;
    for (key, reference, href) in [
        ("INV-1", "ch_1", "https://provider.example/charges/ch_1"),
        (
            "INV-2",
            "\"><script>alert(1)</script>",
            "https://provider.example/charges/%22%3E%3Cscript%3Ealert%281%29%3C%2Fscript%3E",
        ),
        (
            "INV-3",
            "../../@evil.example/?a=b#c",
            "https://provider.example/charges/..%2F..%2F%40evil.example%2F%3Fa%3Db%23c",
        ),
    ] {
        let id = done(&stage, key, reference).await;
        let page = viewer.get(&format!("/operations/{id}")).await.markup();
        let link = fact(&page, "Reference").unwrap();
        assert!(link.contains(&format!("href=\"{href}\"")), "{link}");
        assert!(link.contains("rel=\"external noopener noreferrer\""), "{link}");
        assert!(!page.contains("<script>alert"), "{link}");
    }
    let id = done(&stage, "INV-4", "ch_4").await;
    let put = async |template: &str| {
        sqlx::query("update operation_kinds set reference_url = $1")
            .bind(template)
            .execute(stage.database.owner_pool())
            .await
    };
    for hostile in [
        "javascript:alert(document.domain)//{reference}",
        "http://provider.example/{reference}",
        "data:text/html,<script>alert(1)</script>{reference}",
        "//evil.example/{reference}",
        " https://provider.example/{reference}",
    ] {
        assert!(put(hostile).await.is_err(), "no table takes it: {hostile}");
    }
    // What the table takes and no form would: the page does not believe the table.
    for odd in
        ["https://", "https://provider.example/ {reference}", "https://a\n.example/{reference}"]
    {
        put(odd).await.unwrap();
        let page = viewer.get(&format!("/operations/{id}")).await.markup();
        let shown = fact(&page, "Reference").unwrap();
        assert!(shown.contains("ch_4") && !shown.contains("href="), "{odd:?}: {shown}");
    }
}
