//! Bulks from the outside: picked in a list, frozen, looked at, started and read, by plain forms and by
//! calls.

use axum::http::StatusCode;
use domain::problem::Code;
use serde_json::{Value, json};

use crate::{
    forms::{leads_to, refused_form},
    pages_records::{has, says},
    support::{Answer, Browser, Operation, Stage},
};

/// Has the background work until nothing moves by itself any more.
async fn advance(stage: &Stage) {
    while stage.state.engine.advance_bulks().await.unwrap().handled > 0 {}
}

async fn freeze(browser: &Browser<'_>, picked: &[&Operation], more: &[(&str, &str)]) -> Answer {
    let records: Vec<_> = picked.iter().map(|it| format!("operation/{}", it.id)).collect();
    let mut fields = vec![("list", "operations")];
    fields.extend(records.iter().map(|record| ("record", record.as_str())));
    fields.extend(more);
    browser.post("/act/bulks/freeze", &fields).await
}

async fn decide(browser: &Browser<'_>, place: &str, verb: &str) -> Answer {
    let id = place.trim_start_matches("/bulks/");
    let program = browser.stage.staff("operator@acme.test").await;
    let version = program.get(&format!("/bulks/{id}")).await.json()["version"].to_string();
    let fields = [
        ("target_type", "bulk"),
        ("id", id),
        ("verb", verb),
        ("version", &version),
        ("reason", "the provider is back"),
    ];
    browser.post("/act/records/decide", &fields).await
}

