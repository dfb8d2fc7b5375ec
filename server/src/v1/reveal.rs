//! Masked fields revealed to a person's program: the same right, reason and audit row as on the page.
//! The values are in this one answer.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::{HeaderMap, HeaderName, HeaderValue},
    response::{IntoResponse as _, Response},
};
use domain::{
    action::{Subject, TargetType},
    ids::OperationId,
    view::ArtifactName,
};
use engine::console::AskReveal;

use super::{
    answers::REPLAYED,
    auth::Staff,
    body::{Fields, unfit},
    console::trimmed,
    operations::id,
};
use crate::{refusal::Refused, router::AppState};

const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Records whose masked fields can be revealed, and the name of their collection.
pub(super) const REVEALED: [(TargetType, &str); 4] = [
    (TargetType::Operation, "operations"),
    (TargetType::Workflow, "workflows"),
    (TargetType::Outbox, "outbox"),
    (TargetType::Inbox, "inbox"),
];

/// `POST /{records}/{id}/actions/reveal`. The same `Idempotency-Key` again is answered again while the
/// reveal stands, and is written once; without one every call is a reveal of its own.
pub async fn reveal(
    kind: TargetType,
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let target = Subject::new(kind, id::<OperationId>(&path)?.to_string());
    // The engine asks for a reason, and records who left it out.
    let reason = trimmed(fields.text("reason")?).unwrap_or_default();
    let artifact = match kind {
        TargetType::Workflow => Some(ArtifactName {
            step: fields.required_text("step")?,
            name: fields.required_text("artifact")?,
        }),
        _ => None,
    };
    fields.finish()?;
    let form_key = match headers.get(&KEY) {
        None => uuid::Uuid::new_v4().to_string(),
        Some(key) => {
            let key = key.to_str().map_err(|_| unfit("Idempotency-Key", "is not ASCII"))?;
            format!("api {}", key.trim_matches('"'))
        }
    };
    let granted =
        state.engine.reveal(&by, AskReveal { target, artifact, form_key, reason }).await?;
    let shown = state.engine.revealed(&by, granted.id).await?;
    let mut response = Json(shown).into_response();
    if granted.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}
