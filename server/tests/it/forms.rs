//! Every action works as a plain form, without JavaScript.

use axum::http::StatusCode;
use domain::problem::Code;

use crate::support::{Answer, Browser, Operation, Stage};

pub async fn confirm(browser: &Browser<'_>, target: &Operation, reference: &str) -> Answer {
    let version = target.version.to_string();
    let fields = [
        ("id", target.id.as_str()),
        ("version", &version),
        ("outcome", "happened"),
        ("external_reference", reference),
        ("reason", "the provider's page shows it"),
        ("evidence", "https://provider.example/ch_1"),
    ];
    browser.post("/act/operations/confirm", &fields).await
}

#[track_caller]
pub fn leads_to(answer: &Answer, start: &str) -> String {
    assert_eq!(answer.status, StatusCode::SEE_OTHER, "{}", answer.text());
    let place = answer.header("location").to_owned();
    assert!(place.starts_with(start), "{place}");
    place
}

/// A plain form leads back to the page that explains its refusal.
#[track_caller]
pub fn refused_form(answer: &Answer, page: &str, code: Code) {
    leads_to(answer, &format!("{page}?refused={code}"));
}

async fn explains(browser: &Browser<'_>, answer: &Answer, target: &Operation, code: Code) {
    let place = leads_to(answer, &format!("/operations/{}", target.id));
    let page = browser.get(&place).await;
    let marked = format!("data-code=\"{code}\"");
    assert!(page.text().contains(&marked), "{place}: {} {}", page.status, page.text());
}

#[tokio::test]
async fn a_payment_is_found_read_and_confirmed_once() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-2026-0042").await;
    let operator = stage.browser("operator@acme.test").await;

    let list = operator.get("/operations?q=INV-2026-0042").await;
    list.expect(StatusCode::OK);
    assert!(list.text().contains(&format!("/operations/{}", target.id)));
    let page = operator.get(&format!("/operations/{}", target.id)).await;
    page.expect(StatusCode::OK);
    assert!(page.text().contains("129.00"));
    let form = operator.get(&format!("/operations/{}/confirm", target.id)).await;
    form.expect(StatusCode::OK);
    for field in ["version", "outcome", "external_reference", "reason", "evidence"] {
        assert!(form.text().contains(&format!("name=\"{field}\"")), "{field}");
    }

    let first = leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    let receipt = operator.get(&first).await;
    receipt.expect(StatusCode::OK);
    assert!(receipt.text().contains("ch_1"));
    let again = leads_to(&confirm(&operator, &target, "ch_1").await, "/receipts/");
    assert_eq!(again.split('?').next(), first.split('?').next());

    let approver = stage.browser("approver@acme.test").await;
    let same = leads_to(&confirm(&approver, &target, "ch_1").await, "/receipts/");
    assert_eq!(same.split('?').next(), first.split('?').next());
    explains(
        &approver,
        &confirm(&approver, &target, "ch_2").await,
        &target,
        Code::DecidedOtherwise,
    )
    .await;
}

#[tokio::test]
async fn a_refused_form_comes_back_with_the_code_and_what_was_typed() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let viewer = stage.browser("viewer@acme.test").await;
    explains(&viewer, &confirm(&viewer, &target, "ch_1").await, &target, Code::PermissionMissing)
        .await;
    let operator = stage.browser("operator@acme.test").await;
    let stale = Operation { id: target.id.clone(), version: target.version - 1 };
    explains(&operator, &confirm(&operator, &stale, "ch_1").await, &target, Code::Stale).await;
    let missing = confirm(&operator, &target, "").await;
    explains(&operator, &missing, &target, Code::Unprocessable).await;
    let page = operator.get(missing.header("location")).await;
    assert!(
        page.text().contains("the provider&#x27;s page shows it")
            || page.text().contains("the provider's page shows it")
    );
    testkit::threat("T26", 1, 0);
}

/// What the page has in an input, as a browser reads it.
pub fn input(page: &str, name: &str) -> String {
    let tag = page.split("<input").find(|tag| tag.contains(&format!("name=\"{name}\"")));
    let tag = tag.unwrap_or_else(|| panic!("no input {name}: {page}"));
    let value = tag.split("value=\"").nth(1).and_then(|rest| rest.split('"').next()).unwrap();
    let entities =
        [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#x27;", "'"), ("&amp;", "&")];
    entities.iter().fold(value.to_owned(), |text, (entity, sign)| text.replace(entity, sign))
}

/// The refused page's own text area is empty and nothing that was written became markup (F3).
fn holds_no_markup(page: &str) {
    let area = page.split("<textarea").nth(1).unwrap().split("</textarea>").next().unwrap();
    assert!(area.ends_with('>'), "data in a text area: {area}");
    assert!(!page.contains("<script>alert"), "{page}");
}

const STORED: &str = "select text from notes order by at";

async fn texts(stage: &Stage, query: &'static str) -> Vec<String> {
    sqlx::query_scalar(query).fetch_all(stage.database.owner_pool()).await.unwrap()
}

#[tokio::test]
async fn evidence_survives_a_refusal_and_is_sent_again() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let version = target.version.to_string();
    let confirm = async |reference: &str, kept: &str, added: &str| {
        let fields = [
            ("id", target.id.as_str()),
            ("version", &version),
            ("outcome", "happened"),
            ("external_reference", reference),
            ("reason", "seen"),
            ("evidence_kept", kept),
            ("evidence", added),
        ];
        operator.post("/act/operations/confirm", &fields).await
    };
    let opened = operator.get(&format!("/operations/{}/confirm", target.id)).await.text();
    assert!(opened.contains("data-missing=\"evidence\"") && opened.contains("(expected)"));
    assert!(!opened.contains("evidence_kept"));

    let wrote = "</textarea><script>alert(1)</script> \"é\" & 100 %\r\nTicket 7";
    let kept = wrote.replace("\r\n", "\n");
    let refused = confirm("", "", wrote).await;
    explains(&operator, &refused, &target, Code::Unprocessable).await;
    let page = operator.get(refused.header("location")).await.text();
    holds_no_markup(&page);
    assert_eq!(input(&page, "evidence_kept"), kept);
    assert!(!page.contains("data-missing=\"evidence\""), "the evidence is there");

    let refused = confirm("", &input(&page, "evidence_kept"), "and rang them").await;
    let page = operator.get(refused.header("location")).await.text();
    let all = format!("{kept}\n\nand rang them");
    assert_eq!(input(&page, "evidence_kept"), all);

    leads_to(&confirm("ch_1", &input(&page, "evidence_kept"), "").await, "/receipts/");
    let evidence = texts(&stage, "select text from evidence where source = 'staff'").await;
    assert_eq!(evidence, [all]);
}

