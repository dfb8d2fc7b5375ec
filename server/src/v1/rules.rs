//! The rules themselves, by call: a kind's policy and people's roles. What loosens a policy, and giving
//! the right to approve, waits for a second person, as every such decision does (A5).

use axum::{
    Json,
    body::Bytes,
    extract::{Path, State},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    ids::StaffId,
};
use engine::{ActionRequest, store::kind::KindPolicy};
use serde_json::{Value, json};

use super::{
    auth::Staff,
    body::{Fields, unfit},
    console::{decided, trimmed},
    operations::id,
};
use crate::{refusal::Refused, router::AppState};

/// `GET /kinds/{name}`
pub async fn kind(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(name): Path<String>,
) -> Result<Response, Refused> {
    Ok(Json(state.engine.kind_in_force(&by, &name).await?).into_response())
}

/// `POST /kinds/{name}/actions/put_kind`
pub async fn put_kind(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(name): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let version = fields.required("version")?;
    let reason = trimmed(fields.text("reason")?).unwrap_or_default();
    let policy = fields.raw("policy").ok_or_else(|| fields.missing("policy"))?;
    let policy = policy_of(policy.get())?;
    fields.finish()?;
    let target = Subject::new(TargetType::OperationKind, name);
    let request = ActionRequest {
        policy: Some(Box::new(policy)),
        ..ActionRequest::new(target, Verb::PutKind, version, reason)
    };
    Ok(decided(state.engine.act(&by, request).await?))
}

/// `GET /staff`
pub async fn members(State(state): State<AppState>, Staff(by): Staff) -> Result<Response, Refused> {
    let items = state.engine.members(&by).await?;
    Ok(Json(json!({ "items": items })).into_response())
}

/// `POST /staff/{staff_id}/actions/grant`
pub async fn grant(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let version = fields.required("version")?;
    let reason = trimmed(fields.text("reason")?).unwrap_or_default();
    let word = fields.required_text("role")?;
    let role: Role = word.parse().map_err(|_| {
        let roles: Vec<_> = Role::ALL.iter().map(|role| role.as_str()).collect();
        unfit("role", &format!("must be one of: {}", roles.join(", ")))
    })?;
    fields.finish()?;
    let target = Subject::new(TargetType::Staff, id::<StaffId>(&path)?.to_string());
    let request = ActionRequest {
        role: Some(role),
        ..ActionRequest::new(target, Verb::Grant, version, reason)
    };
    Ok(decided(state.engine.act(&by, request).await?))
}

/// A policy, every member known: one that was misspelt would leave a rule out in silence.
fn policy_of(text: &str) -> Result<KindPolicy, Refused> {
    let policy: KindPolicy =
        serde_json::from_str(text).map_err(|error| unfit("policy", &error.to_string()))?;
    let known = serde_json::to_value(&policy).unwrap_or(Value::Null);
    let sent: Value =
        serde_json::from_str(text).map_err(|error| unfit("policy", &error.to_string()))?;
    let unknown =
        sent.as_object().into_iter().flatten().find(|(name, _)| known.get(name).is_none());
    match unknown {
        None => Ok(policy),
        Some((name, _)) => Err(unfit(&format!("policy.{name}"), "is no field of a policy")),
    }
}
