//! T04, T17, T18, T19, T42: every server function and every route of the API refuses whom it must.
//! A path without a row here fails the test.

use axum::http::{Method, StatusCode};
use domain::{
    access::{Permission, Role, permits},
    action::{TargetType, Verb},
    problem::Code,
};
use leptos::server_fn::axum::server_fn_paths;
use serde_json::{Value, json};

use crate::{
    forms::refused_form,
    support::{Answer, Operation, Program, Stage},
};

/// The right that a server function asks for.
fn right_of(path: &str) -> Option<Permission> {
    let name = path.strip_prefix("/act/")?;
    if let Some(verb) = name.strip_prefix("operations/").and_then(|verb| verb.parse::<Verb>().ok())
    {
        return Some(verb.permission());
    }
    match name {
        "records/note" | "operations/take" => Some(Permission::Note),
        "incidents/gather" => Some(Permission::Incident),
        // One path for all records; the fields below name an incident.
        "records/decide" => Some(Permission::Incident),
        "bulks/freeze" => Some(Permission::Bulk),
        // The fields below name an operation for it.
        "records/reveal" => Some(Permission::Reveal),
        "kinds/put" => Some(Permission::ManageKinds),
        "audit/verify" => Some(Permission::ReadAudit),
        _ => None,
    }
}

/// What a page says, without its frame.
fn content(page: &Answer) -> String {
    let page = page.undated();
    let main = page.split("<main").nth(1).and_then(|main| main.split("</main>").next());
    main.unwrap_or_else(|| panic!("no content: {page}")).to_owned()
}

/// The page that explains the refusal of a form about a record.
fn page_of(path: &str, id: &str) -> String {
    if path == FREEZE {
        return "/bulks".to_owned();
    }
    if path == VERIFY {
        return "/audit".to_owned();
    }
    match path.strip_prefix("/act/").and_then(|name| name.split_once('/')) {
        Some(("operations", "take")) => format!("/operations/{id}"),
        Some(("operations", verb)) => format!("/operations/{id}/{verb}"),
        Some(("records", "note")) => format!("/incidents/{id}"),
        Some(("records", "reveal")) => format!("/operations/{id}/reveal"),
        Some(("incidents", _)) => "/incidents/gather".to_owned(),
        _ => format!("/incidents/{id}/close"),
    }
}

/// A set has no page before it is frozen: the list of bulks says why there is none.
const FREEZE: &str = "/act/bulks/freeze";

/// It is about the tenant's own log and names no record; its refusals stand in `audit`.
const VERIFY: &str = "/act/audit/verify";

/// Whether a path is about a kind: it has a name, not an id, and its form comes back with the policy.
/// Its refusals stand in `kind_form`.
fn is_about_a_kind(path: &str) -> bool {
    path.starts_with("/act/kinds/")
}

pub fn fields<'a>(
    path: &str,
    target: &'a Operation,
    version: &'a str,
    records: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let target_type = if path == "/act/records/reveal" { "operation" } else { "incident" };
    vec![
        ("list", "operations"),
        ("bulk", "reconcile"),
        ("record", records),
        ("id", &target.id),
        ("target_type", target_type),
        ("verb", "close"),
        ("version", version),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "seen"),
        ("evidence", "seen"),
        ("text", "seen"),
        ("form_key", "fk-1"),
        ("taken", "true"),
        ("incident", "new"),
        ("summary", "seen"),
        ("records", records),
    ]
}

const ROLES: [(&str, Role); 5] = [
    ("viewer@acme.test", Role::Viewer),
    ("operator@acme.test", Role::Operator),
    ("approver@acme.test", Role::Approver),
    ("admin@acme.test", Role::TenantAdmin),
    ("auditor@acme.test", Role::Auditor),
];

#[tokio::test]
async fn every_server_function_is_a_post_with_a_row_in_this_test() {
    let paths: Vec<_> = server_fn_paths().collect();
    assert!(paths.len() >= 7, "the server functions are not linked: {paths:?}");
    for (path, method) in paths {
        assert_eq!(method, Method::POST, "{path}");
        assert!(right_of(path).is_some(), "{path} has no row in this test");
    }
}

