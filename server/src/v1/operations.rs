//! The engine's calls for services: reserve, start, heartbeat, finish, claim, show.
//!
//! Each handler reads its fields, calls one engine command, and words the answer of the table in
//! openapi.json; it decides nothing.

use std::{str::FromStr, time::Duration};

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, StatusCode},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::problem::Code;
use engine::{Caller, Finish, FinishOutcome, Finished, NewEvent, Reserve, StoredAnswer};
use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{
    answers,
    auth::{Anyone, Service},
    body::{Fields, unfit},
    console,
};
use crate::{refusal::Refused, router::AppState};

const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");
/// The longest bounded wait for a running operation (D03).
const MAX_WAIT: Duration = Duration::from_secs(2);

/// The id in the path; anything that is none is a record that does not exist.
pub(super) fn id<T: FromStr>(path: &str) -> Result<T, Refused> {
    path.parse().map_err(|_| Refused::code(Code::NotFound))
}

/// The key of the header or of the body (D01).
pub(super) fn key(headers: &HeaderMap, in_body: Option<String>) -> Result<String, Refused> {
    let mut in_headers = headers.get_all(IDEMPOTENCY_KEY).iter();
    let in_header = match (in_headers.next(), in_headers.next()) {
        (None, _) => None,
        (Some(value), None) => {
            let text = value.to_str().map_err(|_| {
                Refused::code(Code::KeyInvalid).field("Idempotency-Key").detail(
                    "The header takes ASCII alone; send any other key in the body field key.",
                )
            })?;
            let inner = text.strip_prefix('"').and_then(|text| text.strip_suffix('"'));
            Some(inner.unwrap_or(text).to_owned())
        }
        (Some(_), Some(_)) => return Err(Refused::code(Code::KeyMismatch).field("Idempotency-Key")),
    };
    match (in_header, in_body) {
        (Some(header), Some(body)) if header != body => {
            Err(Refused::code(Code::KeyMismatch).field("key"))
        }
        (Some(key), _) | (None, Some(key)) => Ok(key),
        (None, None) => Err(Refused::code(Code::KeyMissing)),
    }
}

/// `POST /operations`.
pub async fn reserve(
    State(state): State<AppState>,
    Service(by): Service,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let operation = fields.required_text("operation")?;
    // A control character in a key is the engine's to refuse, by the key's own code.
    let key = key(&headers, fields.optional("key")?)?;
    let payload = fields.raw("payload").map(RawValue::get).ok_or_else(|| {
        Refused::code(Code::PayloadInvalid).field("payload").detail("payload is missing.")
    })?;
    let queued = match fields.text("mode")?.as_deref() {
        None | Some("inline") => false,
        Some("queued") => true,
        Some(_) => return Err(choice("mode", "inline or queued")),
    };
    let wait = Duration::from_millis(fields.optional::<u64>("wait_ms")?.unwrap_or_default());
    let request = Reserve {
        operation,
        key,
        payload: payload.as_bytes().to_vec(),
        amount_minor: fields.optional("amount_minor")?,
        currency: fields.text("currency")?,
        queued,
        workflow_id: fields.optional("workflow_id")?,
        step_key: fields.text("step_key")?,
        wait: wait.min(MAX_WAIT),
    };
    fields.finish()?;
    Ok(answers::admission(state.engine.reserve(&by, request).await?))
}

fn choice(field: &str, words: &str) -> Refused {
    unfit(field, &format!("must be one of: {words}"))
}

fn fence(headers: &HeaderMap, body: &[u8]) -> Result<i64, Refused> {
    let mut fields = Fields::parse(headers, body)?;
    let fence = fields.required("fence")?;
    fields.finish()?;
    Ok(fence)
}

