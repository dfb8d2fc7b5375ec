//! T08, T17, T18, T46: what each role gets from each route, as `matrix.txt` says, and nothing else.
//!
//! The routes come from the router, so one without a row fails. A refusal changes nothing; one that is
//! written down is written once, with who asked for what and why it was refused.

use axum::{
    body::Body,
    http::{Method, Request, header},
};
use domain::problem::Code;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use super::{
    paths::routes,
    world::{World, payload},
};
use crate::{
    evidence,
    headers::carries_the_headers,
    support::{Answer, HOST, Stage, form},
};

/// The rows: method, path, and what each of [`WHO`] gets.
///
/// `in`: sent to the sign-in page. A status: that answer. `>` before it: a form that is refused leads to
/// the page that says why, here by the status of its code. `!`: it was written in the audit log.
const ROWS: &str = include_str!("matrix.txt");

/// A person comes by session to pages and by their token to the API; a service by its token to both.
const WHO: [&str; 7] =
    ["anonymous", "viewer", "operator", "approver", "admin", "auditor", "service"];

/// What somebody shows: nothing, a cookie or a bearer token.
#[derive(Clone)]
pub enum Shown {
    Nothing,
    Cookie(String),
    Bearer(String),
}

/// One request as a browser or a program sends it.
pub fn request(method: &str, path: &str, shown: &Shown, body: Option<String>) -> Request<Body> {
    let kind = match path {
        _ if path.ends_with("/evidence") => evidence::kind(),
        _ if path.starts_with("/api/v1") => "application/json".to_owned(),
        _ => "application/x-www-form-urlencoded".to_owned(),
    };
    let mut request = Request::builder()
        .method(Method::from_bytes(method.as_bytes()).unwrap())
        .uri(path)
        .header(header::HOST, HOST)
        .header(header::ACCEPT, "text/html,application/xhtml+xml,*/*;q=0.8")
        .header("sec-fetch-site", "same-origin");
    match shown {
        Shown::Nothing => {}
        Shown::Cookie(cookie) => request = request.header(header::COOKIE, cookie),
        Shown::Bearer(token) => {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
    }
    match body {
        Some(body) => request.header(header::CONTENT_TYPE, kind).body(Body::from(body)),
        None => request.body(Body::empty()),
    }
    .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Sends it; of a stream, which has no end, the head alone.
pub async fn ask(stage: &Stage, request: Request<Body>) -> Answer {
    let response = stage.router.clone().oneshot(request).await.unwrap();
    let (head, body) = response.into_parts();
    let stream =
        head.headers.get(header::CONTENT_TYPE).is_some_and(|kind| kind == "text/event-stream");
    let body = if stream { bytes::Bytes::new() } else { body.collect().await.unwrap().to_bytes() };
    Answer { status: head.status, headers: head.headers, body }
}

/// What a form or a call about a record of the world says: enough to be understood, about a version that
/// nothing has, so that whoever holds the right changes nothing either.
pub fn body_for(world: &World, path: &str) -> String {
    if path.ends_with("/evidence") {
        return String::from_utf8(evidence::multipart(&[], Some(("seen.txt", b"")))).unwrap();
    }
    if let Some(call) = path.strip_prefix("/api/v1") {
        return json_for(world, call).to_string();
    }
    let records = format!("operation/{}", world.open.id);
    if path == "/act/kinds/put" {
        return world.policy_form.clone();
    }
    let about_operation = path == "/act/records/reveal" || path == "/act/records/note";
    let target_type = if about_operation { "operation" } else { "incident" };
    let id = if path == "/act/records/decide" { &world.ids["incidents"] } else { &world.open.id };
    form(&[
        ("list", "operations"),
        ("name", "invoice.charge"),
        ("do", "change"),
        ("tenant", "globex"),
        ("email", "nobody@acme.test"),
        ("password", "not the password"),
        ("theme", "dark"),
        ("bulk", "confirm"),
        ("record", &records),
        ("id", id),
        ("target_type", target_type),
        ("verb", "close"),
        ("version", "999"),
        ("outcome", "happened"),
        ("external_reference", "ch_1"),
        ("reason", "seen"),
        ("evidence", "seen"),
        ("form_key", "fk-matrix"),
        ("taken", "true"),
        ("incident", "new"),
        ("summary", "seen"),
        ("records", &records),
    ])
}

fn json_for(world: &World, call: &str) -> Value {
    let records = [format!("operation/{}", world.open.id)];
    if call.ends_with("/notes") {
        return json!({ "form_key": "fk-matrix", "text": "seen" });
    }
    if call.ends_with("/actions/reveal") {
        let artifact = json!({ "reason": "seen", "step": "draft", "artifact": "log" });
        let whole = json!({ "reason": "seen" });
        return if call.starts_with("/workflows/") { artifact } else { whole };
    }
    match call {
        "/operations" => json!({
            "operation": "invoice.charge", "key": "INV-MATRIX", "payload": payload("INV-MATRIX", 100),
        }),
        "/operations/claim" => json!({ "kinds": ["invoice.refund"], "max": 1 }),
        "/workflows" => json!({ "kind": "campaign.agent", "key": "matrix", "input": {} }),
        "/inbox" => {
            json!({ "consumer": "billing", "source": "orders", "message_id": "m-9", "payload": {} })
        }
        "/incidents" => {
            json!({ "id": "01937000-0000-7000-8000-00000000beef", "summary": "seen", "reason": "seen", "records": records })
        }
        "/bulks" => json!({ "list": "operations", "verb": "confirm", "records": [world.open.id] }),
        _ if call.contains("/steps/") && call.ends_with("/start") => json!({}),
        _ if call.ends_with("/start") || call.ends_with("/heartbeat") => json!({ "fence": 999 }),
        _ if call.ends_with("/finish") => json!({ "fence": 999, "outcome": "done" }),
        "/kinds/{name}/actions/put_kind" => {
            json!({ "version": 999, "reason": "seen", "policy": world.policy })
        }
        _ if call.ends_with("/checkpoint") => json!({ "fence": 999, "outcome": "done" }),
        _ if call.contains("/steps/") && call.ends_with("/resume") => json!({}),
        _ if call.ends_with("/cancel") && !call.contains("/actions/") => json!({ "reason": "" }),
        _ if call.ends_with("/actions/grant") => {
            json!({ "version": 999, "reason": "seen", "role": "operator" })
        }
        _ if call.contains("/incidents/")
            && call.contains("/actions/")
            && !call.ends_with("/close") =>
        {
            json!({ "version": 999, "reason": "seen", "records": records })
        }
        _ if call.ends_with("/actions/confirm") || call.ends_with("/actions/correct") => json!({
            "version": 999, "outcome": "happened", "external_reference": "ch_1",
            "reason": "seen", "evidence": "seen",
        }),
        _ => json!({ "version": 999, "reason": "seen" }),
    }
}

/// The answer in the words of the table.
fn word(answer: &Answer, written: bool) -> String {
    let place = answer.header("location");
    if answer.status.is_redirection()
        && place.starts_with("/sign-in")
        && !place.contains("refused=")
    {
        return "in".to_owned();
    }
    let end = if written { "!" } else { "" };
    match place.split("refused=").nth(1).map(|rest| rest.split(['&', '#']).next().unwrap()) {
        Some(code) => {
            let code: Code = code.parse().unwrap();
            format!(">{}{end}", code.status())
        }
        None => format!("{}{end}", answer.status.as_u16()),
    }
}

fn refused(answer: &Answer) -> bool {
    let place = answer.header("location");
    !answer.status.is_success()
        && (!answer.status.is_redirection()
            || place.contains("refused=")
            || place.starts_with("/sign-in"))
}

/// Actions that make a record: refused, there is none whose id could be named.
const NEVER_MADE: [&str; 1] = ["freeze"];

#[derive(Debug, sqlx::FromRow)]
struct Denied {
    actor: String,
    action: String,
    target_type: String,
    target_id: String,
    code: Option<String>,
}

async fn last_denied(stage: &Stage) -> Denied {
    sqlx::query_as(
        "select actor, action, target_type, target_id, code from audit
         where result = 'denied' order by seq desc limit 1",
    )
    .fetch_one(stage.database.owner_pool())
    .await
    .unwrap()
}

/// What one of [`WHO`] shows at a path; a session of its own where the request would end it.
async fn shown(world: &World, who: &str, path: &str, kept: &mut Vec<(String, Shown)>) -> Shown {
    let door = if path.starts_with("/api/v1") { "api" } else { "pages" };
    let name = format!("{door} {who}");
    let ends = path == "/sign-out" || path == "/sign-in";
    if let Some((_, shown)) = kept.iter().find(|(known, _)| *known == name && !ends) {
        return shown.clone();
    }
    let shown = match (who, door) {
        ("anonymous", _) => Shown::Nothing,
        ("service", _) => Shown::Bearer(world.stage.service("acme").await.token.unwrap()),
        (role, "api") => Shown::Bearer(world.staff(role).await.token.unwrap()),
        (role, _) => Shown::Cookie(world.browser(role).await.cookie.unwrap()),
    };
    if !ends {
        kept.push((name, shown.clone()));
    }
    shown
}

#[tokio::test]
async fn every_role_gets_from_every_route_what_the_table_says() {
    let world = World::open().await;
    let stage = &world.stage;
    let (mut kept, mut table, mut problems) = (vec![], vec![], vec![]);
    let (mut tried, mut refusals, mut wrong) = (0, 0, 0);
    for (method, pattern) in routes(&stage.router) {
        let path = world.path(&pattern);
        let mut row = format!("{method:<5}{pattern:<56}");
        for who in WHO {
            let shown = shown(&world, who, &pattern, &mut kept).await;
            let body = (method != "GET").then(|| body_for(&world, &pattern));
            let (before, denied) = (stage.effects().await, stage.audited("denied").await);
            let answer = ask(stage, request(method, &path, &shown, body)).await;
            tried += 1;
            let what = format!("{method} {path} as {who}");
            if answer.status.is_server_error() {
                problems.push(format!("{what}: {}", answer.text()));
            }
            carries_the_headers(&answer, &what);
            // Kept by nobody, whoever was answered and how (T44); the files of the site, which may be kept,
            // are not built here and are not found.
            if answer.header("cache-control") != "no-store" {
                problems.push(format!("{what}: cache-control {}", answer.header("cache-control")));
            }
            let written = stage.audited("denied").await - denied;
            if !(0..=1).contains(&written) {
                problems.push(format!("{what}: {written} rows for one refusal"));
            }
            // Signing out is no refusal, though it ends on the same page.
            let leaves = pattern == "/sign-out" && matches!(shown, Shown::Cookie(_));
            if refused(&answer) && !leaves {
                refusals += 1;
                if stage.effects().await != before {
                    wrong += 1;
                    problems.push(format!("{what}: refused, and something changed"));
                }
            }
            if written == 1 {
                let row = last_denied(stage).await;
                let as_asked = if who == "service" {
                    row.actor.starts_with("svc ")
                } else {
                    row.actor == format!("{who}@acme.test")
                };
                let target = !row.target_type.is_empty()
                    && (!row.target_id.is_empty() || NEVER_MADE.contains(&row.action.as_str()));
                if !as_asked || row.action.is_empty() || !target || row.code.is_none() {
                    problems.push(format!("{what}: written as {row:?}"));
                }
            }
            row.push_str(&format!(" {:<6}", word(&answer, written == 1)));
        }
        table.push(row.trim_end().to_owned());
    }
    let expected: Vec<_> = ROWS.lines().filter(|line| !line.starts_with('#')).collect();
    for line in &table {
        if !expected.contains(&line.as_str()) {
            problems.push(format!("not in matrix.txt: {line}"));
        }
    }
    for line in expected {
        if !table.iter().any(|row| row == line) {
            problems.push(format!("no such answer any more: {line}"));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
    testkit::threat("T08", tried, 0);
    testkit::threat("T17", refusals, wrong);
    testkit::threat("T44", tried, 0);
}

#[tokio::test]
async fn a_token_is_nobody_on_a_page_and_a_cookie_is_nobody_at_the_api() {
    let world = World::open().await;
    let stage = &world.stage;
    let cookie = Shown::Cookie(world.browser("approver").await.cookie.unwrap());
    let bearer = Shown::Bearer(world.staff("approver").await.token.unwrap());
    let before = stage.effects().await;
    let mut tried = 0;
    for (method, pattern) in routes(&stage.router) {
        let path = world.path(&pattern);
        let wrong = if pattern.starts_with("/api/v1") { &cookie } else { &bearer };
        let body = || (method != "GET").then(|| body_for(&world, &pattern));
        let anonymous = ask(stage, request(method, &path, &Shown::Nothing, body())).await;
        let answer = ask(stage, request(method, &path, wrong, body())).await;
        assert_eq!(answer.status, anonymous.status, "{method} {path}");
        assert_eq!(answer.header("location"), anonymous.header("location"), "{method} {path}");
        tried += 1;
    }
    assert_eq!(stage.effects().await, before);
    testkit::threat("T42", tried, 0);
}
