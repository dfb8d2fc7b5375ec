//! The console's calls by a person's token: the same commands, rights and receipts as the pages.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderValue},
    response::{IntoResponse, Response},
};
use chrono::{DateTime, Utc};
use domain::{
    action::{Outcome, Verb},
    listing::{OperationFilter, Page, StatusFilter},
    problem::Code,
    view::{OperationDetail, OperationRow, Receipt},
};
use engine::ActionRequest;
use serde_json::{Value, json};

use super::{
    answers::REPLAYED,
    auth::Staff,
    body::{Fields, unfit},
    operations::id,
};
use crate::{refusal::Refused, router::AppState};

/// `GET /operations`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<OperationRow>>, Refused> {
    let filter = filter(query.as_deref().unwrap_or_default())?;
    Ok(Json(state.engine.list_operations(&by, &filter).await?))
}

pub(super) fn bad_filter(field: &str, detail: &str) -> Refused {
    Refused::code(Code::FilterInvalid).field(field).detail(detail)
}

/// Reads the filter; a name or value that the list does not know is refused, never skipped: a
/// list wider than was asked for is a wrong answer. The engine holds the limits.
fn filter(query: &str) -> Result<OperationFilter, Refused> {
    let mut filter = OperationFilter::default();
    let mut seen: Vec<String> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if seen.iter().any(|known| *known == name) {
            return Err(bad_filter(&name, "A filter is given once."));
        }
        match name.as_ref() {
            _ if value.is_empty() => {}
            "status" => {
                let status = StatusFilter::parse(&value)
                    .ok_or_else(|| bad_filter("status", "There is no such state."))?;
                filter.status = Some(status);
            }
            "operation" => filter.operation = Some(value.clone().into_owned()),
            "q" => filter.q = Some(value.clone().into_owned()),
            "needs_manual" => filter.needs_manual = flag("needs_manual", &value)?,
            "conflict" => filter.conflict = flag("conflict", &value)?,
            "from" => filter.from = Some(instant("from", &value)?),
            "to" => filter.to = Some(instant("to", &value)?),
            "cursor" => filter.cursor = Some(value.clone().into_owned()),
            "limit" => {
                let limit = value.parse();
                filter.limit =
                    Some(limit.map_err(|_| bad_filter("limit", "limit is a whole number."))?);
            }
            _ => return Err(bad_filter(&name, "The list has no such filter.")),
        }
        seen.push(name.into_owned());
    }
    Ok(filter)
}

fn flag(name: &str, value: &str) -> Result<bool, Refused> {
    value.parse().map_err(|_| bad_filter(name, "This filter is true or false."))
}

pub(super) fn instant(name: &str, value: &str) -> Result<DateTime<Utc>, Refused> {
    DateTime::parse_from_rfc3339(value)
        .map(|instant| instant.to_utc())
        .map_err(|_| bad_filter(name, "An instant looks like 2026-11-29T12:00:00Z."))
}

/// An operation in full: the facts of its list row stand at the top, beside the rest.
pub(super) fn in_full(detail: &OperationDetail) -> Value {
    let mut whole = json!(detail);
    if let Value::Object(members) = &mut whole
        && let Some(Value::Object(row)) = members.remove("row")
    {
        members.extend(row);
    }
    whole
}

/// `GET /operations/{id}/timeline`.
pub async fn timeline(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    let detail = state.engine.operation(&by, id(&path)?).await?;
    Ok(Json(json!({ "items": detail.timeline, "as_of": detail.as_of })))
}

/// `GET /receipts/{id}`.
pub async fn receipt(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Receipt>, Refused> {
    Ok(Json(state.engine.receipt(&by, id(&path)?).await?))
}

/// `POST /operations/{id}/actions/{verb}`; the router names the verbs.
pub async fn act(
    verb: Verb,
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
    let request = ActionRequest {
        target: id(&path)?,
        verb,
        version: fields.required("version")?,
        // The engine asks for a reason, and records who left it out.
        reason: trimmed(fields.text("reason")?).unwrap_or_default(),
        outcome,
        external_reference: trimmed(fields.text("external_reference")?),
        amount_minor: fields.optional("amount_minor")?,
        currency: trimmed(fields.text("currency")?),
        evidence: trimmed(fields.text("evidence")?),
        force: fields.optional("force")?.unwrap_or_default(),
    };
    fields.finish()?;
    let acted = state.engine.act(&by, request).await?;
    let mut response = Json(&acted.receipt).into_response();
    if acted.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_is_read_once_and_decoded_once() {
        let read =
            filter("status=unknown&q=a%2525%20b%2B&needs_manual=true&limit=20&operation=").unwrap();
        assert_eq!(read.status.map(StatusFilter::as_str), Some("unknown"));
        assert_eq!(read.q.as_deref(), Some("a%25 b+"));
        assert!(read.needs_manual);
        assert_eq!(read.limit, Some(20));
        assert_eq!(read.operation, None);
    }

    #[test]
    fn a_filter_that_the_list_does_not_know_is_refused() {
        for query in [
            "status=failed",
            "sort=id;drop",
            "q=a&q=b",
            "limit=1e9",
            "from=yesterday",
            "needs_manual=1",
        ] {
            assert!(filter(query).is_err(), "{query}");
        }
    }
}
