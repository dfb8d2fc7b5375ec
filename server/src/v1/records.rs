//! Events, conflicts, leases, incidents and the audit log, for a person's program.

use axum::{
    Json,
    extract::{Path, RawQuery, State},
};
use domain::{
    lease::LeaseState,
    listing::{AuditFilter, ConflictFilter, EventFilter, IncidentFilter, LeaseFilter, Page},
    problem::Code,
    view::{AuditRow, ConflictRow, EventRow, IncidentRow, LeaseRow},
};
use serde_json::Value;

use super::{
    auth::Staff,
    console::{bad_filter, in_full},
    query::Query,
};
use crate::{refusal::Refused, router::AppState};

/// `GET /outbox`.
pub async fn events(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<EventRow>>, Refused> {
    let mut query = Query::parse(query.as_deref())?;
    let filter = EventFilter {
        status: query.word("status")?,
        topic: query.text("topic"),
        aggregate: query.text("aggregate"),
        q: query.text("q"),
        from: query.instant("from")?,
        to: query.instant("to")?,
        cursor: query.text("cursor"),
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(Json(state.engine.list_events(&by, &filter).await?))
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
    let mut query = Query::parse(query.as_deref())?;
    let filter = ConflictFilter {
        operation: query.text("operation"),
        q: query.text("q"),
        from: query.instant("from")?,
        to: query.instant("to")?,
        cursor: query.text("cursor"),
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(Json(state.engine.list_conflicts(&by, &filter).await?))
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
    let mut query = Query::parse(query.as_deref())?;
    let status = match query.text("status").as_deref() {
        None => None,
        Some("stale") => Some(LeaseState::Stale),
        Some("live") => Some(LeaseState::Live),
        Some(_) => return Err(bad_filter("status", "A lease is live or stale.")),
    };
    let filter = LeaseFilter {
        status,
        operation: query.text("operation"),
        holder: query.text("holder"),
        q: query.text("q"),
        cursor: query.text("cursor"),
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(Json(state.engine.list_leases(&by, &filter).await?))
}

/// `GET /incidents`.
pub async fn incidents(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<IncidentRow>>, Refused> {
    let mut query = Query::parse(query.as_deref())?;
    let filter = IncidentFilter {
        status: query.word("status")?,
        cause: query.text("cause"),
        q: query.text("q"),
        from: query.instant("from")?,
        to: query.instant("to")?,
        cursor: query.text("cursor"),
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(Json(state.engine.list_incidents(&by, &filter).await?))
}

/// `GET /incidents/{id}`.
pub async fn incident(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(in_full(&state.engine.incident(&by, id(&path)?).await?)))
}

/// `GET /audit`.
pub async fn audit(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<AuditRow>>, Refused> {
    let mut query = Query::parse(query.as_deref())?;
    let filter = AuditFilter {
        actor: query.text("actor"),
        verb: query.text("verb"),
        target: query.text("target"),
        denied: query.flag("denied")?,
        from: query.instant("from")?,
        to: query.instant("to")?,
        cursor: query.text("cursor"),
        limit: query.limit()?,
    };
    query.finish()?;
    Ok(Json(state.engine.list_audit(&by, &filter).await?))
}

fn id<T: std::str::FromStr>(path: &str) -> Result<T, Refused> {
    path.parse().map_err(|_| Refused::code(Code::NotFound))
}
