//! T19, T20: another tenant's id is the same as one that nobody has, in an address, in a field and in a
//! field within a field; and nothing of the other tenant moves.

use axum::http::StatusCode;
use domain::{access::Role, problem::Code};
use engine::identity::NewStaff;
use serde_json::{Value, json};

use super::{
    matrix::{Shown, ask, body_for, request},
    paths::routes,
    world::{CANARIES, MARK, World},
};
use crate::{
    effects::digest,
    support::{Answer, Operation, Program},
};

/// People of the other tenant that between them hold every right.
const OTHERS: [(&str, Role); 3] =
    [("approver", Role::Approver), ("admin", Role::TenantAdmin), ("auditor", Role::Auditor)];

async fn others(world: &World) {
    let mut admin = world.stage.admin().await;
    for (name, role) in OTHERS {
        let email = format!("{name}@globex.test");
        let new =
            NewStaff { email: &email, name, password_hash: "kept", tenant_slug: "globex", role };
        admin.add_staff(&new).await.unwrap();
    }
}

/// An id that nobody has, the same at both ends, which is what a page shows of it.
fn invented(id: &str) -> String {
    let middle = if &id[15..16] == "0" { "1" } else { "0" };
    format!("{}{middle}{}", &id[..15], &id[16..])
}

/// An answer without what differs between any two: ids, the nonce and the request's own name.
fn content(answer: &Answer, id: &str, place: &str) -> String {
    let policy = answer.header("content-security-policy");
    let nonce = policy.split("'nonce-").nth(1).and_then(|rest| rest.split('\'').next()).unwrap();
    let text = answer
        .undated()
        .replace(nonce, "NONCE")
        .replace(answer.header("x-request-id"), "REQUEST")
        .replace(place, "PLACE")
        .replace(id, "ID");
    format!("{} {} {text}", answer.status, answer.header("location").replace(id, "ID"))
}

/// The ids in a filled path, each with the path that has an invented one in its place.
fn made_up(world: &World, path: &str) -> Vec<(String, String, String)> {
    let ids = world.ids.values().filter(|id| path.contains(id.as_str()));
    ids.map(|id| (id.clone(), invented(id), path.replace(id.as_str(), &invented(id)))).collect()
}

#[tokio::test]
async fn every_id_of_another_tenant_is_one_that_nobody_has() {
    let world = World::open().await;
    others(&world).await;
    let stage = &world.stage;
    let before =
        digest(stage, "where tenant_id = (select id from tenants where slug = 'acme')").await;
    let (mut tried, mut unknown) = (0, 0);
    for (name, _) in OTHERS {
        let email = format!("{name}@globex.test");
        let cookie = Shown::Cookie(stage.browser(&email).await.cookie.unwrap());
        let bearer = Shown::Bearer(stage.staff(&email).await.token.unwrap());
        let service = Shown::Bearer(stage.service("globex").await.token.unwrap());
        for (method, pattern) in routes(&stage.router) {
            let path = world.path(&pattern);
            let doors = if pattern.starts_with("/api/v1") {
                vec![&bearer, &service]
            } else {
                vec![&cookie]
            };
            for (id, other, elsewhere) in made_up(&world, &path) {
                for shown in &doors {
                    let body = (method != "GET").then(|| body_for(&world, &pattern));
                    let there = ask(stage, request(method, &path, shown, body.clone())).await;
                    let nowhere = ask(stage, request(method, &elsewhere, shown, body)).await;
                    let what = format!("{method} {path} as {name} of globex");
                    assert!(!there.status.is_success(), "{what}: {}", there.text());
                    assert_eq!(
                        content(&there, &id, &path),
                        content(&nowhere, &other, &elsewhere),
                        "{what}"
                    );
                    for secret in CANARIES.into_iter().chain([MARK]) {
                        assert!(!there.text().contains(secret), "{what} tells {secret}");
                    }
                    tried += 1;
                    unknown += usize::from(there.status == StatusCode::NOT_FOUND);
                }
            }
        }
    }
    assert!(unknown > 100, "{unknown} of {tried} were not found");
    let after =
        digest(stage, "where tenant_id = (select id from tenants where slug = 'acme')").await;
    assert_eq!(after, before);
    testkit::threat("T19", tried, 0);
}

/// A form or a call of globex with one field that names a record of acme.
struct Smuggled {
    path: String,
    /// Fields of a form, or a call's JSON.
    body: Value,
}

