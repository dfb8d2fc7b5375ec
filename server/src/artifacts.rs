//! What a step of a workflow brought forth, as a download for people.
//!
//! Guards against the artifact that a browser runs: it leaves as bytes to be kept, whatever it says it is.

use axum::{
    Extension,
    extract::{Path, Query, State, rejection::QueryRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::{ids::WorkflowId, problem::Code};
use engine::StaffCaller;
use serde::Deserialize;

use crate::{refusal::Refused, router::AppState};

/// Which one. In the query, for a name may hold what a path cannot.
#[derive(Deserialize)]
pub struct Which {
    step: String,
    name: String,
}

/// `GET /workflows/{id}/artifact?step=…&name=…`.
///
/// # Errors
/// `not_found`, also for what has expired; `permission_missing` for what cannot be masked.
pub async fn download(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(path): Path<String>,
    which: Result<Query<Which>, QueryRejection>,
) -> Result<Response, Refused> {
    let not_found = || Refused::code(Code::NotFound);
    let id: WorkflowId = path.parse().map_err(|_| not_found())?;
    let Query(Which { step, name }) = which.map_err(|_| not_found())?;
    let artifact = state.engine.artifact_for_staff(&by, id, &step, &name).await?;
    let mut response = artifact.body.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Names hold anything but control characters; in a header they keep letters, digits and a few signs.
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let file: String = format!("{step}-{name}").chars().map(safe).take(120).collect();
    let value = format!("attachment; filename=\"{file}\"");
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    Ok(response)
}
