//! Whether the process lives, and whether it can serve.

use axum::{
    Router,
    extract::State,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
    routing::get,
};

use crate::{refusal::chain, router::AppState};

/// `/health/live` and `/health/ready`.
pub fn router() -> Router<AppState> {
    Router::new().route("/health/live", get(live)).route("/health/ready", get(ready))
}

/// The process answers; says nothing about the database, so that an outage restarts nobody.
async fn live() -> Response {
    plain(StatusCode::OK, "live\n")
}

/// The database answers; that it has every migration was seen at the start, and none is ever taken
/// back.
async fn ready(State(state): State<AppState>) -> Response {
    match state.engine.ping().await {
        Ok(()) => plain(StatusCode::OK, "ready\n"),
        Err(error) => {
            tracing::warn!(error = chain(&error), "not ready");
            plain(StatusCode::SERVICE_UNAVAILABLE, "the database does not answer\n")
        }
    }
}

fn plain(status: StatusCode, text: &'static str) -> Response {
    (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text).into_response()
}
