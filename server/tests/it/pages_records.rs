//! What the pages about events, messages, conflicts and leases must say, in the words that people
//! decide by; and that a number is shown as it was sent.

use axum::http::StatusCode;
use chrono::{DateTime, TimeDelta, Utc};
use domain::problem::Code;
use serde_json::json;

use crate::{
    forms::{confirm, leads_to},
    support::{Browser, Stage},
};

/// What a page says, without its frame and its markup.
pub async fn says(browser: &Browser<'_>, path: &str) -> String {
    let page = browser.get(path).await;
    page.expect(StatusCode::OK);
    assert!(page.body.len() < 300_000, "{path}: {} bytes", page.body.len());
    let page = page.text();
    let main = page.split("<main").nth(1).and_then(|rest| rest.split("</main>").next()).unwrap();
    let mut text = String::new();
    for piece in main.split('<') {
        text.push_str(piece.split_once('>').map_or("", |(_, words)| words));
    }
    text
}

#[track_caller]
pub fn has(page: &str, words: &[&str]) {
    for word in words {
        assert!(page.contains(word), "{word:?} is not in: {page}");
    }
}

/// The addresses of a list's rows.
pub async fn rows(browser: &Browser<'_>, list: &str) -> Vec<String> {
    let page = browser.get(list).await;
    page.expect(StatusCode::OK);
    let page = page.text();
    page.split("<a ")
        .filter_map(|rest| rest.split('>').next().filter(|tag| tag.contains("row-link")))
        .map(|tag| tag.split("href=\"").nth(1).unwrap().split('"').next().unwrap().to_owned())
        .collect()
}

async fn sql(stage: &Stage, statement: &'static str) {
    sqlx::query(statement).execute(stage.database.owner_pool()).await.unwrap();
}

/// The first event of an operation is refused for the last time; one more waits behind it.
async fn dead_event(stage: &Stage) {
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    sql(
        stage,
        "update outbox set status = 'publishing', move = 'X2', version = version + 1,
           fence = fence + 1, owner = 'p-1', destination = 'erp',
           lease_until = onceover_now() + interval '10 seconds' where seq = 1",
    )
    .await;
    sql(
        stage,
        "insert into outbox_attempts
           (tenant_id, event_id, fence, destination, owner, outcome, error, took_ms)
         select tenant_id, id, fence, 'erp', 'p-1', 'refused', 'HTTP 400: no such invoice', 41
         from outbox where seq = 1",
    )
    .await;
    sql(
        stage,
        "update outbox set status = 'dead', move = 'X6', version = version + 1,
           attempts = attempts + 1, owner = null, lease_until = null,
           last_error = 'HTTP 400: no such invoice' where seq = 1",
    )
    .await;
    sql(stage, "update aggregates set blocked = true").await;
}

#[tokio::test]
async fn each_row_of_the_first_page_and_of_leases_can_be_marked_as_changed() {
    let stage = Stage::open().await;
    dead_event(&stage).await;
    let held = stage.service("acme").await.reserve("INV-2", 100).await.json()["id"].clone();
    let viewer = stage.browser("viewer@acme.test").await;
    let dead = rows(&viewer, "/outbox?status=dead").await.remove(0);
    let waiting = rows(&viewer, "/").await;
    assert!(waiting.contains(&dead), "{waiting:?}");
    let page = viewer.get("/").await.text();
    assert!(page.contains(&format!("data-record=\"{}\"", dead.replace("/outbox/", "event/"))));
    assert_eq!(page.matches("data-record=\"").count(), waiting.len(), "{page}");

    let leases = viewer.get("/leases").await.text();
    assert!(leases.contains(&format!("data-record=\"operation/{}\"", held.as_str().unwrap())));
    assert!(leases.contains("data-component=\"Live"), "it listens to what changes");
    // What has no stream says since when it is right, and leads to itself anew.
    let admin = stage.browser("admin@acme.test").await;
    for path in ["/audit", "/admin/kinds", "/admin/staff"] {
        let page = admin.get(path).await;
        page.expect(StatusCode::OK);
        let page = page.text();
        assert!(!page.contains("data-component=\"Live"), "{path}");
        let line = page.split("<p class=\"live\">").nth(1).unwrap().split("</p>").next().unwrap();
        assert!(line.contains(&format!("href=\"{path}\"")), "{path}: {line}");
        assert!(
            line.contains("Read ") && line.contains("<time") && line.contains("Refresh"),
            "{line}"
        );
    }
}