#[tokio::test]
async fn every_server_function_refuses_strangers_and_roles_without_the_right() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let version = target.version.to_string();
    let records = format!("operation/{}", target.id);
    let (mut tried, mut moved) = (0, Vec::new());
    for (path, _) in server_fn_paths() {
        let before = stage.effects().await;
        let fields = fields(path, &target, &version, &records);
        let anonymous = stage.stranger().post(path, &fields).await;
        anonymous.expect(StatusCode::UNAUTHORIZED);
        assert!(anonymous.text().contains("data-code=\"unauthenticated\""), "{path}");
        tried += 1;
        if stage.effects().await != before {
            moved.push(format!("{path} as a stranger"));
        }
    }
    for (email, role) in ROLES {
        let browser = stage.browser(email).await;
        for (path, _) in server_fn_paths() {
            let right = right_of(path).unwrap();
            if permits(role, right) || is_about_a_kind(path) {
                continue;
            }
            let (before, denied) = (stage.effects().await, stage.audited("denied").await);
            let fields = fields(path, &target, &version, &records);
            let answer = browser.post(path, &fields).await;
            refused_form(&answer, &page_of(path, &target.id), Code::PermissionMissing);
            assert_eq!(stage.audited("denied").await, denied + 1, "{path} as {role}");
            tried += 1;
            if stage.effects().await != before {
                moved.push(format!("{path} as {role}"));
            }
        }
    }
    assert!(moved.is_empty(), "refused, and something changed: {moved:#?}");
    testkit::threat("T18", tried, moved.len());
}

#[tokio::test]
async fn a_record_of_another_tenant_is_no_record() {
    let stage = Stage::open().await;
    let theirs = stage.unknown("acme", "INV-1").await;
    let invented =
        Operation { id: "01937000-0000-7000-8000-00000000dead".into(), version: theirs.version };
    // One that holds every right over records, so that none of the answers is about a right.
    let approver = engine::identity::NewStaff {
        email: "approver@globex.test",
        name: "Gil",
        password_hash: "kept",
        tenant_slug: "globex",
        role: Role::Approver,
    };
    stage.admin().await.add_staff(&approver).await.unwrap();
    let browser = stage.browser("approver@globex.test").await;
    let version = theirs.version.to_string();
    let program = stage.staff("approver@globex.test").await;
    let service = stage.service("globex").await;
    let (at_first, mut tried) = (stage.effects().await, 0);
    for (path, _) in server_fn_paths().filter(|(path, _)| !is_about_a_kind(path) && *path != VERIFY)
    {
        let before = stage.effects().await;
        let names = [&theirs, &invented].map(|target| format!("operation/{}", target.id));
        let there = browser.post(path, &fields(path, &theirs, &version, &names[0])).await;
        let nowhere = browser.post(path, &fields(path, &invented, &version, &names[1])).await;
        refused_form(&there, &page_of(path, &theirs.id), Code::NotFound);
        refused_form(&nowhere, &page_of(path, &invented.id), Code::NotFound);
        tried += 1;
        assert_eq!(stage.effects().await, before, "{path}");
        if path == FREEZE {
            assert_eq!(there.header("location"), nowhere.header("location"));
            continue;
        }
        if path == "/act/incidents/gather" {
            // Its page shows what of the picked is there: nothing of either.
            continue;
        }
        let (there, nowhere) = (
            browser.get(there.header("location")).await,
            browser.get(nowhere.header("location")).await,
        );
        there.expect(StatusCode::NOT_FOUND);
        nowhere.expect(StatusCode::NOT_FOUND);
        assert_eq!(content(&there), content(&nowhere), "{path}");
        assert_eq!(stage.effects().await, before, "{path}");
    }
    let page = browser.get(&format!("/operations/{}", theirs.id)).await;
    page.expect(StatusCode::NOT_FOUND);
    browser.get(&format!("/operations/{}", invented.id)).await.expect(StatusCode::NOT_FOUND);

    for (method, path) in server::v1::routes() {
        // A file is no JSON; its refusals stand in `evidence`.
        if !path.contains("{id}") || service_only(&path) || path.ends_with("/evidence") {
            continue;
        }
        let ask = async |id: &str| {
            let body = body(&path, &theirs);
            let path = path.replace("{id}", id).replace("{evidence_id}", id);
            let answer = call(&program, method, &path, &body).await;
            answer.refused(Code::NotFound);
            without_request_id(answer.json())
        };
        assert_eq!(ask(&theirs.id).await, ask(&invented.id).await, "{path}");
        tried += 1;
    }
    for path in ["", "/start", "/heartbeat", "/finish"] {
        let body = json!({ "fence": 1 });
        let body = if path == "/finish" { json!({ "fence": 1, "outcome": "done" }) } else { body };
        let method = if path.is_empty() { "GET" } else { "POST" };
        call(&service, method, &format!("/operations/{}{path}", theirs.id), &body)
            .await
            .refused(Code::NotFound);
        tried += 1;
    }
    let moved = stage.effects().await.since(&at_first).len();
    testkit::threat("T20", tried, moved);
}

/// A body with the fields of its call.
fn body(path: &str, target: &Operation) -> Value {
    if path.ends_with("/notes") {
        return json!({ "form_key": "fk-1", "text": "seen" });
    }
    if path.starts_with("/approvals/") {
        return json!({ "version": 1, "reason": "seen" });
    }
    if path.ends_with("/actions/reveal") {
        let artifact = json!({ "reason": "seen", "step": "draft", "artifact": "text" });
        return if path.starts_with("/workflows/") {
            artifact
        } else {
            json!({ "reason": "seen" })
        };
    }
    target.confirm()
}