/// `POST /operations/{id}/start`.
pub async fn start(
    State(state): State<AppState>,
    Service(by): Service,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Refused> {
    let started = state.engine.start(&by, id(&path)?, fence(&headers, &body)?).await?;
    Ok(Json(json!({
        "attempt": started.attempt,
        "lease_until": started.lease_until,
        "provider_key": started.provider_key,
        "version": started.version,
    })))
}

/// `POST /operations/{id}/heartbeat`.
pub async fn heartbeat(
    State(state): State<AppState>,
    Service(by): Service,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Refused> {
    let beat = state.engine.heartbeat(&by, id(&path)?, fence(&headers, &body)?).await?;
    Ok(Json(json!({ "lease_until": beat.lease_until })))
}

/// `POST /operations/{id}/finish`.
pub async fn finish(
    State(state): State<AppState>,
    Service(by): Service,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    let finish = read_finish(Fields::parse(&headers, &body)?)?;
    Ok(match state.engine.finish(&by, id, finish).await? {
        Finished::Done { status, version } => {
            Json(json!({ "id": id, "status": status, "version": version })).into_response()
        }
        Finished::LateEvidenceKept { status } => (
            StatusCode::ACCEPTED,
            Json(json!({ "id": id, "status": status, "code": "late_evidence_kept" })),
        )
            .into_response(),
    })
}

fn read_finish(mut fields: Fields<'_>) -> Result<Finish, Refused> {
    let finish = read_finish_fields(&mut fields)?;
    fields.finish()?;
    Ok(finish)
}

/// The fields of a finish, among others.
pub(super) fn read_finish_fields(fields: &mut Fields<'_>) -> Result<Finish, Refused> {
    let outcome = FinishOutcome::parse(&fields.required_text("outcome")?)
        .ok_or_else(|| choice("outcome", "done, rejected, not_done, ambiguous"))?;
    Ok(Finish {
        fence: fields.required("fence")?,
        outcome,
        external_reference: fields.text("external_reference")?,
        amount_minor: fields.optional("amount_minor")?,
        currency: fields.text("currency")?,
        response: fields.object("response")?.map(read_response).transpose()?,
        events: fields.objects("events")?.into_iter().map(read_event).collect::<Result<_, _>>()?,
    })
}

/// The answer to replay: a text in `body`, any JSON there as its own bytes, or `body_base64`.
fn read_response(mut fields: Fields<'_>) -> Result<StoredAnswer, Refused> {
    let status = fields.optional::<u16>("status")?.unwrap_or(200);
    if !(200..=599).contains(&status) {
        return Err(unfit("response.status", "must lie between 200 and 599"));
    }
    let content_type = fields.text("content_type")?.unwrap_or_else(|| "application/json".into());
    let in_base64: Option<String> = fields.optional("body_base64")?;
    let body = match (fields.raw("body"), in_base64) {
        (Some(_), Some(_)) => {
            return Err(unfit("response", "has a body or a body_base64, not both"));
        }
        (Some(raw), None) if raw.get().starts_with('"') => {
            serde_json::from_str::<String>(raw.get())
                .map_err(|_| unfit("response.body", "is no text; send it as body_base64"))?
                .into_bytes()
        }
        (Some(raw), None) => raw.get().as_bytes().to_vec(),
        (None, Some(text)) => STANDARD
            .decode(text)
            .map_err(|_| unfit("response.body_base64", "must be base64 with padding"))?,
        (None, None) => Vec::new(),
    };
    fields.finish()?;
    Ok(StoredAnswer { status, content_type, body, cut: false })
}

fn read_event(mut fields: Fields<'_>) -> Result<NewEvent, Refused> {
    let event = NewEvent {
        aggregate: fields.required_text("aggregate")?,
        topic: fields.required_text("topic")?,
        payload: fields
            .raw("payload")
            .map(|raw| raw.get().as_bytes().to_vec())
            .ok_or_else(|| fields.missing("payload"))?,
    };
    fields.finish()?;
    Ok(event)
}

/// What `claim` gives.
#[derive(Debug, Serialize)]
pub struct ClaimedItems {
    items: Vec<answers::Claimed>,
}

/// `POST /operations/claim`.
pub async fn claim(
    State(state): State<AppState>,
    Service(by): Service,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<ClaimedItems>, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let kinds: Vec<String> = fields.required("kinds")?;
    let max = fields.optional("max")?.unwrap_or(1);
    let lease_ms = fields.optional("lease_ms")?;
    fields.finish()?;
    let work = state.engine.claim(&by, &kinds, max, lease_ms).await?;
    let items = work.into_iter().map(answers::claimed).collect::<Result<_, _>>()?;
    Ok(Json(ClaimedItems { items }))
}

/// `GET /operations/{id}`: the service's view by a service token, the console's by a person's.
pub async fn show(
    State(state): State<AppState>,
    Anyone(by): Anyone,
    Path(path): Path<String>,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    Ok(match by {
        Caller::Service(by) => {
            Json(state.engine.operation_for_service(&by, id).await?).into_response()
        }
        Caller::Staff(by) => {
            let detail = state.engine.operation(&by, id).await?;
            let plan = state.engine.compensation_plan(&by, id).await?;
            let mut whole = console::in_full(&detail);
            whole["plan"] = json!(plan);
            Json(whole).into_response()
        }
    })
}

#[cfg(test)]
mod tests {
    use axum::http::HeaderValue;

    use super::*;

    fn with_header(value: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(IDEMPOTENCY_KEY, HeaderValue::from_static(value))])
    }

    #[test]
    fn the_header_loses_one_pair_of_quotes_and_agrees_with_the_body() {
        assert_eq!(key(&with_header("\"k 1\""), None).unwrap(), "k 1");
        assert_eq!(key(&with_header("\"\"k\"\""), None).unwrap(), "\"k\"");
        assert_eq!(key(&with_header("\"k"), None).unwrap(), "\"k");
        assert_eq!(key(&with_header("k"), Some("k".into())).unwrap(), "k");
        assert_eq!(key(&HeaderMap::new(), Some("é😀".into())).unwrap(), "é😀");
        assert!(key(&with_header("k"), Some("l".into())).is_err());
        assert!(key(&HeaderMap::new(), None).is_err());
    }

    #[test]
    fn a_response_keeps_its_bytes() {
        let read = |text: &str| {
            let mut outer = Fields::parse(&json_headers(), text.as_bytes()).unwrap();
            read_response(outer.object("response").unwrap().unwrap()).map(|answer| answer.body)
        };
        assert_eq!(read(r#"{"response":{"body":"a\nb"}}"#).unwrap(), b"a\nb");
        assert_eq!(read(r#"{"response":{"body":{"n": 1.10}}}"#).unwrap(), br#"{"n": 1.10}"#);
        assert_eq!(read(r#"{"response":{"body_base64":"AP8="}}"#).unwrap(), [0, 255]);
        assert!(read(r#"{"response":{"body":"a","body_base64":""}}"#).is_err());
        assert!(read(r#"{"response":{"status":101}}"#).is_err());
    }

    fn json_headers() -> HeaderMap {
        HeaderMap::from_iter([(
            axum::http::header::CONTENT_TYPE,
            HeaderValue::from_static("application/json"),
        )])
    }
}