#[tokio::test]
async fn a_dead_event_says_what_waits_behind_it_and_what_skipping_it_means() {
    let stage = Stage::open().await;
    dead_event(&stage).await;
    let operator = stage.browser("operator@acme.test").await;
    let dead = rows(&operator, "/outbox?status=dead").await.remove(0);
    let page = says(&operator, &dead).await;
    has(
        &page,
        &[
            "one event behind it waits",
            "Events of other aggregates go on.",
            "HTTP 400: no such invoice",
            "refused after 41 ms",
            "to erp, by p-1, fence 1",
            "Written with the change that it tells of.",
            "INV-1",
        ],
    );
    assert!(!page.contains("Told"), "nothing was told: {page}");

    let behind = rows(&operator, "/outbox?status=pending").await.remove(0);
    let list = says(&operator, "/outbox").await;
    has(&list, &["behind a dead one"]);
    let page = says(&operator, &behind).await;
    has(&page, &["It waits behind a dead event of its aggregate"]);
    let source = operator.get(&behind).await.text();
    assert!(source.contains(&format!("href=\"{dead}\"")), "the way to the head is on the page");
    assert!(!source.contains(&format!("{behind}/skip")), "only a dead one can be skipped");

    let form = says(&operator, &format!("{dead}/skip")).await;
    has(
        &form,
        &["never hears of it", "the events behind it go on at once", "cannot be taken back"],
    );
    let id = dead.trim_start_matches("/outbox/");
    let skip = async |browser: &Browser<'_>, version: &str| {
        let fields = [
            ("target_type", "outbox"),
            ("id", id),
            ("verb", "skip"),
            ("version", version),
            ("reason", "told by telephone"),
        ];
        browser.post("/act/records/decide", &fields).await
    };
    let viewer = stage.browser("viewer@acme.test").await;
    has(
        &says(&viewer, &dead).await,
        &["Your role lacks the right to", "Held by: operator, approver."],
    );
    let refused = leads_to(&skip(&viewer, "3").await, &dead);
    has(&says(&viewer, &refused).await, &[Code::PermissionMissing.title()]);
    let stale = leads_to(&skip(&operator, "2").await, &dead);
    // Who did what since then, the first time and once it was decided.
    has(&says(&operator, &stale).await, &["Your page showed version 2.", "Version 3."]);

    leads_to(&skip(&operator, "3").await, "/receipts/");
    let late = [
        ("target_type", "outbox"),
        ("id", id),
        ("verb", "requeue"),
        ("version", "3"),
        ("reason", "try"),
    ];
    let late = leads_to(&operator.post("/act/records/decide", &late).await, &dead);
    has(&says(&operator, &late).await, &["Your page showed version 3.", "Version 4.", "operator"]);
    let page = says(&operator, &dead).await;
    has(&page, &["Not told, by a person\u{2019}s decision", "told by telephone"]);
    let page = says(&operator, &behind).await;
    has(&page, &["It is the next of its aggregate"]);
}

#[tokio::test]
async fn a_refused_attempt_on_an_event_is_read_on_its_page() {
    let stage = Stage::open().await;
    dead_event(&stage).await;
    let viewer = stage.browser("viewer@acme.test").await;
    let operator = stage.browser("operator@acme.test").await;
    let dead = rows(&operator, "/outbox?status=dead").await.remove(0);
    let before = says(&operator, &dead).await;
    assert!(!before.contains("What people did"), "{before}");
    let fields = [
        ("target_type", "outbox"),
        ("id", dead.trim_start_matches("/outbox/")),
        ("verb", "skip"),
        ("version", "3"),
        ("reason", "nobody needs it"),
    ];
    leads_to(&viewer.post("/act/records/decide", &fields).await, &dead);
    let refused = format!("refused: {}", domain::told::refusal(Code::PermissionMissing));
    let page = says(&operator, &dead).await;
    has(&page, &["What people did", refused.as_str(), "nobody needs it"]);
}

