//! The console's calls by a person's token: the same commands, rights and receipts as the pages.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    action::{Outcome, Subject, TargetType, Verb},
    ids::OperationId,
    listing::Page,
    view::{OperationRow, Receipt},
};
use engine::{ActionRequest, Decided, console::Piece};
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    answers::REPLAYED,
    auth::Staff,
    body::{Fields, unfit},
    incidents::records,
    operations::id,
    query::{filter, place},
};
use crate::{refusal::Refused, router::AppState};

/// Items of one piece of a timeline.
const MAX_ITEMS: usize = 500;

/// `GET /operations`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<OperationRow>>, Refused> {
    Ok(Json(state.engine.list_operations(&by, &filter(query.as_deref())?).await?))
}

/// A record in full: the facts of its list row stand at the top, beside the rest.
pub(super) fn in_full(detail: &impl Serialize) -> Value {
    let mut whole = json!(detail);
    if let Value::Object(members) = &mut whole
        && let Some(Value::Object(row)) = members.remove("row")
    {
        members.extend(row);
    }
    whole
}

/// `GET /operations/{id}/timeline`: the last piece, or the one that holds the item `from`.
pub async fn timeline(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Value>, Refused> {
    let piece = Piece { from: place(query.as_deref())?, size: MAX_ITEMS };
    let detail = state.engine.operation_told(&by, id(&path)?, piece).await?;
    Ok(Json(json!({
        "items": detail.timeline,
        "from": detail.timeline_from + 1,
        "total": detail.timeline_total,
        "as_of": detail.as_of,
    })))
}

/// `GET /receipts/{id}`.
pub async fn receipt(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Receipt>, Refused> {
    Ok(Json(state.engine.receipt(&by, id(&path)?).await?))
}

/// `POST /{records}/{id}/actions/{verb}`; the router names records and verbs.
pub async fn act(
    (kind, verb): (TargetType, Verb),
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let outcome = match fields.text("outcome")? {
        None => None,
        Some(word) => Some(word.parse::<Outcome>().map_err(|_| {
            unfit("outcome", "must be one of: happened, not_happened_retry, not_happened_stop")
        })?),
    };
    let target = Subject::new(kind, id::<OperationId>(&path)?.to_string());
    let version = fields.required("version")?;
    // The engine asks for a reason, and records who left it out.
    let reason = trimmed(fields.text("reason")?).unwrap_or_default();
    let request = ActionRequest {
        outcome,
        external_reference: trimmed(fields.text("external_reference")?),
        amount_minor: fields.optional("amount_minor")?,
        currency: trimmed(fields.text("currency")?),
        evidence: trimmed(fields.text("evidence")?),
        evidence_files: fields.optional("evidence_files")?.unwrap_or_default(),
        force: fields.optional("force")?.unwrap_or_default(),
        overrides: fields.optional("override")?.unwrap_or_default(),
        records: match kind {
            TargetType::Incident => records(&mut fields)?,
            _ => Vec::new(),
        },
        ..ActionRequest::new(target, verb, version, reason)
    };
    fields.finish()?;
    Ok(decided(state.engine.act(&by, request).await?))
}

/// 200 with the receipt, 202 with the request that waits for a second person.
pub(super) fn decided(decided: Decided) -> Response {
    let (mut response, replayed) = match decided {
        Decided::Done(acted) => (Json(&acted.receipt).into_response(), acted.replayed),
        Decided::Asked { approval, replayed } => {
            let place = format!("/api/v1/approvals/{}", approval.id);
            let head = [(header::LOCATION, place)];
            ((StatusCode::ACCEPTED, head, Json(&approval)).into_response(), replayed)
        }
    };
    if replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    response
}

pub(super) fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}
