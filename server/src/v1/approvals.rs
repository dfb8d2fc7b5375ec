//! Requests for a second person: their lists, one of them, and how they are settled.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
    response::Response,
};
use domain::{action::Verb, listing::Page, view::ApprovalView};
use engine::{Decided, Settling};

use super::{
    auth::Staff,
    body::Fields,
    console::{decided, trimmed},
    operations::id,
    query::filter,
};
use crate::{refusal::Refused, router::AppState};

/// `GET /approvals`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<ApprovalView>>, Refused> {
    Ok(Json(state.engine.list_approvals(&by, &filter(query.as_deref())?).await?))
}

/// `GET /approvals/{id}`.
pub async fn show(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<ApprovalView>, Refused> {
    Ok(Json(state.engine.approval(&by, id(&path)?).await?))
}

/// `POST /approvals/{id}/actions/{approve|reject|withdraw}`.
pub async fn settle(
    verb: Verb,
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let id = id(&path)?;
    let mut fields = Fields::parse(&headers, &body)?;
    let settling = Settling {
        version: fields.optional("version")?,
        reason: trimmed(fields.text("reason")?).unwrap_or_default(),
    };
    fields.finish()?;
    let acted = match verb {
        Verb::Approve => state.engine.approve(&by, id, settling).await?,
        Verb::Reject => state.engine.reject(&by, id, settling).await?,
        _ => state.engine.withdraw(&by, id, settling).await?,
    };
    Ok(decided(Decided::Done(Box::new(acted))))
}
