//! A reservation table in memory behind the engine's interface.
//!
//! It stands in for the engine only here, where the services' own conduct is
//! under test: what they send, in which order, and what they never send twice.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use axum::{
    Json, Router,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
    routing::post,
};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[derive(Clone, Debug)]
pub struct Row {
    pub id: String,
    pub tenant: String,
    pub body: Value,
    pub status: &'static str,
    pub finishes: Vec<Value>,
}

#[derive(Clone, Default)]
pub struct EngineDouble(Arc<Mutex<HashMap<(String, String), Row>>>, Arc<AtomicUsize>);

impl EngineDouble {
    /// Serves on a free port; the tenant's token is `token-{tenant}`.
    pub async fn start() -> (String, Self) {
        let double = Self::default();
        let app = Router::new()
            .route("/api/v1/operations", post(reserve))
            .route("/api/v1/operations/claim", post(claim))
            .route("/api/v1/operations/{id}/{verb}", post(fenced))
            .layer(axum::extract::DefaultBodyLimit::max(8 * 1024 * 1024))
            .with_state(double.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let url = format!("http://{}", listener.local_addr().expect("an address"));
        tokio::spawn(async move { axum::serve(listener, app).await });
        (url, double)
    }

    /// How many reservations met a key that was there.
    pub fn repeats(&self) -> usize {
        self.1.load(Ordering::Relaxed)
    }

    pub fn rows(&self) -> Vec<Row> {
        self.0.lock().expect("not poisoned").values().cloned().collect()
    }

    pub fn row(&self, tenant: &str, key: &str) -> Row {
        let rows = self.0.lock().expect("not poisoned");
        rows.get(&(tenant.to_owned(), key.to_owned())).expect("reserved").clone()
    }
}

fn problem(status: u16, code: &str) -> Response {
    (StatusCode::from_u16(status).expect("a status"), Json(json!({ "code": code }))).into_response()
}

/// The stored status and body, marked as a replay.
fn replayed(row: &Row) -> Response {
    let stored = &row.finishes[0]["response"];
    let status = stored["status"]
        .as_u64()
        .and_then(|status| StatusCode::from_u16(u16::try_from(status).ok()?).ok());
    let body = stored["body"].as_str().unwrap_or_default().to_owned();
    (status.expect("a status"), [("idempotent-replayed", "true")], body).into_response()
}

async fn reserve(
    State(double): State<EngineDouble>,
    headers: HeaderMap,
    Json(mut body): Json<Value>,
) -> Response {
    let header =
        |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
    let tenant = header("authorization")
        .and_then(|value| value.strip_prefix("Bearer token-").map(str::to_owned));
    let Some(tenant) = tenant else {
        return problem(401, "unauthenticated");
    };
    let in_body = body
        .as_object_mut()
        .and_then(|body| body.remove("key"))
        .and_then(|key| key.as_str().map(str::to_owned));
    let Some(key) = header("idempotency-key").or(in_body) else {
        return problem(400, "key_missing");
    };
    let mut rows = double.0.lock().expect("not poisoned");
    let id = format!("op-{}", rows.len());
    if let Some(row) = rows.get(&(tenant.clone(), key.clone())) {
        double.1.fetch_add(1, Ordering::Relaxed);
        return match row.status {
            _ if row.body != body => problem(422, "key_reused"),
            "done" | "rejected" => replayed(row),
            "ambiguous" => problem(409, "outcome_unknown"),
            "not_done" => problem(409, "retry_later"),
            _ => problem(409, "operation_in_progress"),
        };
    }
    let queued = body["mode"] == json!("queued");
    let status = if queued { "queued" } else { "reserved" };
    rows.insert(
        (tenant.clone(), key),
        Row { id: id.clone(), tenant, body, status, finishes: Vec::new() },
    );
    let answer =
        json!({ "id": id, "fence": 1, "lease_until": "2026-11-29T12:00:00Z", "provider_key": id });
    (if queued { StatusCode::ACCEPTED } else { StatusCode::CREATED }, Json(answer)).into_response()
}

async fn claim(State(double): State<EngineDouble>, Json(_): Json<Value>) -> Response {
    let mut rows = double.0.lock().expect("not poisoned");
    let items: Vec<_> = rows
        .values_mut()
        .filter(|row| row.status == "queued")
        .map(|row| {
            row.status = "reserved";
            json!({ "id": row.id, "fence": 1, "provider_key": row.id, "operation": row.body["operation"],
                "payload": row.body["payload"], "amount_minor": row.body.get("amount_minor"), "currency": row.body.get("currency") })
        })
        .collect();
    Json(json!({ "items": items })).into_response()
}

async fn fenced(
    State(double): State<EngineDouble>,
    Path((id, verb)): Path<(String, String)>,
    Json(body): Json<Value>,
) -> Response {
    let mut rows = double.0.lock().expect("not poisoned");
    let Some(row) = rows.values_mut().find(|row| row.id == id) else {
        return problem(404, "not_found");
    };
    if body["fence"] != json!(1) {
        return problem(409, "fence_lost");
    }
    match (verb.as_str(), row.status) {
        ("start", "reserved") => row.status = "executing",
        ("heartbeat", "executing") => {}
        ("finish", "executing") => {
            row.status = match body["outcome"].as_str() {
                Some("done") => "done",
                Some("rejected") => "rejected",
                Some("not_done") => "not_done",
                _ => "ambiguous",
            };
            row.finishes.push(body);
        }
        _ => return problem(409, "already_started"),
    }
    Json(json!({})).into_response()
}