fn smuggled(world: &World, own: &Operation, own_incident: &str) -> Vec<Smuggled> {
    let id = |name: &str| world.ids[name].clone();
    let foreign = &world.open.id;
    let version = own.version.to_string();
    let form = |path: &str, body: Value| Smuggled { path: path.to_owned(), body };
    let call = |path: String, body: Value| Smuggled { path: format!("/api/v1{path}"), body };
    let confirm = |files: &str| {
        json!({
            "id": own.id, "version": version, "outcome": "happened", "external_reference": "ch_9",
            "reason": "seen", "evidence": "seen", "evidence_files": files,
        })
    };
    let mixed = format!("operation/{}\noperation/{foreign}", own.id);
    let gather = |records: &str, incident: &str| {
        json!({
            "records": records, "incident": incident, "id": uuid::Uuid::now_v7().to_string(),
            "summary": "seen", "reason": "seen",
        })
    };
    let mut all = vec![
        form("/act/operations/confirm", confirm(&id("evidence"))),
        form(
            "/act/incidents/gather",
            gather(&format!("operation/{}", own.id), &format!("{}@1", id("incidents"))),
        ),
        form("/act/incidents/gather", gather(&mixed, "new")),
        form(
            "/act/bulks/freeze",
            json!({ "list": "operations", "bulk": "reconcile", "record": format!("operation/{foreign}") }),
        ),
        form(
            &format!("/views/{}", id("views")),
            json!({ "do": "delete", "return_to": "/operations" }),
        ),
        form(
            &format!("/views/{}", id("views")),
            json!({ "do": "change", "name": "Theirs", "shared": "true" }),
        ),
        form("/session/tenant", json!({ "tenant": "acme", "return_to": "/" })),
        call(
            "/bulks".into(),
            json!({ "list": "operations", "verb": "reconcile", "records": [foreign] }),
        ),
        call(
            format!("/incidents/{own_incident}/actions/add"),
            json!({
                "version": 1, "reason": "seen", "records": [format!("operation/{foreign}")],
            }),
        ),
        call(
            format!("/incidents/{own_incident}/actions/add"),
            json!({
                "version": 1, "reason": "seen",
                "records": [format!("operation/{}", own.id), format!("workflow/{}", id("workflows"))],
            }),
        ),
        call(
            "/incidents".into(),
            json!({
                "id": uuid::Uuid::now_v7(), "summary": "seen", "reason": "seen",
                "records": [format!("inbox/{}", id("inbox"))],
            }),
        ),
        call(
            format!("/operations/{}/actions/confirm", own.id),
            json!({
                "version": own.version, "outcome": "happened", "external_reference": "ch_9",
                "reason": "seen", "evidence": "seen", "evidence_files": [id("evidence")],
            }),
        ),
        // What a service says that it is a step of; the second is nobody's.
        call("/operations".into(), step_of("GX-2", &id("workflows"))),
        call("/operations".into(), step_of("GX-2", &invented(&id("workflows")))),
        call(
            format!("/staff/{}/actions/grant", id("staff")),
            json!({ "version": 1, "reason": "seen", "role": "operator" }),
        ),
    ];
    for (target, name, verb) in [
        ("workflow", "workflows", "cancel"),
        ("compensation", "compensations", "retry"),
        ("outbox", "outbox", "requeue"),
        ("inbox", "inbox", "drop"),
        ("incident", "incidents", "close"),
        ("approval", "approvals", "approve"),
        ("bulk", "bulks", "run"),
        ("staff", "staff", "grant"),
        ("token", "tokens", "revoke"),
    ] {
        all.push(form("/act/records/decide", json!({
            "target_type": target, "id": id(name), "verb": verb, "version": "1", "role": "viewer",
            "reason": "seen",
        })));
    }
    for target in ["operation", "workflow", "outbox", "inbox", "conflict", "incident"] {
        let name = match target {
            "operation" => "operations",
            "workflow" => "workflows",
            "conflict" => "conflicts",
            "incident" => "incidents",
            other => other,
        };
        all.push(form(
            "/act/records/note",
            json!({
                "target_type": target, "id": id(name), "form_key": "fk-s", "text": "seen",
            }),
        ));
        all.push(form(
            "/act/records/reveal",
            json!({
                "target_type": target, "id": id(name), "form_key": "fk-s", "reason": "seen",
                "step": "draft", "artifact": "log",
            }),
        ));
    }
    all
}

/// A claim of a key for a step of a workflow.
fn step_of(key: &str, workflow: &str) -> Value {
    json!({
        "operation": "invoice.charge", "key": key, "workflow_id": workflow, "step_key": "mail",
        "payload": { "invoice_id": key, "amount_minor": 12_900, "currency": "EUR" },
    })
}