#[tokio::test]
async fn the_longest_evidence_of_any_script_comes_back_whole() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let version = target.version.to_string();
    let long = "語".repeat(4_000);
    let fields = [("id", target.id.as_str()), ("version", &version), ("evidence", &long)];
    let refused = operator.post("/act/operations/confirm", &fields).await;
    let page = operator.get(&leads_to(&refused, "/operations/")).await;
    page.expect(StatusCode::OK);
    assert_eq!(input(&page.text(), "evidence_kept"), long);
}

#[tokio::test]
async fn every_refused_action_keeps_its_reason() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    for verb in ["confirm", "release", "reconcile", "retry", "cancel"] {
        let fields =
            [("id", target.id.as_str()), ("version", "1"), ("reason", "rang \"them\" <b> & co")];
        let refused = operator.post(&format!("/act/operations/{verb}"), &fields).await;
        let place = leads_to(&refused, &format!("/operations/{}/{verb}?", target.id));
        let page = operator.get(&place).await.text();
        assert_eq!(input(&page, "reason"), "rang \"them\" <b> & co", "{verb}");
    }
}

#[tokio::test]
async fn a_refused_note_comes_back_and_is_written_once() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let note = async |browser: &Browser<'_>, key: &str, kept: &str, text: &str| {
        let id = target.id.as_str();
        let fields = [("id", id), ("form_key", key), ("text_kept", kept), ("text", text)];
        browser.post("/act/records/note", &fields).await
    };
    let long = format!("</textarea><script>alert(1)</script>{}", "x".repeat(4_000));
    let refused = note(&operator, "fk-1", "", &long).await;
    explains(&operator, &refused, &target, Code::Unprocessable).await;
    let page = operator.get(refused.header("location")).await.text();
    holds_no_markup(&page);
    assert_eq!(input(&page, "text_kept"), long);
    assert_eq!(input(&page, "form_key"), "fk-1", "a repeat carries the same key");

    let refused = note(&operator, "", "", "rang them").await;
    let page = operator.get(&leads_to(&refused, "/operations/")).await.text();
    let (key, kept) = (input(&page, "form_key"), input(&page, "text_kept"));
    for _ in 0..2 {
        leads_to(&note(&operator, &key, &kept, "").await, "/operations/");
    }
    assert_eq!(texts(&stage, STORED).await, ["rang them"]);

    let viewer = stage.browser("viewer@acme.test").await;
    let refused = note(&viewer, "fk-2", "", "<b>kept for me</b>").await;
    explains(&viewer, &refused, &target, Code::PermissionMissing).await;
    let page = viewer.get(refused.header("location")).await.text();
    assert!(page.contains("&lt;b&gt;kept for me&lt;/b&gt;"), "{page}");
}

#[tokio::test]
async fn a_note_changed_after_back_is_kept_beside_the_first() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let page = format!("/operations/{}", target.id);
    for text in ["rang the provider", "rang the provider", "rang the provider: they look"] {
        let fields = [("id", target.id.as_str()), ("form_key", "fk-1"), ("text", text)];
        leads_to(&operator.post("/act/records/note", &fields).await, &page);
    }
    let stored = texts(&stage, STORED).await;
    assert_eq!(stored, ["rang the provider", "rang the provider: they look"]);
    assert!(operator.get(&page).await.text().contains("rang the provider: they look"));
}

#[tokio::test]
async fn taking_comes_back_to_the_page_and_so_does_its_refusal() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let operator = stage.browser("operator@acme.test").await;
    let take = async |taken: &str| {
        let fields = [("id", target.id.as_str()), ("taken", taken)];
        operator.post("/act/operations/take", &fields).await
    };
    for slip in ["maybe", ""] {
        let before = stage.effects().await;
        explains(&operator, &take(slip).await, &target, Code::Unprocessable).await;
        assert_eq!(stage.effects().await, before);
    }
    let page = leads_to(&take("true").await, &format!("/operations/{}", target.id));
    assert!(operator.get(&page).await.text().contains("operator@acme.test has taken it."));
}
