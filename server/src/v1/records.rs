//! Events, conflicts, leases, incidents and the audit log, for a person's program.

use axum::{
    Json,
    extract::{Path, RawQuery, State},
};
use domain::{
    listing::Page,
    problem::Code,
    view::{AuditRow, ConflictRow, EventRow, IncidentRow, LeaseRow},
};
use serde_json::Value;

use super::{auth::Staff, console::in_full, query::filter};
use crate::{refusal::Refused, router::AppState};

/// `GET /outbox`.
pub async fn events(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<EventRow>>, Refused> {
    Ok(Json(state.engine.list_events(&by, &filter(query.as_deref())?).await?))
}

/// `GET /outbox/{id}`.
pub async fn event(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(in_full(&state.engine.event(&by, id(&path)?).await?)))
}

/// `GET /conflicts`.
pub async fn conflicts(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<ConflictRow>>, Refused> {
    Ok(Json(state.engine.list_conflicts(&by, &filter(query.as_deref())?).await?))
}

/// `GET /conflicts/{id}`.
pub async fn conflict(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(in_full(&state.engine.conflict(&by, id(&path)?).await?)))
}

/// `GET /leases`.
pub async fn leases(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<LeaseRow>>, Refused> {
    Ok(Json(state.engine.list_leases(&by, &filter(query.as_deref())?).await?))
}

/// `GET /incidents`.
pub async fn incidents(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<IncidentRow>>, Refused> {
    Ok(Json(state.engine.list_incidents(&by, &filter(query.as_deref())?).await?))
}

/// `GET /audit`.
pub async fn audit(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<AuditRow>>, Refused> {
    Ok(Json(state.engine.list_audit(&by, &filter(query.as_deref())?).await?))
}

fn id<T: std::str::FromStr>(path: &str) -> Result<T, Refused> {
    path.parse().map_err(|_| Refused::code(Code::NotFound))
}
