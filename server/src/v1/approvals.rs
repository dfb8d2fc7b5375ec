//! Requests for a second person: their lists, one of them, and how they are settled.

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::HeaderMap,
    response::Response,
};
use domain::{
    action::Verb, approval::ApprovalStatus, listing::Page, machine::Machine as _,
    view::ApprovalView,
};
use engine::{ApprovalFilter, Decided, Settling};

use super::{
    auth::Staff,
    body::Fields,
    console::{bad_filter, decided, flag, trimmed},
    operations::id,
};
use crate::{refusal::Refused, router::AppState};

/// `GET /approvals`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<ApprovalView>>, Refused> {
    let filter = filter(query.as_deref().unwrap_or_default())?;
    Ok(Json(state.engine.list_approvals(&by, &filter).await?))
}

/// Reads the filter; as for operations, what the list does not know is refused.
fn filter(query: &str) -> Result<ApprovalFilter, Refused> {
    let mut filter = ApprovalFilter::default();
    let mut seen: Vec<String> = Vec::new();
    for (name, value) in url::form_urlencoded::parse(query.as_bytes()) {
        if seen.iter().any(|known| *known == name) {
            return Err(bad_filter(&name, "A filter is given once."));
        }
        match name.as_ref() {
            _ if value.is_empty() => {}
            "status" => {
                let status = ApprovalStatus::parse(&value)
                    .map_err(|_| bad_filter("status", "There is no such state."))?;
                filter.status = Some(status);
            }
            "mine" => filter.mine = flag("mine", &value)?,
            "others" => filter.others = flag("others", &value)?,
            "decided" => filter.decided = flag("decided", &value)?,
            "cursor" => filter.cursor = Some(value.clone().into_owned()),
            "limit" => {
                let limit = value.parse();
                filter.limit =
                    Some(limit.map_err(|_| bad_filter("limit", "limit is a whole number."))?);
            }
            _ => return Err(bad_filter(&name, "The list has no such filter.")),
        }
        seen.push(name.into_owned());
    }
    Ok(filter)
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
