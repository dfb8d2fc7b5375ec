//! Messages: a service hands one in, with what it starts; a person's program looks at them.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode},
    response::{IntoResponse, Response},
};
use chrono::DateTime;
use domain::{ids::MessageId, inbox::InboxState, listing::Page, problem::Code, view::MessageRow};
use engine::{ReceiveMessage, Received};
use serde_json::{Value, json, value::RawValue};

use super::{
    auth::{Service, Staff},
    body::Fields,
    console::in_full,
    query::filter,
};
use crate::{refusal::Refused, router::AppState};

/// `POST /inbox`.
pub async fn receive(
    State(state): State<AppState>,
    Service(by): Service,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    // A message without an instant of its own cannot be told from one that was forgotten (D29).
    let produced_at = fields
        .text("produced_at")?
        .and_then(|text| DateTime::parse_from_rfc3339(&text).ok())
        .ok_or_else(|| {
            Refused::code(Code::RequestInvalid)
                .field("produced_at")
                .detail("produced_at must be an instant such as 2026-11-29T12:00:00Z.")
        })?;
    let bytes = |raw: &RawValue| raw.get().as_bytes().to_vec();
    let message = ReceiveMessage {
        consumer: fields.required_text("consumer")?,
        source: fields.required_text("source")?,
        message_id: fields.required_text("message_id")?,
        produced_at: produced_at.to_utc(),
        payload: fields.raw("payload").map(bytes).ok_or_else(|| {
            Refused::code(Code::PayloadInvalid).field("payload").detail("payload is missing.")
        })?,
        then: fields.raw("then").filter(|raw| raw.get() != "null").map(bytes),
    };
    fields.finish()?;
    answer(&state.engine.receive_message(&by, message).await?)
}

/// First, again, or waiting for a person.
fn answer(received: &Received) -> Result<Response, Refused> {
    let code = match received.state {
        InboxState::Quarantined => Code::Quarantined,
        InboxState::Dead => Code::Dead,
        InboxState::Processing | InboxState::Processed | InboxState::Dropped => {
            let status = if received.first { StatusCode::CREATED } else { StatusCode::OK };
            let body = json!({
                "id": received.id,
                "status": received.state,
                "operation_id": received.operation_id,
                "workflow_id": received.workflow_id,
            });
            return Ok((status, Json(body)).into_response());
        }
    };
    let refused = Refused::code(code)
        .with("id", received.id.to_string())
        .with("state", received.state.label());
    Err(match &received.error {
        Some(error) => refused.detail(format!("Its last delivery failed with {error}")),
        None => refused,
    })
}

/// `GET /inbox`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<MessageRow>>, Refused> {
    Ok(Json(state.engine.list_messages(&by, &filter(query.as_deref())?).await?))
}

/// `GET /inbox/{id}`.
pub async fn show(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    let id: MessageId = path.parse().map_err(|_| Refused::code(Code::NotFound))?;
    Ok(Json(in_full(&state.engine.message(&by, id).await?)))
}
