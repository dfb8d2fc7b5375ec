//! Tokens through the pages: made once, shown once, taken back; and what their verbs cover (T13, T18).

use axum::http::{StatusCode, header};
use domain::{problem::Code, token::TokenVerb};
use engine::identity::AddToken;
use serde_json::json;

use crate::{
    forms::{leads_to, refused_form},
    support::{Answer, Browser, Program, Stage, form, from_our_page},
};

const TOKENS: &str = "select count(*) from tokens";

async fn count(stage: &Stage, sql: &'static str) -> i64 {
    sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
}

/// The id that the form at an address carries.
async fn minted(browser: &Browser<'_>, place: &str) -> String {
    let page = browser.get(place).await;
    page.expect(StatusCode::OK);
    let text = page.text();
    let (_, rest) = text.split_once("name=\"id\" value=\"").unwrap();
    rest.split('"').next().unwrap().to_owned()
}

async fn post(browser: &Browser<'_>, id: &str, more: &[(&str, &str)]) -> Answer {
    let mut fields = vec![
        ("id", id),
        ("own", "false"),
        ("token_name", "billing worker"),
        ("kinds", "invoice.charge"),
        ("verbs", "reserve"),
        ("verbs", "report"),
        ("days", "30"),
        ("reason", "the new worker"),
    ];
    for (name, value) in more {
        fields.retain(|(known, _)| known != name);
        fields.push((name, value));
    }
    browser.post("/tokens/made", &fields).await
}

/// The token's text on the page that answers the form.
fn secret(page: &Answer) -> Option<String> {
    let text = page.text();
    let (_, rest) = text.split_once("data-secret")?;
    let (_, rest) = rest.split_once("key--whole\">")?;
    rest.split('<').next().map(str::to_owned)
}

#[tokio::test]
async fn a_token_is_made_shown_once_and_taken_back() {
    let stage = Stage::open().await;
    let admin = stage.browser("admin@acme.test").await;
    let id = minted(&admin, "/admin/new-token").await;
    let page = post(&admin, &id, &[]).await;
    page.expect(StatusCode::OK);
    assert_eq!(page.header("cache-control"), "no-store");
    let text = secret(&page).expect("the page shows the text");

    let service = Program { stage: &stage, token: Some(text.clone()) };
    service.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    let before = count(&stage, TOKENS).await;
    let again = post(&admin, &id, &[]).await;
    again.expect(StatusCode::OK);
    assert_eq!(secret(&again), None);
    assert!(again.text().contains("Its text is not shown again"), "{}", again.text());
    assert_eq!(count(&stage, TOKENS).await, before);
    let opened = admin.get("/tokens/made").await;
    assert!(opened.text().contains("Nothing is shown here"), "{}", opened.text());

    let token = format!("/admin/tokens/{id}");
    for place in ["/admin/tokens", token.as_str(), "/audit", "/me"] {
        let page = admin.get(place).await;
        page.expect(StatusCode::OK);
        assert!(!page.text().contains(&text), "{place} shows the text");
    }
    assert!(admin.get("/admin/tokens").await.text().contains("billing worker"));
    assert!(admin.get(&token).await.text().contains("reserve and queue operations"));

    let revoke = [
        ("target_type", "token"),
        ("id", id.as_str()),
        ("verb", "revoke"),
        ("version", "1"),
        ("reason", "lost"),
    ];
    let receipt = leads_to(&admin.post("/act/records/decide", &revoke).await, "/receipts/");
    assert!(admin.get(&receipt).await.text().contains("Token revoked"));
    service.reserve("INV-2", 100).await.refused(Code::Unauthenticated);
}

#[tokio::test]
async fn whoever_may_not_make_one_makes_none() {
    let stage = Stage::open().await;
    let before = (count(&stage, TOKENS).await, stage.audited("denied").await);
    let id = uuid::Uuid::now_v7().to_string();
    let mut refused = 0;
    for email in
        ["viewer@acme.test", "operator@acme.test", "approver@acme.test", "auditor@acme.test"]
    {
        let browser = stage.browser(email).await;
        let answer = post(&browser, &id, &[]).await;
        refused_form(&answer, "/admin/new-token", Code::PermissionMissing);
        let page = browser.get(answer.header("location")).await;
        assert!(page.text().contains("data-code=\"permission_missing\""), "{email}");
        assert!(browser.get("/admin/tokens").await.text().contains("permission_missing"));
        // The form and the list.
        refused += 2;
    }
    let anonymous = post(&stage.stranger(), &id, &[]).await;
    leads_to(&anonymous, "/sign-in");
    let admin = stage.browser("admin@acme.test").await;
    let forged = from_our_page(axum::http::Method::POST, "/tokens/made")
        .header(header::COOKIE, admin.cookie.clone().unwrap())
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header("sec-fetch-site", "cross-site");
    let forged = stage.send(forged.body(form(&[("id", &id)]).into()).unwrap()).await;
    forged.expect(StatusCode::FORBIDDEN);
    assert_eq!(count(&stage, TOKENS).await, before.0);
    assert_eq!(stage.audited("denied").await, before.1 + refused);
}