#[tokio::test]
async fn rows_are_picked_frozen_looked_at_started_and_read_by_plain_forms() {
    let stage = Stage::open().await;
    let (one, two) = (stage.unknown("acme", "INV-1").await, stage.unknown("acme", "INV-2").await);
    let operator = stage.browser("operator@acme.test").await;

    let list = operator.get("/operations?status=unknown").await;
    list.expect(StatusCode::OK);
    for mark in [
        "id=\"selection\"",
        "action=\"/act/bulks/freeze\"",
        "formaction=\"/incidents/gather\"",
        "name=\"all\"",
        "aria-label=\"Pick INV-1\"",
        &format!("value=\"operation/{}\"", one.id),
    ] {
        assert!(list.text().contains(mark), "{mark}: {}", list.text());
    }
    assert!(!list.text().contains("value=\"confirm\""), "confirm is no bulk verb");

    let (before, done) = (stage.effects().await, stage.audited("done").await);
    let frozen = freeze(&operator, &[&one, &two], &[("bulk", "reconcile")]).await;
    let place = leads_to(&frozen, "/bulks/");
    advance(&stage).await;
    let page = operator.get(&place).await;
    page.expect(StatusCode::OK);
    for words in [
        "2 of 2 records can be decided",
        "Reconcile 2 operations",
        "258.00 EUR",
        "It can be started until",
    ] {
        assert!(page.text().contains(words), "{words}: {}", page.text());
    }
    let after = stage.effects().await;
    assert_eq!(after.since(&before), ["audit", "bulk_rows", "bulks"], "only looked at");
    assert_eq!(stage.audited("done").await, done + 1, "one audit row that says that it was frozen");

    let receipt = leads_to(&decide(&operator, &place, "run").await, "/receipts/");
    operator.get(&receipt).await.expect(StatusCode::OK);
    let running = operator.get(&place).await;
    assert!(running.text().contains("<progress"), "{}", running.text());
    operator.get(&format!("{place}/pause")).await.expect(StatusCode::OK);
    advance(&stage).await;
    let page = operator.get(&format!("{place}?standing=done")).await;
    assert!(page.text().contains("2 of 2: 2 done, 0 refused."), "{}", page.text());
    let asked_only = "whether an outcome was found stands on each record";
    assert!(page.text().contains(asked_only), "{}", page.text());
    let text = page.text();
    let own = text.split("/receipts/").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let receipt = operator.get(&format!("/receipts/{own}")).await;
    assert!(receipt.text().contains(&format!("href=\"{place}\"")), "{}", receipt.text());
    let record = operator.get(&format!("/operations/{}", one.id)).await;
    assert!(record.text().contains(&format!("href=\"{place}\"")), "{}", record.text());
    let log = stage.browser("auditor@acme.test").await.get("/audit?verb=reconcile").await;
    assert_eq!(log.text().matches(&format!("href=\"{place}\"")).count(), 2, "{}", log.text());
    operator.get("/bulks").await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_row_that_cannot_be_decided_or_was_refused_says_why_in_words() {
    let stage = Stage::open().await;
    let one = stage.unknown("acme", "INV-1").await;
    let held = stage.service("acme").await.reserve("INV-2", 100).await.json()["id"].clone();
    let held = Operation { id: held.as_str().unwrap().to_owned(), version: 1 };
    let operator = stage.browser("operator@acme.test").await;
    let frozen = freeze(&operator, &[&one, &held], &[("bulk", "reconcile")]).await;
    let place = leads_to(&frozen, "/bulks/");
    advance(&stage).await;
    let page = says(&operator, &format!("{place}?standing=ineligible")).await;
    let why = "This action does not apply to the state the operation is in.";
    has(&page, &["1 of 2 records can be decided", "INV-2", why]);
    assert!(!page.contains("not_allowed_in_state"), "the code is for programs: {page}");

    // Somebody decides about it between the look and the start.
    let program = stage.staff("operator@acme.test").await;
    let confirm = format!("/operations/{}/actions/confirm", one.id);
    program.post(&confirm, &one.confirm()).await.expect(StatusCode::OK);
    leads_to(&decide(&operator, &place, "run").await, "/receipts/");
    advance(&stage).await;
    let page = says(&operator, &format!("{place}?standing=refused")).await;
    let why = "The record has changed since this page was shown.";
    has(&page, &["1 of 1: 0 done, 1 refused.", "INV-1", why]);
}

#[tokio::test]
async fn a_set_that_nobody_started_says_that_it_expired_and_offers_nothing() {
    let stage = Stage::open_with(&[("ONCEOVER_BULK_START_HOURS", "2")]).await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let place = leads_to(&freeze(&operator, &[&target], &[("bulk", "reconcile")]).await, "/bulks/");
    advance(&stage).await;
    stage.database.advance_clock(std::time::Duration::from_secs(2 * 3_600)).await;
    // The session of before has lapsed, too.
    let operator = stage.browser("operator@acme.test").await;
    for expired in [0, 1] {
        let page = operator.get(&place).await;
        page.expect(StatusCode::OK);
        assert!(page.text().contains("it expired, and nothing was done"), "{}", page.text());
        assert!(!page.text().contains("name=\"reason\""), "no form: {}", page.text());
        let late = decide(&operator, &place, "run").await;
        refused_form(&late, &format!("{place}/run"), Code::NotAllowedInState);
        assert_eq!(stage.state.engine.expire_bulks().await.unwrap().handled, 1 - expired);
    }
}

#[tokio::test]
async fn all_that_match_means_what_the_list_shows_and_never_all_there_is() {
    let stage = Stage::open().await;
    stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    // A link gets parameters on its way through other programs; they say nothing to the list.
    let narrowed = [("bulk", "reconcile"), ("all", "true"), ("filter", "status=unknown&utm=x")];
    let place = leads_to(&freeze(&operator, &[], &narrowed).await, "/bulks/");
    advance(&stage).await;
    let page = operator.get(&place).await;
    assert!(page.text().contains("status = unknown"), "{}", page.text());
    assert!(page.text().contains("Reconcile 1 operation"));

    for (more, field, words) in [
        (&[("bulk", "reconcile"), ("all", "true")][..], "filter", "Narrow the list"),
        (&[("bulk", "reconcile")], "records", "Pick at least one row"),
        (
            &[("bulk", "confirm"), ("all", "true"), ("filter", "status=unknown")],
            "verb",
            "record by record",
        ),
    ] {
        let refused = freeze(&operator, &[], more).await;
        refused_form(&refused, "/bulks", Code::Unprocessable);
        let place = refused.header("location").to_owned();
        assert!(place.contains(&format!("field={field}")), "{place}");
        let page = operator.get(&place).await;
        assert!(page.text().contains(words), "{words}: {}", page.text());
        assert!(page.text().contains("Back to Operations"));
    }
}

#[tokio::test]
async fn who_may_not_sees_the_buttons_and_which_right_is_missing() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let viewer = stage.browser("viewer@acme.test").await;
    let list = viewer.get("/operations").await;
    assert!(list.text().contains("act on many records at once"), "{}", list.text());
    let refused = freeze(&viewer, &[&target], &[("bulk", "reconcile")]).await;
    refused_form(&refused, "/bulks", Code::PermissionMissing);
    let page = viewer.get(refused.header("location")).await;
    assert!(page.text().contains("Held by: operator, approver"), "{}", page.text());
}

