//! Incidents for a person's program: opened, read, reported. What is gathered into one that is open goes
//! by its actions.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
    response::Response,
};
use domain::{
    action::{Subject, TargetType, Verb},
    problem::Code,
    record::RecordName,
    view::IncidentStory,
};
use engine::ActionRequest;
use serde_json::Value;
use uuid::Uuid;

use super::{
    auth::Staff,
    body::{Fields, unfit},
    console::{decided, in_full, trimmed},
    operations::id,
};
use crate::{refusal::Refused, report::download, router::AppState};

/// `POST /incidents`: the caller makes the id, so that the same call again opens nothing.
pub async fn open(
    State(state): State<AppState>,
    Staff(by): Staff,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let id: Uuid = fields.required("id")?;
    let target = Subject::new(TargetType::Incident, id.to_string());
    let reason = trimmed(fields.text("reason")?).unwrap_or_default();
    let request = ActionRequest {
        summary: fields.text("summary")?,
        records: records(&mut fields)?,
        ..ActionRequest::new(target, Verb::Open, 0, reason)
    };
    fields.finish()?;
    Ok(decided(state.engine.act(&by, request).await?))
}

/// The field `records`: names such as `operation/0199…`.
pub(super) fn records(fields: &mut Fields<'_>) -> Result<Vec<RecordName>, Refused> {
    let names: Vec<String> = fields.optional("records")?.unwrap_or_default();
    let read = |name: &String| {
        let words =
            "holds what names no record: they are written operation/{id}, workflow/{id} and so on";
        name.parse().map_err(|_| unfit("records", words))
    };
    names.iter().map(read).collect()
}

/// `GET /incidents/{id}`.
pub async fn show(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(in_full(&state.engine.incident(&by, id(&path)?, None).await?)))
}

/// `GET /incidents/{id}/timeline?cursor=…`.
pub async fn timeline(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<IncidentStory>, Refused> {
    let after = only(query.as_deref(), "cursor")?;
    Ok(Json(state.engine.incident_story(&by, id(&path)?, after.as_deref()).await?))
}

/// `GET /incidents/{id}/report?format=…`.
pub async fn report(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Response, Refused> {
    let format = only(query.as_deref(), "format")?.unwrap_or_else(|| "json".into());
    download(&state.engine, &by, &path, &format).await
}

/// The one part that a query may have.
fn only(query: Option<&str>, name: &str) -> Result<Option<String>, Refused> {
    let mut found = None;
    for (known, value) in url::form_urlencoded::parse(query.unwrap_or_default().as_bytes()) {
        if known != name || found.is_some() {
            return Err(Refused::code(Code::FilterInvalid)
                .field(&known)
                .detail(format!("This call takes {name}, once.")));
        }
        found = Some(value.into_owned());
    }
    Ok(found)
}