async fn now(stage: &Stage) -> DateTime<Utc> {
    sqlx::query_scalar("select onceover_now()")
        .fetch_one(stage.database.owner_pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn a_late_message_says_that_it_may_have_been_done_and_who_may_decide() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    service.reserve("INV-7", 12_900).await.expect(StatusCode::CREATED);
    let late = json!({
        "consumer": "billing",
        "source": "orders",
        "message_id": "m-1",
        "produced_at": now(&stage).await - TimeDelta::days(8),
        "payload": { "invoice_id": "INV-7", "amount_minor": 12_900, "currency": "EUR" },
        "then": { "operation": { "operation": "invoice.charge" } },
    });
    for _ in 0..2 {
        service.post("/inbox", &late).await.refused(Code::Quarantined);
    }
    let mut other = late.clone();
    other["payload"]["amount_minor"] = json!(19_200);
    service.post("/inbox", &other).await.refused(Code::MessageReused);

    let operator = stage.browser("operator@acme.test").await;
    let message = rows(&operator, "/inbox?status=quarantined").await.remove(0);
    let page = says(&operator, &message).await;
    has(
        &page,
        &[
            "whether it was taken in before is not known",
            "May have been done already",
            "INV-7",
            "look there first",
            "takes a second person",
            "Same id, other content",
            "19200",
            "Kept apart: it came after its window",
            "Run: it may be done a second time",
            "Drop: it has no effect, ever",
        ],
    );
    has(
        &says(&operator, &format!("{message}/run")).await,
        &[
            "If it was done before and forgotten, it is done a second time",
            "nothing is done until somebody else agrees",
            "Ask for a second person to run it",
            "INV-7",
            "12900",
        ],
    );
    let viewer = stage.browser("viewer@acme.test").await;
    has(
        &says(&viewer, &message).await,
        &["Your role lacks the right to", "Held by: operator, approver."],
    );

    let fields = [
        ("target_type", "inbox"),
        ("id", message.trim_start_matches("/inbox/")),
        ("verb", "drop"),
        ("version", "1"),
        ("reason", "done by hand long ago"),
    ];
    let asked = operator.post("/act/records/decide", &fields).await;
    assert!(asked.status.is_redirection(), "{}", asked.text());
    let page = says(&operator, &message).await;
    assert!(page.contains("is not known"), "asked for, not done: {page}");
    assert!(!page.contains("Left out for good"), "asked for, not done: {page}");
}

#[tokio::test]
async fn a_conflict_names_the_money_first_and_whether_the_first_request_happened() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let service = stage.service("acme").await;
    for _ in 0..3 {
        service.reserve("INV-1", 19_200).await.refused(Code::KeyReused);
    }
    let operator = stage.browser("operator@acme.test").await;
    let conflict = rows(&operator, "/conflicts").await.remove(0);
    let page = says(&operator, &conflict).await;
    has(
        &page,
        &[
            "Whether the first request happened is not known.",
            "refused 3 times; nothing was done for it",
            "The refused request asked for more:",
            "+63.00 EUR",
            "/amount_minor",
            "12900",
            "19200",
        ],
    );
    assert!(!page.contains("did not happen"), "unknown is not failed: {page}");
    let money = page.find("+63.00 EUR").unwrap();
    assert!(money < page.find("/amount_minor").unwrap(), "the money stands first");
    let source = operator.get(&conflict).await.text();
    assert!(source.contains(&format!("/operations/{}", target.id)));

    leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    has(&says(&operator, &conflict).await, &["The first request happened.", "ch_1"]);
    let stranger = stage.browser("operator@globex.test").await;
    assert_eq!(stranger.get(&conflict).await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn a_lease_names_its_holder_and_leads_to_what_it_holds() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let held = service.reserve("INV-2", 100).await;
    held.expect(StatusCode::CREATED);
    let id = held.json()["id"].as_str().unwrap().to_owned();
    let viewer = stage.browser("viewer@acme.test").await;
    assert_eq!(rows(&viewer, "/leases").await, [format!("/operations/{id}")]);
    has(&says(&viewer, "/leases").await, &["INV-2", "invoice.charge", "1.00 EUR", "ends in"]);
    assert!(rows(&viewer, "/leases?status=stale").await.is_empty());
    has(&says(&viewer, "/leases?status=stale").await, &["No lease matches."]);
}

/// Beyond 2^53, where a float would round, and with zeros that a float would drop.
const EXACT: &str = r#""serial":9007199254740993,"rate":1.10,"share":0.50"#;
const OTHER: &str = r#""serial":9007199254740992,"rate":2.500,"share":0.5"#;

fn body(numbers: &str, rest: &str) -> String {
    format!(
        r#"{{{rest},"payload":{{"invoice_id":"INV-9","amount_minor":12900,"currency":"EUR",{numbers}}}}}"#
    )
}

#[tokio::test]
async fn numbers_appear_as_they_were_sent_on_every_page_and_in_the_difference() {
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    let charge =
        r#""operation":"invoice.charge","key":"INV-9","amount_minor":12900,"currency":"EUR""#;
    let won = service.post_text("/operations", &[], body(EXACT, charge)).await;
    won.expect(StatusCode::CREATED);
    let other = service.post_text("/operations", &[], body(OTHER, charge)).await;
    other.refused(Code::KeyReused);
    let produced_at = now(&stage).await.to_rfc3339();
    let message = format!(
        r#""consumer":"billing","source":"orders","message_id":"m-9","produced_at":"{produced_at}""#
    );
    let received = service.post_text("/inbox", &[], body(EXACT, &message)).await;
    assert!(received.status.is_success(), "{}", received.text());

    let viewer = stage.browser("viewer@acme.test").await;
    let operation = rows(&viewer, "/operations").await.remove(0);
    let message = rows(&viewer, "/inbox").await.remove(0);
    for path in [operation, message] {
        has(&says(&viewer, &path).await, &["9007199254740993", "1.10", "0.50"]);
    }
    let conflict = rows(&viewer, "/conflicts").await.remove(0);
    has(
        &says(&viewer, &conflict).await,
        &["\"rate\": 1.10", "\"share\": 0.50", "\"share\": 0.5\n"],
    );
    for (path, sent) in
        [(rows(&viewer, "/operations").await.remove(0), EXACT), (conflict.clone(), OTHER)]
    {
        let whole = viewer.get(&format!("{path}/payload")).await;
        whole.expect(StatusCode::OK);
        assert!(whole.text().contains(sent), "a download is what was sent: {}", whole.text());
    }
    let page = viewer.get(&conflict).await.text();
    let table = page.split("<table class=\"diff-table\">").nth(1).unwrap();
    let table = table.split("</table>").next().unwrap();
    has(table, &["9007199254740993", "9007199254740992", "1.10", "2.500"]);
    assert!(!table.contains("/share"), "the same amount, spelled otherwise, is no change: {table}");
}
