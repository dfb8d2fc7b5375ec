//! What a step of a workflow brought forth, as a download for people.
//!
//! Guards against the artifact that a browser runs: it leaves as bytes to be kept, whatever it says it is.

use axum::{
    Extension,
    extract::{Path, Query, State, rejection::QueryRejection},
    response::Response,
};
use domain::{
    ids::{RevealId, WorkflowId},
    problem::Code,
};
use engine::StaffCaller;
use serde::Deserialize;

use crate::{download::attachment, refusal::Refused, router::AppState};

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
    Ok(attachment(&format!("{step}-{name}"), artifact.body))
}

/// `GET /reveals/{id}/artifact`: the same bytes with nothing masked, to whom they were revealed.
///
/// # Errors
/// `permission_missing`; `not_found`, also for another person's reveal and once it is over.
pub async fn download_revealed(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Path(path): Path<String>,
) -> Result<Response, Refused> {
    let id: RevealId = path.parse().map_err(|_| Refused::code(Code::NotFound))?;
    let (artifact, bytes) = state.engine.revealed_artifact(&by, id).await?;
    Ok(attachment(&format!("{}-{}", artifact.step, artifact.name), bytes))
}