#[tokio::test]
async fn a_slip_comes_back_beside_its_field_with_everything_typed() {
    let stage = Stage::open().await;
    let admin = stage.browser("admin@acme.test").await;
    let id = minted(&admin, "/admin/new-token").await;
    for (field, value) in
        [("days", "soon"), ("kinds", "no.such"), ("token_name", ""), ("verbs", "decide")]
    {
        let answer = post(&admin, &id, &[(field, value)]).await;
        refused_form(&answer, "/admin/new-token", Code::Unprocessable);
        let page = admin.get(answer.header("location")).await.text();
        assert!(page.contains(&format!("id=\"{field}-error\"")), "{field}: {page}");
        assert!(page.contains("the new worker") && page.contains(&id), "{field}");
    }
    assert!(secret(&post(&admin, &id, &[]).await).is_some(), "the same form is still good");
}

#[tokio::test]
async fn people_make_their_own_and_it_does_what_they_may() {
    let stage = Stage::open().await;
    let viewer = stage.browser("viewer@acme.test").await;
    let id = minted(&viewer, "/me/new-token").await;
    let own = [("own", "true"), ("kinds", ""), ("verbs", "read"), ("token_name", "my laptop")];
    let text = secret(&post(&viewer, &id, &own).await).unwrap();
    assert!(viewer.get("/me").await.text().contains("my laptop"));
    let program = Program { stage: &stage, token: Some(text) };
    program.get("/operations").await.expect(StatusCode::OK);
    let denied = program.post("/approvals/x/actions/approve", &json!({})).await;
    denied.refused(Code::TokenScope);
    assert_eq!(denied.json()["missing_verb"], "decide");
    viewer.get(&format!("/admin/tokens/{id}")).await.expect(StatusCode::OK);
}

#[tokio::test]
async fn a_call_that_a_token_does_not_cover_names_the_verb_and_does_nothing() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let mut admin = stage.admin().await;
    let mut token = async |name: &str, staff: Option<&str>, verbs: &[TokenVerb]| {
        let new = AddToken { tenant_slug: "acme", name, staff, verbs, ..AddToken::default() };
        Program { stage: &stage, token: Some(admin.add_token(&new).await.unwrap()) }
    };
    let reader = token("reader", None, &[TokenVerb::Read]).await;
    let writer = token("writer", None, &[TokenVerb::Reserve]).await;
    let looking = token("looking", Some("operator@acme.test"), &[TokenVerb::Read]).await;
    let before = stage.effects().await;

    let one = format!("/operations/{}", target.id);
    reader.get(&one).await.expect(StatusCode::OK);
    for (path, verb) in [
        ("/operations", "reserve"),
        ("/operations/claim", "claim"),
        (&format!("{one}/start"), "report"),
        ("/inbox", "inbox"),
        ("/workflows", "workflows"),
    ] {
        let answer = reader.post(path, &json!({ "fence": 1 })).await;
        answer.refused(Code::TokenScope);
        assert_eq!(answer.json()["missing_verb"], verb, "{path}");
    }
    looking.get("/operations").await.expect(StatusCode::OK);
    let answer = looking.post(&format!("{one}/actions/confirm"), &target.confirm()).await;
    answer.refused(Code::TokenScope);
    let answer = writer.get(&one).await;
    answer.refused(Code::TokenScope);
    assert_eq!(answer.json()["missing_verb"], "read");
    assert_eq!(stage.effects().await, before);
    writer.reserve("INV-2", 100).await.expect(StatusCode::CREATED);
    reader.get("/openapi.json").await.expect(StatusCode::OK);
}

/// T13: whoever reads the tables holds nothing that opens a door.
#[tokio::test]
async fn nothing_that_the_tables_hold_opens_a_door() {
    let stage = Stage::open().await;
    let browser = stage.browser("admin@acme.test").await;
    browser.get("/").await.expect(StatusCode::OK);
    let service = stage.service("acme").await;
    service.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    let held: Vec<String> = sqlx::query_scalar(
        "select value from (select to_jsonb(s) as row from sessions s union all select to_jsonb(t) from tokens t
           union all select to_jsonb(p) from staff p) rows, jsonb_each_text(row) where value is not null",
    )
    .fetch_all(stage.database.owner_pool())
    .await
    .unwrap();
    assert!(held.len() > 30, "the tables were read: {}", held.len());
    for value in held {
        let bare = value.trim_start_matches("\\x").to_owned();
        let hash = hex::decode(&bare).unwrap_or_default();
        let base64 =
            base64::Engine::encode(&base64::engine::general_purpose::URL_SAFE_NO_PAD, hash);
        for text in [value, bare, base64] {
            if text.is_empty() || !text.bytes().all(|b| b.is_ascii_graphic()) || text.contains(';')
            {
                continue;
            }
            let cookie = Some(format!("__Host-sid={text}"));
            leads_to(&Browser { stage: &stage, cookie }.get("/").await, "/sign-in");
            let program = Program { stage: &stage, token: Some(text.clone()) };
            program.get("/operations").await.refused(Code::Unauthenticated);
        }
    }
}