#[tokio::test]
async fn a_bulk_of_another_tenant_is_no_bulk() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let frozen = freeze(&operator, &[&target], &[("bulk", "reconcile")]).await;
    let place = leads_to(&frozen, "/bulks/");
    let stranger = stage.browser("operator@globex.test").await;
    stranger.get(&place).await.expect(StatusCode::NOT_FOUND);
    let refused = freeze(&stranger, &[&target], &[("bulk", "reconcile")]).await;
    refused_form(&refused, "/bulks", Code::NotFound);
    let program = stage.staff("operator@globex.test").await;
    program.get(&format!("{place}/rows")).await.refused(Code::NotFound);
}

#[tokio::test]
async fn a_program_freezes_starts_pauses_and_reads_the_rows() {
    let stage = Stage::open().await;
    let (one, two) = (stage.unknown("acme", "INV-1").await, stage.unknown("acme", "INV-2").await);
    let operator = stage.staff("operator@acme.test").await;
    let body =
        json!({ "list": "operations", "verb": "reconcile", "filter": { "status": "unknown" } });
    let frozen = operator.post("/bulks", &body).await;
    frozen.expect(StatusCode::CREATED);
    let place = frozen.header("location").trim_start_matches("/api/v1").to_owned();
    advance(&stage).await;
    let ready = operator.get(&place).await.json();
    assert_eq!((&ready["status"], &ready["eligible"]), (&json!("ready"), &json!(2)));
    let rows = operator.get(&format!("{place}/rows?standing=eligible&limit=1")).await.json();
    assert_eq!(rows["items"].as_array().map(Vec::len), Some(1));
    let cursor = rows["next"].as_str().unwrap();
    let rest = operator.get(&format!("{place}/rows?cursor={cursor}")).await.json();
    assert_eq!(rest["items"].as_array().map(Vec::len), Some(1));
    let act = async |verb: &str, version: &Value| {
        let body = json!({ "version": version, "reason": "the provider is back" });
        operator.post(&format!("{place}/actions/{verb}"), &body).await
    };
    act("pause", &ready["version"]).await.refused(Code::NotAllowedInState);
    act("run", &ready["version"]).await.expect(StatusCode::OK);
    let again = act("run", &ready["version"]).await;
    assert_eq!(again.header("idempotent-replayed"), "true");
    let version = operator.get(&place).await.json()["version"].clone();
    act("pause", &version).await.expect(StatusCode::OK);
    advance(&stage).await;
    let paused = operator.get(&place).await.json();
    assert_eq!((&paused["status"], &paused["done"]), (&json!("paused"), &json!(0)));
    act("resume", &paused["version"]).await.expect(StatusCode::OK);
    advance(&stage).await;
    let over = operator.get(&place).await.json();
    assert_eq!((&over["status"], &over["done"]), (&json!("over"), &json!(2)));
    for target in [&one, &two] {
        let detail = operator.get(&format!("/operations/{}", target.id)).await.json();
        assert_eq!(detail["version"], json!(target.version + 1));
    }

    for (body, code) in [
        (json!({ "list": "operations", "verb": "reconcile" }), Code::Unprocessable),
        (json!({ "list": "operations", "verb": "reconcile", "filter": {} }), Code::Unprocessable),
        (
            json!({ "list": "operations", "verb": "confirm", "records": [one.id] }),
            Code::Unprocessable,
        ),
        (json!({ "list": "audit", "verb": "confirm", "records": [one.id] }), Code::Unprocessable),
        (
            json!({ "list": "operations", "verb": "retry", "filter": { "sort": "id" } }),
            Code::FilterInvalid,
        ),
    ] {
        operator.post("/bulks", &body).await.refused(code);
    }
}