async fn own_incident(program: &Program<'_>, own: &Operation) -> String {
    let id = uuid::Uuid::now_v7().to_string();
    let open = json!({
        "id": id, "summary": "Ours", "reason": "seen", "records": [format!("operation/{}", own.id)],
    });
    program.post("/incidents", &open).await.expect(StatusCode::OK);
    id
}

#[tokio::test]
async fn an_id_smuggled_into_a_field_reaches_no_other_tenant() {
    let world = World::open().await;
    others(&world).await;
    let stage = &world.stage;
    let own = stage.unknown("globex", "GX-1").await;
    let incident = own_incident(&stage.staff("approver@globex.test").await, &own).await;
    let theirs = "where tenant_id = (select id from tenants where slug = 'acme')";
    let before = (digest(stage, theirs).await, digest(stage, "").await);
    let mut people = Vec::new();
    for (name, _) in OTHERS {
        let email = format!("{name}@globex.test");
        let cookie = Shown::Cookie(stage.browser(&email).await.cookie.unwrap());
        people.push((name, cookie, Shown::Bearer(stage.staff(&email).await.token.unwrap())));
    }
    let service = Shown::Bearer(stage.service("globex").await.token.unwrap());
    let (audited, mut tried) = (stage.audited("done").await, 0);
    for (name, cookie, bearer) in people {
        for Smuggled { path, body } in smuggled(&world, &own, &incident) {
            let api = path.starts_with("/api/");
            let text = if api { body.to_string() } else { pairs(&body) };
            let claim = path == "/api/v1/operations";
            let shown = if claim {
                &service
            } else if api {
                &bearer
            } else {
                &cookie
            };
            let answer = ask(stage, request("POST", &path, shown, Some(text))).await;
            let what = format!("{path} {body} as {name} of globex");
            let place = answer.header("location");
            let refused = answer.status.is_client_error() || place.contains("refused=");
            assert!(refused, "{what}: {} {place} {}", answer.status, answer.text());
            if claim {
                answer.refused(Code::NotFound);
            }
            assert!(!answer.text().contains(MARK), "{what}");
            assert_eq!(digest(stage, theirs).await, before.0, "{what}");
            tried += 1;
        }
    }
    assert_eq!(digest(stage, "").await, before.1, "nothing of their own was done either");
    assert_eq!(stage.audited("done").await, audited);
    // Refused for the id alone: without it the same claim is taken.
    let mut own = step_of("GX-2", "");
    own["workflow_id"] = Value::Null;
    let claimed = stage.service("globex").await.post("/operations", &own).await;
    claimed.expect(StatusCode::CREATED);
    testkit::threat("T20", tried, 0);
}

#[tokio::test]
async fn an_id_in_a_query_is_one_that_nobody_has() {
    let world = World::open().await;
    others(&world).await;
    let stage = &world.stage;
    let before = digest(stage, "").await;
    let mut tried = 0;
    for (name, _) in OTHERS {
        let cookie = stage.browser(&format!("{name}@globex.test")).await.cookie.unwrap();
        let cookie = Shown::Cookie(cookie);
        for (kind, collection) in [
            ("operation", "operations"),
            ("workflow", "workflows"),
            ("compensation", "compensations"),
            ("outbox", "outbox"),
            ("inbox", "inbox"),
            ("conflict", "conflicts"),
        ] {
            let id = &world.ids[collection];
            let other = invented(id);
            let place = |id: &str| format!("/incidents/gather?record={kind}/{id}");
            let (there, nowhere) = (place(id), place(&other));
            let answer = ask(stage, request("GET", &there, &cookie, None)).await;
            let unknown = ask(stage, request("GET", &nowhere, &cookie, None)).await;
            let what = format!("{there} as {name} of globex");
            assert_eq!(content(&answer, id, &there), content(&unknown, &other, &nowhere), "{what}");
            for secret in CANARIES.into_iter().chain([MARK]) {
                assert!(!answer.text().contains(secret), "{what} tells {secret}");
            }
            tried += 1;
        }
    }
    assert_eq!(digest(stage, "").await, before);
    testkit::threat("T20", tried, 0);
}

/// A JSON object of texts as a form.
fn pairs(body: &Value) -> String {
    let fields: Vec<_> = body
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, value)| (name.as_str(), value.as_str().unwrap()))
        .collect();
    crate::support::form(&fields)
}
