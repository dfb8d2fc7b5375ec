//! The JSON API: a second door to the engine's commands, for services and for people's programs.
//!
//! Bearer tokens alone; a cookie means nothing here. Every route of the table below stands in
//! `openapi.json`, and a test holds the two together.

mod answers;
mod approvals;
pub(crate) mod auth;
mod bearer;
mod body;
mod bulks;
mod console;
mod evidence;
mod exports;
mod inbox;
mod incidents;
mod members;
mod notes;
mod openapi;
mod operations;
mod query;
mod records;
mod reveal;
mod rules;
mod verbs;
mod webhooks;
mod workflows;

use axum::{
    Router,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    routing::{MethodRouter, get, post},
};
use domain::{
    action::{TargetType, Verb},
    problem::Code,
    record::RecordType,
};

use crate::{refusal::Refused, router::AppState};

/// The paths with their methods, below `/api/v1`.
fn table() -> Vec<(String, &'static str, MethodRouter<AppState>)> {
    let step = |call: &str| format!("/workflows/{{id}}/steps/{{step_key}}/{call}");
    let mut table = vec![
        ("/openapi.json".to_owned(), "GET", get(openapi::document)),
        ("/operations".to_owned(), "POST", post(operations::reserve)),
        ("/operations".to_owned(), "GET", get(console::list)),
        ("/operations/claim".to_owned(), "POST", post(operations::claim)),
        ("/operations/{id}".to_owned(), "GET", get(operations::show)),
        ("/operations/{id}/timeline".to_owned(), "GET", get(console::timeline)),
        ("/operations/{id}/evidence".to_owned(), "POST", post(evidence::attach)),
        ("/operations/{id}/evidence/{evidence_id}".to_owned(), "GET", get(evidence::download)),
        ("/operations/{id}/start".to_owned(), "POST", post(operations::start)),
        ("/operations/{id}/heartbeat".to_owned(), "POST", post(operations::heartbeat)),
        ("/operations/{id}/finish".to_owned(), "POST", post(operations::finish)),
        ("/inbox".to_owned(), "POST", post(inbox::receive)),
        ("/inbox".to_owned(), "GET", get(inbox::list)),
        ("/inbox/{id}".to_owned(), "GET", get(inbox::show)),
        ("/receipts/{id}".to_owned(), "GET", get(console::receipt)),
        ("/workflows".to_owned(), "POST", post(workflows::start)),
        ("/workflows".to_owned(), "GET", get(workflows::list)),
        ("/workflows/{id}".to_owned(), "GET", get(workflows::show)),
        ("/workflows/{id}/timeline".to_owned(), "GET", get(workflows::timeline)),
        ("/workflows/{id}/cancel".to_owned(), "POST", post(workflows::cancel)),
        (step("start"), "POST", post(workflows::start_step)),
        (step("resume"), "POST", post(workflows::resume_step)),
        (step("checkpoint"), "POST", post(workflows::checkpoint)),
        (step("artifacts/{name}"), "GET", get(workflows::artifact)),
        ("/kinds/{name}".to_owned(), "GET", get(rules::kind)),
        ("/kinds/{name}/actions/put_kind".to_owned(), "POST", post(rules::put_kind)),
        ("/staff".to_owned(), "GET", get(rules::members)),
        ("/staff/{staff_id}/actions/grant".to_owned(), "POST", post(rules::grant)),
        ("/outbox".to_owned(), "GET", get(records::events)),
        ("/outbox/{id}".to_owned(), "GET", get(records::event)),
        ("/conflicts".to_owned(), "GET", get(records::conflicts)),
        ("/conflicts/{id}".to_owned(), "GET", get(records::conflict)),
        ("/leases".to_owned(), "GET", get(records::leases)),
        ("/incidents".to_owned(), "GET", get(records::incidents)),
        ("/incidents".to_owned(), "POST", post(incidents::open)),
        ("/incidents/{id}".to_owned(), "GET", get(incidents::show)),
        ("/incidents/{id}/timeline".to_owned(), "GET", get(incidents::timeline)),
        ("/incidents/{id}/report".to_owned(), "GET", get(incidents::report)),
        ("/audit".to_owned(), "GET", get(records::audit)),
        ("/export/{list}".to_owned(), "GET", get(exports::download)),
        ("/bulks".to_owned(), "POST", post(bulks::freeze)),
        ("/bulks".to_owned(), "GET", get(bulks::list)),
        ("/bulks/{id}".to_owned(), "GET", get(bulks::show)),
        ("/bulks/{id}/rows".to_owned(), "GET", get(bulks::rows)),
        ("/approvals".to_owned(), "GET", get(approvals::list)),
        ("/approvals/{id}".to_owned(), "GET", get(approvals::show)),
    ];
    for (kind, records) in ACTED_ON {
        // What opens an incident names none that is there.
        for verb in Verb::on(kind).iter().copied().filter(|verb| *verb != Verb::Open) {
            let act = move |state: State<AppState>,
                            staff,
                            path: Path<String>,
                            headers: HeaderMap,
                            body: Bytes| {
                console::act((kind, verb), state, staff, path, headers, body)
            };
            table.push((format!("/{records}/{{id}}/actions/{verb}"), "POST", post(act)));
        }
    }
    for (record, records) in NOTED {
        let note = move |state: State<AppState>, staff, path, headers: HeaderMap, body: Bytes| {
            notes::add(record, state, staff, path, headers, body)
        };
        table.push((format!("/{records}/{{id}}/notes"), "POST", post(note)));
    }
    for (kind, records) in reveal::REVEALED {
        let show = move |state: State<AppState>,
                         staff,
                         path: Path<String>,
                         headers: HeaderMap,
                         body: Bytes| {
            reveal::reveal(kind, state, staff, path, headers, body)
        };
        table.push((format!("/{records}/{{id}}/actions/reveal"), "POST", post(show)));
    }
    for verb in Verb::on(TargetType::Approval).iter().copied() {
        let settle = move |state: State<AppState>,
                           staff,
                           path: Path<String>,
                           headers: HeaderMap,
                           body: Bytes| {
            approvals::settle(verb, state, staff, path, headers, body)
        };
        table.push((format!("/approvals/{{id}}/actions/{verb}"), "POST", post(settle)));
    }
    table
}

