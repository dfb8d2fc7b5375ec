//! Evidence as a file, by a person's token.

use axum::{
    Json,
    body::Body,
    extract::{Path, Request, State},
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use domain::ids::OperationId;

use super::{answers::REPLAYED, auth::Staff, operations::id};
use crate::{
    evidence::{Form, file},
    refusal::Refused,
    router::AppState,
};

/// `POST /operations/{id}/evidence`: the one call that takes multipart.
pub async fn attach(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    request: Request<Body>,
) -> Result<Response, Refused> {
    let mut form = Form::read(request).await?;
    let id: OperationId = id(&path)?;
    let attached = state.engine.attach_evidence(&by, id, form.attach()).await?;
    let place = format!("/api/v1/operations/{id}/evidence/{}", attached.file.id);
    let status = if attached.replayed { StatusCode::OK } else { StatusCode::CREATED };
    let mut response = (status, [(header::LOCATION, place)], Json(attached.file)).into_response();
    if attached.replayed {
        response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
    }
    Ok(response)
}

/// `GET /operations/{id}/evidence/{evidence_id}`.
pub async fn download(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path((id, evidence)): Path<(String, String)>,
) -> Result<Response, Refused> {
    file(&state, &by, &id, &evidence).await
}
