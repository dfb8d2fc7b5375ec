//! Notes on any record that takes them, for a person's program.

use axum::{
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, StatusCode},
};
use domain::{
    ids::OperationId,
    record::{RecordName, RecordType},
};

use super::{auth::Staff, body::Fields, operations::id};
use crate::{refusal::Refused, router::AppState};

/// `POST /{records}/{id}/notes`; the router names the records. The same `form_key` with the same text
/// again adds nothing.
pub async fn add(
    record: RecordType,
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<StatusCode, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let about = RecordName::new(record, id::<OperationId>(&path)?.uuid());
    // The engine asks for both, and records who left one out.
    let form_key = fields.text("form_key")?.unwrap_or_default();
    let text = fields.text("text")?.unwrap_or_default();
    fields.finish()?;
    state.engine.add_note(&by, about, &form_key, &text).await?;
    Ok(StatusCode::NO_CONTENT)
}