/// Records whose actions have a route, and the name of their collection.
const ACTED_ON: [(TargetType, &str); 7] = [
    (TargetType::Operation, "operations"),
    (TargetType::Workflow, "workflows"),
    (TargetType::Compensation, "compensations"),
    (TargetType::Outbox, "outbox"),
    (TargetType::Inbox, "inbox"),
    (TargetType::Incident, "incidents"),
    (TargetType::Bulk, "bulks"),
];

/// Records that people leave notes on, and the name of their collection.
const NOTED: [(RecordType, &str); 6] = [
    (RecordType::Operation, "operations"),
    (RecordType::Workflow, "workflows"),
    (RecordType::Event, "outbox"),
    (RecordType::Message, "inbox"),
    (RecordType::Conflict, "conflicts"),
    (RecordType::Incident, "incidents"),
];

/// Every route of the API with its method, for the tests that must cover each of them.
#[must_use]
pub fn routes() -> Vec<(&'static str, String)> {
    let mut routes: Vec<_> = table().into_iter().map(|(path, method, _)| (method, path)).collect();
    routes.push(("POST", WEBHOOK.to_owned()));
    routes
}

const WEBHOOK: &str = "/webhooks/{tenant}/{provider}";

/// Below `/api/v1`: what a token is asked for, whatever path is tried.
pub fn by_token() -> Router<AppState> {
    table()
        .into_iter()
        .fold(Router::new(), |router, (path, _, handler)| router.route(&path, handler))
        .fallback(no_such_route)
        .method_not_allowed_fallback(method_not_allowed)
}

/// Below `/api/v1`: what a signature is asked for.
pub fn by_signature() -> Router<AppState> {
    Router::new().route(WEBHOOK, post(webhooks::take).fallback(method_not_allowed))
}

async fn no_such_route() -> Refused {
    Refused::code(Code::NotFound).detail("The API has no such path.")
}

async fn method_not_allowed() -> Refused {
    Refused::code(Code::RequestInvalid)
        .status(StatusCode::METHOD_NOT_ALLOWED)
        .detail("This path does not take that method.")
}