fn without_request_id(mut problem: Value) -> Value {
    problem.as_object_mut().unwrap().remove("request_id");
    problem
}

async fn call(
    program: &Program<'_>,
    method: &str,
    path: &str,
    body: &Value,
) -> crate::support::Answer {
    if method == "GET" { program.get(path).await } else { program.post(path, body).await }
}

fn service_only(path: &str) -> bool {
    let owners_cancel = path.ends_with("/cancel") && !path.contains("/actions/");
    ["/start", "/heartbeat", "/finish", "/claim"].iter().any(|end| path.ends_with(end))
        || path.starts_with("/workflows/") && (path.contains("/steps/") || owners_cancel)
}

#[tokio::test]
async fn every_route_of_the_api_refuses_strangers_cookies_and_the_other_kind_of_token() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let cookie = stage.browser("operator@acme.test").await.cookie.unwrap();
    let service = stage.service("acme").await;
    let staff = stage.staff("operator@acme.test").await;
    let stranger = Program { stage: &stage, token: None };
    let liar = Program { stage: &stage, token: Some("guessed".into()) };
    let before = stage.effects().await;
    for (method, path) in server::v1::routes() {
        let path = path
            .replace("{id}", &target.id)
            .replace("{evidence_id}", &target.id)
            .replace("{tenant}", "acme")
            .replace("{provider}", "payments")
            .replace("{name}", "invoice.charge")
            .replace("{list}", "operations")
            .replace("{staff_id}", &target.id);
        for program in [&stranger, &liar] {
            call(program, method, &path, &target.confirm()).await.refused(Code::Unauthenticated);
        }
        if method == "POST" {
            let headers = [("cookie", cookie.as_str()), ("sec-fetch-site", "same-origin")];
            let answer = stranger.post_text(&path, &headers, target.confirm().to_string()).await;
            answer.refused(Code::Unauthenticated);
        }
        let wrong = match (method, path.as_str()) {
            (_, "/openapi.json") | (_, "/webhooks/acme/payments") => continue,
            ("GET", path) if path == format!("/operations/{}", target.id) => continue,
            ("GET", path) if path == format!("/workflows/{}", target.id) => continue,
            ("POST", "/operations" | "/workflows" | "/inbox") => &staff,
            (_, path) if service_only(path) => &staff,
            _ => &service,
        };
        call(wrong, method, &path, &target.confirm()).await.refused(Code::TokenScope);
    }
    assert_eq!(stage.effects().await, before);
    stranger.get("/no/such/path").await.refused(Code::Unauthenticated);
    staff.get("/no/such/path").await.refused(Code::NotFound);
    staff.post("/openapi.json", &json!({})).await.expect(StatusCode::METHOD_NOT_ALLOWED);
    staff.get("/openapi.json").await.expect(StatusCode::OK);
}

#[tokio::test]
async fn every_action_of_the_api_asks_for_its_right() {
    let stage = Stage::open().await;
    let target = stage.unknown("acme", "INV-1").await;
    let (mut tried, mut moved) = (0, Vec::new());
    for (email, role) in ROLES {
        let program = stage.staff(email).await;
        for verb in Verb::on(TargetType::Operation).iter().copied() {
            if permits(role, verb.permission()) {
                continue;
            }
            let before = stage.effects().await;
            let path = format!("/operations/{}/actions/{verb}", target.id);
            let answer = program.post(&path, &target.confirm()).await;
            answer.refused(Code::PermissionMissing);
            assert_eq!(answer.json()["missing"], json!(verb.permission()), "{verb} as {role}");
            tried += 1;
            if stage.effects().await != before {
                moved.push(format!("{verb} as {role}"));
            }
        }
    }
    assert!(moved.is_empty(), "refused, and something changed: {moved:#?}");
    testkit::threat("T18", tried, moved.len());
}

#[tokio::test]
async fn a_token_is_worth_nothing_once_it_is_revoked_or_its_owner_locked_out() {
    let stage = Stage::open().await;
    let mut admin = stage.admin().await;
    let token =
        admin.add_service_token("acme", "one", &["invoice.charge".into()], None).await.unwrap();
    let service = Program { stage: &stage, token: Some(token) };
    service.reserve("INV-1", 100).await.expect(StatusCode::CREATED);
    admin.revoke_token("acme", "one").await.unwrap();
    service.reserve("INV-2", 100).await.refused(Code::Unauthenticated);

    let program = stage.staff("operator@acme.test").await;
    program.get("/operations").await.expect(StatusCode::OK);
    admin.disable_staff("operator@acme.test").await.unwrap();
    program.get("/operations").await.refused(Code::Unauthenticated);

    let other =
        admin.add_service_token("acme", "two", &["campaign.send".into()], None).await.unwrap();
    let other = Program { stage: &stage, token: Some(other) };
    other.reserve("INV-3", 100).await.refused(Code::TokenScope);
}
