//! The consumer's routes.
//!
//! An event is taken in a task of its own: a sender who hangs up does not undo it, and
//! will send it again.

use std::{collections::HashMap, io, sync::Arc, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{ConnectInfo, Query, State, rejection::JsonRejection},
    http::{HeaderMap, HeaderValue, StatusCode},
    response::{IntoResponse, Response},
};

use super::{
    event::Event,
    ledger::{Ledger, Outcome},
    rules::{EventRule, RuleTable, Trouble},
};
use crate::{
    clock,
    providers::{connection::Wire, reply},
    signature::{SIGNATURE_HEADER, verify},
};

/// What every request shares.
pub(super) struct Shared {
    ledger: Ledger,
    rules: RuleTable,
    secret: String,
    tolerance_s: u64,
}

impl Shared {
    pub(super) fn new(
        ledger: Ledger,
        rules: RuleTable,
        secret: String,
        tolerance: Duration,
    ) -> Self {
        Self { ledger, rules, secret, tolerance_s: tolerance.as_secs() }
    }
}

/// `POST /events`.
pub(super) async fn take(
    State(shared): State<Arc<Shared>>,
    ConnectInfo(wire): ConnectInfo<Wire>,
    headers: HeaderMap,
    body: Bytes,
) -> Response {
    let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    // Over the raw bytes, before anything in them is believed.
    let (now_s, signature) = (clock::now_ms() / 1_000, header(SIGNATURE_HEADER));
    let secret = shared.secret.as_bytes();
    if let Err(fault) = verify(secret, signature, now_s, shared.tolerance_s, &body) {
        return reply::error(StatusCode::UNAUTHORIZED, "signature_invalid", &fault.to_string());
    }
    let event = match Event::parse(&body) {
        Ok(event) => event,
        Err(message) => {
            return reply::error(StatusCode::BAD_REQUEST, "event_invalid", &message);
        }
    };
    if header("idempotency-key") != Some(&*event.id) {
        let message = "the header Idempotency-Key is not the event's id";
        return reply::error(StatusCode::BAD_REQUEST, "key_mismatch", message);
    }
    let trouble = match shared.rules.pick(&event) {
        Ok(trouble) => trouble,
        Err(error) => return broken(&error),
    };
    match &trouble {
        Some(Trouble::Down) => {
            let message = "closed for maintenance; nothing was taken";
            return reply::error(StatusCode::SERVICE_UNAVAILABLE, "down", message);
        }
        Some(Trouble::Fail500) => {
            let message = "something went wrong";
            return reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", message);
        }
        // What was taken stays taken; only a new event can be refused.
        Some(Trouble::Reject { code }) if !shared.ledger.has(&event.id) => {
            let message = "this event is not taken";
            return reply::error(StatusCode::UNPROCESSABLE_ENTITY, code, message);
        }
        _ => {}
    }
    let pause = match trouble {
        Some(Trouble::Slow { ms }) => Duration::from_millis(ms),
        _ => Duration::ZERO,
    };
    let taking = tokio::spawn(taken_after(Arc::clone(&shared), event, pause));
    let outcome = match taking.await {
        Ok(Ok(outcome)) => outcome,
        Ok(Err(error)) => return broken(&error),
        Err(error) => return broken(&error),
    };
    if trouble == Some(Trouble::TakeDrop) {
        wire.cut();
    }
    answer(outcome)
}

async fn taken_after(
    shared: Arc<Shared>,
    event: Event,
    pause: Duration,
) -> Result<Outcome, crate::providers::LedgerError> {
    tokio::time::sleep(pause).await;
    tokio::task::spawn_blocking(move || shared.ledger.take(event))
        .await
        .expect("the ledger does not panic and the runtime outlives its tasks")
}

fn answer(outcome: Outcome) -> Response {
    match outcome {
        Outcome::New => StatusCode::OK.into_response(),
        Outcome::Repeated => {
            let mut response = StatusCode::OK.into_response();
            response.headers_mut().insert("idempotent-replayed", HeaderValue::from_static("true"));
            response
        }
        Outcome::Reused => {
            let message = "this id was taken with another body; nothing was done";
            reply::error(StatusCode::CONFLICT, "event_reused", message)
        }
    }
}

/// `GET /ledger`.
pub(super) async fn ledger(
    State(shared): State<Arc<Shared>>,
    Query(terms): Query<HashMap<String, String>>,
) -> Response {
    let mut found = Vec::new();
    for taken in shared.ledger.all() {
        let mut meets_all = true;
        for (name, value) in &terms {
            match taken.meets(name, value) {
                Some(meets) => meets_all &= meets,
                None => {
                    let message = format!("the ledger has no term {name:?}");
                    return reply::error(StatusCode::BAD_REQUEST, "invalid_request", &message);
                }
            }
        }
        if meets_all {
            found.push(taken.line());
        }
    }
    reply::lines(found.into_iter())
}

/// `GET /modes`.
pub(super) async fn show_modes(State(shared): State<Arc<Shared>>) -> Json<Vec<EventRule>> {
    Json(shared.rules.current())
}

/// `PUT /modes`.
pub(super) async fn replace_modes(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<Vec<EventRule>>, JsonRejection>,
) -> Response {
    change(&shared, body, |_, new| new)
}

/// `POST /modes`.
pub(super) async fn add_modes(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<Vec<EventRule>>, JsonRejection>,
) -> Response {
    change(&shared, body, |old, mut new| {
        new.extend(old);
        new
    })
}

/// `DELETE /modes`.
pub(super) async fn clear_modes(State(shared): State<Arc<Shared>>) -> Response {
    change(&shared, Ok(Json(Vec::new())), |_, new| new)
}

fn change(
    shared: &Shared,
    body: Result<Json<Vec<EventRule>>, JsonRejection>,
    merge: impl FnOnce(Vec<EventRule>, Vec<EventRule>) -> Vec<EventRule>,
) -> Response {
    match body {
        Err(rejection) => {
            reply::error(StatusCode::BAD_REQUEST, "invalid_modes", &rejection.body_text())
        }
        Ok(Json(new)) => match shared.rules.change(|old| merge(old, new)) {
            Ok(current) => Json(current).into_response(),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                reply::error(StatusCode::CONFLICT, "too_many_rules", &error.to_string())
            }
            Err(error) => broken(&error),
        },
    }
}

/// The consumer's own disk failed: it will be told again.
fn broken(error: &(dyn std::error::Error + 'static)) -> Response {
    tracing::error!(error, "the consumer cannot keep its ledger or rules");
    let message = "something went wrong";
    reply::error(StatusCode::INTERNAL_SERVER_ERROR, "internal", message)
}
