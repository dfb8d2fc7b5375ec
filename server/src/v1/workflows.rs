//! Workflows: started and carried out by services, looked at by people.
//!
//! Each handler reads its fields, calls one engine command, and words the answer; it decides
//! nothing.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use domain::{
    ids::{OperationId, WorkflowId},
    listing::Page,
    problem::Code,
    view::{WorkflowDetail, WorkflowRow},
};
use engine::{
    Caller, Finish, Finished,
    store::artifact::Artifact,
    workflows::{Begun, StepAdmission},
};
use serde_json::{Value, json, value::RawValue};

use super::{
    answers::{self, REPLAYED},
    auth::{Anyone, Service, Staff},
    body::{Fields, unfit},
    operations::{key, read_finish_fields},
    query::filter,
};
use crate::{refusal::Refused, router::AppState};

/// SHA-256 of an artifact, in hexadecimal.
const SHA256: HeaderName = HeaderName::from_static("onceover-sha256");
/// The media type that an artifact's maker named; it is served as bytes all the same.
const MEDIA_TYPE: HeaderName = HeaderName::from_static("onceover-content-type");

/// The id in the path; anything that is none is a record that does not exist.
fn id(path: &str) -> Result<WorkflowId, Refused> {
    path.parse().map_err(|_| Refused::code(Code::NotFound))
}

/// `POST /workflows`.
pub async fn start(
    State(state): State<AppState>,
    Service(by): Service,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let kind = fields.required_text("kind")?;
    // A control character in a key is the engine's to refuse, by the key's own code.
    let key = key(&headers, fields.optional("key")?)?;
    let input = fields.raw("input").map(RawValue::get).ok_or_else(|| {
        Refused::code(Code::PayloadInvalid).field("input").detail("input is missing.")
    })?;
    fields.finish()?;
    let answer = |status, id: WorkflowId, state: &str| {
        let place = format!("/api/v1/workflows/{id}");
        let body = Json(json!({ "id": id, "status": state }));
        (status, [(header::LOCATION, place)], body).into_response()
    };
    Ok(match state.engine.start_workflow(&by, &kind, &key, input.as_bytes()).await? {
        Begun::Fresh(id) => answer(StatusCode::CREATED, id, "running"),
        Begun::Known(id, state) => {
            let mut response = answer(StatusCode::OK, id, &state.to_string());
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
            response
        }
        Begun::Reused(_) => return Err(Refused::code(Code::KeyReused)),
    })
}

/// `GET /workflows/{id}`: the service's view by a service token, the console's by a person's.
pub async fn show(
    State(state): State<AppState>,
    Anyone(by): Anyone,
    Path(path): Path<String>,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    Ok(match by {
        Caller::Service(by) => {
            Json(state.engine.workflow_for_service(&by, id).await?).into_response()
        }
        Caller::Staff(by) => Json(in_full(&state.engine.workflow(&by, id).await?)).into_response(),
    })
}

/// A workflow in full: the facts of its list row stand at the top, beside the rest.
fn in_full(detail: &WorkflowDetail) -> Value {
    let mut whole = json!(detail);
    if let Value::Object(members) = &mut whole
        && let Some(Value::Object(row)) = members.remove("row")
    {
        // The row counts what the detail lists.
        members.extend(row.into_iter().filter(|(name, _)| name != "steps"));
    }
    whole
}

/// `GET /workflows`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<WorkflowRow>>, Refused> {
    Ok(Json(state.engine.list_workflows(&by, &filter(query.as_deref())?).await?))
}

/// `GET /workflows/{id}/timeline`.
pub async fn timeline(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    let detail = state.engine.workflow(&by, id(&path)?).await?;
    Ok(Json(json!({ "items": detail.timeline, "as_of": detail.as_of })))
}

