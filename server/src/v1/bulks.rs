//! Bulks by call: freeze a set, look at its rows, start it, pause it, go on, give it up.

use std::collections::BTreeMap;

use axum::{
    Json,
    body::Bytes,
    extract::{Path, RawQuery, State},
    http::{HeaderMap, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{
    bulk::BulkList,
    listing::Page,
    view::{BulkRecord, BulkRow},
};
use engine::{FreezeRequest, bulk::FrozenSet};
use serde_json::Value;

use super::{
    auth::Staff,
    body::{Fields, unfit},
    console::in_full,
    operations::id,
    query::filter,
};
use crate::{refusal::Refused, router::AppState};

/// `POST /bulks`.
pub async fn freeze(
    State(state): State<AppState>,
    Staff(by): Staff,
    headers: HeaderMap,
    body: Bytes,
) -> Result<Response, Refused> {
    let mut fields = Fields::parse(&headers, &body)?;
    let list: BulkList = fields.required_text("list")?.parse().map_err(|_| {
        let lists: Vec<_> = BulkList::ALL.iter().map(|list| list.as_str()).collect();
        unfit("list", &format!("must be one of: {}", lists.join(", ")))
    })?;
    let verb = fields
        .required_text("verb")?
        .parse()
        .map_err(|_| unfit("verb", "is no action of this console"))?;
    let set = match (fields.raw("records"), fields.raw("filter")) {
        (Some(records), None) => FrozenSet::Picked(
            serde_json::from_str(records.get())
                .map_err(|_| unfit("records", "must be an array of ids"))?,
        ),
        (None, Some(parts)) => {
            let parts: BTreeMap<String, String> = serde_json::from_str(parts.get())
                .map_err(|_| unfit("filter", "must be an object of texts"))?;
            FrozenSet::Matching(parts.into_iter().collect())
        }
        _ => return Err(unfit("filter", "a set is frozen by records or by a filter: give one")),
    };
    fields.finish()?;
    let request = FreezeRequest { list, verb, set };
    let frozen = state.engine.freeze(&by, request).await?;
    let place = [(header::LOCATION, format!("/api/v1/bulks/{}", frozen.id))];
    Ok((StatusCode::CREATED, place, Json(frozen)).into_response())
}

/// `GET /bulks`.
pub async fn list(
    State(state): State<AppState>,
    Staff(by): Staff,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<BulkRow>>, Refused> {
    Ok(Json(state.engine.list_bulks(&by, &filter(query.as_deref())?).await?))
}

/// `GET /bulks/{id}`.
pub async fn show(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
) -> Result<Json<Value>, Refused> {
    Ok(Json(in_full(&state.engine.bulk(&by, id(&path)?).await?)))
}

/// `GET /bulks/{id}/rows`.
pub async fn rows(
    State(state): State<AppState>,
    Staff(by): Staff,
    Path(path): Path<String>,
    RawQuery(query): RawQuery,
) -> Result<Json<Page<BulkRecord>>, Refused> {
    let page = state.engine.bulk_rows(&by, id(&path)?, &filter(query.as_deref())?).await?;
    Ok(Json(page))
}
