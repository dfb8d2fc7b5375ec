//! Lookups: whether an effect is known, as far as the rules in force let it be seen.
//!
//! A lookup never forgets: the memory of idempotency keys may run out, the
//! effect stays. Two effects under one key show in `count`.

use std::{collections::HashMap, sync::Arc};

use axum::{
    Json,
    http::StatusCode,
    response::{IntoResponse, Response},
};
use serde_json::{Value, json};

use super::{
    effect::Effect,
    handlers::{Shared, broken},
    mode::Mode,
    reply,
    table::Subject,
};
use crate::{EffectKind, clock};

/// `GET` of an effect by `key` or by the provider's id in `reference`.
pub(super) fn lookup(
    kind: EffectKind,
    shared: &Shared,
    query: &HashMap<String, String>,
) -> Response {
    let effects: Vec<Arc<Effect>> = match (query.get("key"), query.get("reference")) {
        (Some(key), None) => shared.ledger().by_key(kind, key),
        (None, Some(id)) => shared.ledger().by_id(kind, id).into_iter().collect(),
        _ => {
            return reply::error(
                StatusCode::BAD_REQUEST,
                "invalid_request",
                "name either key or reference",
            );
        }
    };
    let key = effects.first().map_or_else(
        || query.get("key").cloned().unwrap_or_default(),
        |effect| effect.request.key.clone(),
    );
    let names =
        effects.first().map_or_else(|| shared.names_seen(kind, &key), |effect| effect.names());
    let mode = match shared.modes().for_lookup(&Subject { kind, key: &key, names: &names }) {
        Ok(mode) => mode,
        Err(error) => return broken(&error),
    };
    let mut visible_before = i64::MAX;
    match mode {
        Some(Mode::NoLookup) => {
            return (StatusCode::NOT_IMPLEMENTED, Json(json!({ "error": "lookup_unsupported" })))
                .into_response();
        }
        Some(Mode::Lookup500) => {
            return reply::error(
                StatusCode::INTERNAL_SERVER_ERROR,
                "internal",
                "something went wrong",
            );
        }
        Some(Mode::LookupLag { ms }) => {
            visible_before = clock::now_ms().saturating_sub(i64::try_from(ms).unwrap_or(i64::MAX));
        }
        _ => {}
    }
    let visible: Vec<_> = effects.iter().filter(|effect| effect.at_ms <= visible_before).collect();
    let Some(newest) = visible.last() else {
        return (StatusCode::NOT_FOUND, Json(json!({ "found": false }))).into_response();
    };
    let mut answer =
        if mode == Some(Mode::LookupWrongAmount) { newest.wrong_answer() } else { newest.answer() };
    answer.insert("found".into(), true.into());
    answer.insert("count".into(), visible.len().into());
    Json(Value::Object(answer)).into_response()
}