/// `POST /workflows/{id}/cancel`.
pub async fn cancel(
    State(state): State<AppState>,
    Service(by): Service,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Json<Value>, Refused> {
    let id = id(&path)?;
    let mut fields = Fields::parse(&headers, &body)?;
    let reason = fields.required_text("reason")?;
    fields.finish()?;
    if reason.trim().is_empty() || reason.chars().count() > domain::action::MAX_REASON_CHARS {
        return Err(unfit("reason", "must say why, in at most 2,000 characters"));
    }
    let after = state.engine.cancel_workflow(&by, id, reason.trim()).await?;
    Ok(Json(json!({ "id": id, "status": after.status, "version": after.version })))
}

/// Reads a body without fields: none at all, or an empty object.
fn nothing(headers: &HeaderMap, body: &[u8]) -> Result<(), Refused> {
    if body.is_empty() { Ok(()) } else { Fields::parse(headers, body)?.finish() }
}

/// `POST /workflows/{id}/steps/{step_key}/start`.
pub async fn start_step(
    State(state): State<AppState>,
    Service(by): Service,
    Path((path, step)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    nothing(&headers, &body)?;
    match state.engine.take_step(&by, id, &step).await? {
        StepAdmission::Over(status) => Err(Refused::code(Code::NotAllowedInState)
            .detail(format!("The step is {status}: it is never done again."))),
        admission => admitted(admission),
    }
}

/// `POST /workflows/{id}/steps/{step_key}/resume`: as start, and what a finished step brought forth.
pub async fn resume_step(
    State(state): State<AppState>,
    Service(by): Service,
    Path((path, step)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    nothing(&headers, &body)?;
    match state.engine.take_step(&by, id, &step).await? {
        StepAdmission::Over(_) => {
            let flow = state.engine.workflow_for_service(&by, id).await?;
            let over = flow.steps.into_iter().find(|known| known.step_key == step);
            Ok(Json(over.ok_or_else(|| Refused::code(Code::NotFound))?).into_response())
        }
        admission => admitted(admission),
    }
}

fn admitted(admission: StepAdmission) -> Result<Response, Refused> {
    let about = |id: OperationId, code| {
        Refused::code(code)
            .with("id", id.to_string())
            .with("status_url", format!("/api/v1/operations/{id}"))
    };
    match admission {
        StepAdmission::Won(work) => {
            Ok((StatusCode::CREATED, Json(answers::claimed(*work)?)).into_response())
        }
        StepAdmission::Over(_) | StepAdmission::NotReady => {
            Err(Refused::code(Code::NotAllowedInState)
                .detail("The steps before it are not over, or its workflow does not run."))
        }
        StepAdmission::InProgress { id } => {
            Err(about(id, Code::OperationInProgress).retry_after(1))
        }
        StepAdmission::RetryLater { id, retry_after_s } => {
            Err(about(id, Code::RetryLater).retry_after(retry_after_s))
        }
        StepAdmission::OutcomeUnknown { id } => {
            Err(about(id, Code::OutcomeUnknown).with("safe_new_key", false))
        }
    }
}

/// `POST /workflows/{id}/steps/{step_key}/checkpoint`: the operation's finish, with artifacts.
pub async fn checkpoint(
    State(state): State<AppState>,
    Service(by): Service,
    Path((path, step)): Path<(String, String)>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    let (finish, artifacts) = read_checkpoint(Fields::parse(&headers, &body)?)?;
    Ok(match state.engine.checkpoint(&by, id, &step, finish, artifacts).await? {
        Finished::Done { status, version } => {
            Json(json!({ "step_key": step, "operation_status": status, "version": version }))
                .into_response()
        }
        Finished::LateEvidenceKept { status } => {
            let body = json!({
                "step_key": step, "operation_status": status, "code": "late_evidence_kept",
            });
            (StatusCode::ACCEPTED, Json(body)).into_response()
        }
    })
}

fn read_checkpoint(mut fields: Fields<'_>) -> Result<(Finish, Vec<Artifact>), Refused> {
    let artifacts = fields
        .objects("artifacts")?
        .into_iter()
        .map(read_artifact)
        .collect::<Result<Vec<_>, _>>()?;
    let finish = read_finish_fields(&mut fields)?;
    fields.finish()?;
    Ok((finish, artifacts))
}

/// A text in `body`, or any bytes in `body_base64`.
fn read_artifact(mut fields: Fields<'_>) -> Result<Artifact, Refused> {
    let name = fields.required_text("name")?;
    let content_type =
        fields.text("content_type")?.unwrap_or_else(|| "application/octet-stream".into());
    let (text, encoded): (Option<String>, Option<String>) =
        (fields.optional("body")?, fields.optional("body_base64")?);
    let body = match (text, encoded) {
        (Some(text), None) => text.into_bytes(),
        (None, Some(encoded)) => STANDARD
            .decode(encoded)
            .map_err(|_| unfit("artifacts.body_base64", "must be base64 with padding"))?,
        (Some(_), Some(_)) | (None, None) => {
            return Err(unfit("artifacts", "has a body or a body_base64, one of the two"));
        }
    };
    fields.finish()?;
    Ok(Artifact { name, content_type, body })
}

/// `GET /workflows/{id}/steps/{step_key}/artifacts/{name}`: the bytes, never as what they claim to
/// be.
pub async fn artifact(
    State(state): State<AppState>,
    Service(by): Service,
    Path((path, step, name)): Path<(String, String, String)>,
) -> Result<Response, Refused> {
    let artifact = state.engine.artifact(&by, id(&path)?, &step, &name).await?;
    let sha256 = hex::encode(artifact.sha256());
    let mut response = artifact.body.into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::CONTENT_DISPOSITION, "attachment"),
        (SHA256, sha256.as_str()),
        (MEDIA_TYPE, artifact.content_type.as_str()),
    ] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    Ok(response)
}
