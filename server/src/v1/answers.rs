//! How the engine's admissions become HTTP: one function, so that the table of openapi.json stands
//! in one place.

use axum::{
    Json,
    http::{HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use domain::{ids::OperationId, problem::Code};
use engine::{Admission, ClaimedWork, StoredAnswer};
use serde::Serialize;
use serde_json::{json, value::RawValue};

use crate::refusal::Refused;

/// Marks an answer that was given before.
pub(super) const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");
/// Whether a new key is safe after a final failure (D07).
const SAFE_NEW_KEY: HeaderName = HeaderName::from_static("onceover-safe-new-key");
/// Which operation an answer belongs to, where its body is the provider's own.
const OPERATION: HeaderName = HeaderName::from_static("onceover-operation");
/// Marks a stored answer that was cut at its limit.
const CUT: HeaderName = HeaderName::from_static("onceover-answer-cut");

const TRUE: HeaderValue = HeaderValue::from_static("true");
const FALSE: HeaderValue = HeaderValue::from_static("false");

/// The answer to a reservation.
pub(super) fn admission(admission: Admission) -> Response {
    match admission {
        Admission::Won { id, fence, lease_until, provider_key } => {
            let body = json!({
                "id": id, "fence": fence, "lease_until": lease_until, "provider_key": provider_key,
            });
            (StatusCode::CREATED, [(header::LOCATION, place(id))], Json(body)).into_response()
        }
        Admission::Queued { id } => {
            let body = json!({ "id": id, "status": "reserved" });
            (StatusCode::ACCEPTED, [(header::LOCATION, place(id))], Json(body)).into_response()
        }
        Admission::Replayed { id, answer } => replayed(id, answer),
        Admission::FailedTerminal { id, answer, safe_new_key } => {
            let mut response = match answer {
                Some(answer) => replayed(id, answer),
                None => {
                    let refused =
                        about(id, Code::FailedTerminal).with("safe_new_key", safe_new_key);
                    let mut response = refused.into_response();
                    response.headers_mut().insert(REPLAYED, TRUE);
                    response
                }
            };
            response.headers_mut().insert(SAFE_NEW_KEY, if safe_new_key { TRUE } else { FALSE });
            response
        }
        Admission::InProgress { id, retry_after_s } => {
            about(id, Code::OperationInProgress).retry_after(retry_after_s).into_response()
        }
        Admission::RetryLater { id, retry_after_s } => {
            about(id, Code::RetryLater).retry_after(retry_after_s).into_response()
        }
        Admission::OutcomeUnknown { id } => {
            let mut response =
                about(id, Code::OutcomeUnknown).with("safe_new_key", false).into_response();
            response.headers_mut().insert(SAFE_NEW_KEY, FALSE);
            response
        }
        Admission::Tombstoned { id, status, external_reference } => about(id, Code::Tombstoned)
            .with("operation_status", status.as_str())
            .with("external_reference", external_reference)
            .into_response(),
    }
}

fn place(id: OperationId) -> String {
    format!("/api/v1/operations/{id}")
}

/// A refusal that names the operation and where to ask about it.
fn about(id: OperationId, code: Code) -> Refused {
    Refused::code(code).with("id", id.to_string()).with("status_url", place(id))
}

/// The stored status, type and bytes (D06).
fn replayed(id: OperationId, answer: StoredAnswer) -> Response {
    let status = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::OK);
    let kind = HeaderValue::from_str(&answer.content_type)
        .unwrap_or(HeaderValue::from_static("application/octet-stream"));
    let mut response = (status, answer.body).into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, kind);
    headers.insert(REPLAYED, TRUE);
    let id = HeaderValue::from_str(&id.to_string()).expect("an id is visible ASCII");
    headers.insert(OPERATION, id);
    if answer.cut {
        headers.insert(CUT, TRUE);
    }
    response
}

/// One piece of work as `claim` gives it.
#[derive(Debug, Serialize)]
pub struct Claimed {
    id: OperationId,
    operation: String,
    key: String,
    fence: i64,
    lease_until: DateTime<Utc>,
    provider_key: String,
    /// The bytes that were sent.
    payload: Box<RawValue>,
    amount_minor: Option<i64>,
    currency: Option<String>,
    attempt: i32,
}

/// Words a piece of claimed work.
pub(super) fn claimed(work: ClaimedWork) -> Result<Claimed, Refused> {
    let payload =
        String::from_utf8(work.payload).ok().and_then(|text| RawValue::from_string(text).ok());
    let Some(payload) = payload else {
        tracing::error!(operation = %work.id, "the stored payload is not JSON");
        return Err(Refused::code(Code::Internal));
    };
    Ok(Claimed {
        id: work.id,
        operation: work.operation,
        key: work.key,
        fence: work.fence,
        lease_until: work.lease_until,
        provider_key: work.provider_key,
        payload,
        amount_minor: work.amount.as_ref().map(|money| money.amount_minor),
        currency: work.amount.map(|money| money.currency),
        attempt: work.attempt,
    })
}
