//! The routes beside the providers' own: the ledger, and the rules in force.

use std::{collections::HashMap, io, sync::Arc};

use axum::{
    Json,
    extract::{Query, State, rejection::JsonRejection},
    http::StatusCode,
    response::{IntoResponse, Response},
};

use serde_json::json;

use super::{
    handlers::{Shared, broken},
    modes::Modes,
    reply,
};

/// `GET /ledger`.
pub(super) async fn ledger(
    State(shared): State<Arc<Shared>>,
    Query(terms): Query<HashMap<String, String>>,
) -> Response {
    let mut found = Vec::new();
    for effect in shared.ledger().all() {
        let mut meets_all = true;
        for (name, value) in &terms {
            match effect.meets(name, value) {
                Some(meets) => meets_all &= meets,
                None => {
                    let message = format!("the ledger has no term {name:?}");
                    return reply::error(StatusCode::BAD_REQUEST, "invalid_request", &message);
                }
            }
        }
        if meets_all {
            found.push(effect);
        }
    }
    reply::lines(found.iter().map(|effect| effect.line()))
}

/// `GET /publications/visible?document_id=`.
pub(super) async fn visible(
    State(shared): State<Arc<Shared>>,
    Query(terms): Query<HashMap<String, String>>,
) -> Response {
    let Some(document) = terms.get("document_id") else {
        return reply::error(StatusCode::BAD_REQUEST, "invalid_request", "document_id is missing");
    };
    let shown = shared.ledger().visible(document);
    let version = shown.as_ref().and_then(|effect| effect.request.fields.get("version"));
    Json(json!({
        "document_id": document,
        "visible": shown.is_some(),
        "version": version,
        "publication_reference": shown.as_ref().map(|effect| &effect.id),
    }))
    .into_response()
}

/// `GET /modes`.
pub(super) async fn show_modes(State(shared): State<Arc<Shared>>) -> Json<Modes> {
    Json(shared.modes().current())
}

/// `PUT /modes`.
pub(super) async fn replace_modes(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<Modes>, JsonRejection>,
) -> Response {
    change(body, |modes| shared.modes().replace(modes))
}

/// `POST /modes`.
pub(super) async fn add_modes(
    State(shared): State<Arc<Shared>>,
    body: Result<Json<Modes>, JsonRejection>,
) -> Response {
    change(body, |modes| shared.modes().add(modes))
}

/// `DELETE /modes`.
pub(super) async fn clear_modes(State(shared): State<Arc<Shared>>) -> Response {
    shared.modes().clear().map_or_else(|error| broken(&error), |modes| Json(modes).into_response())
}

fn change(
    body: Result<Json<Modes>, JsonRejection>,
    apply: impl FnOnce(Modes) -> io::Result<Modes>,
) -> Response {
    match body {
        Err(rejection) => {
            reply::error(StatusCode::BAD_REQUEST, "invalid_modes", &rejection.body_text())
        }
        Ok(Json(modes)) => match apply(modes) {
            Ok(current) => Json(current).into_response(),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                reply::error(StatusCode::CONFLICT, "too_many_rules", &error.to_string())
            }
            Err(error) => broken(&error),
        },
    }
}
