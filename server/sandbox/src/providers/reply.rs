//! How a provider's replies look, the crooked ones included.

use axum::{
    Json,
    body::Body,
    http::{StatusCode, header},
    response::{IntoResponse, Response},
};
use serde_json::{Map, Value, json};

/// Size of the filling in a `huge` answer, bytes.
const HUGE: usize = 5 * 1024 * 1024;

/// An error as this provider words it.
pub(crate) fn error(status: StatusCode, code: &str, message: &str) -> Response {
    (status, Json(json!({ "error": { "code": code, "message": message } }))).into_response()
}

/// The usual answer; `replayed` marks a stored one.
pub(super) fn answer(answer: Map<String, Value>, replayed: bool) -> Response {
    let mut response = (StatusCode::CREATED, Json(Value::Object(answer))).into_response();
    if replayed {
        response
            .headers_mut()
            .insert("idempotent-replayed", header::HeaderValue::from_static("true"));
    }
    response
}

/// The answer with an escaped U+0000 inside: valid JSON that `jsonb` refuses.
pub(super) fn nul(mut body: Map<String, Value>) -> Response {
    body.insert("note".into(), "paid\u{0}in full".into());
    answer(body, false)
}

/// The answer with 5 MiB of filling.
pub(super) fn huge(mut body: Map<String, Value>) -> Response {
    body.insert("padding".into(), "x".repeat(HUGE).into());
    answer(body, false)
}

/// What a proxy in between says when it is itself broken.
pub(super) fn garbage() -> Response {
    let page = "<html><body>upstream said something, we forgot what</body></html>";
    (StatusCode::OK, [(header::CONTENT_TYPE, "text/html")], Body::from(page)).into_response()
}

/// "Too many requests", nothing done: the one refusal besides a refused
/// connection that proves it (D10).
pub(super) fn throttled() -> Response {
    let mut response = error(
        StatusCode::TOO_MANY_REQUESTS,
        "rate_limited",
        "nothing was done; try again in a second",
    );
    response.headers_mut().insert(header::RETRY_AFTER, header::HeaderValue::from_static("1"));
    response
}

/// JSON lines.
pub(crate) fn lines(lines: impl Iterator<Item = Map<String, Value>>) -> Response {
    let text = lines.fold(String::new(), |mut text, line| {
        text.push_str(&Value::Object(line).to_string());
        text.push('\n');
        text
    });
    ([(header::CONTENT_TYPE, "application/x-ndjson")], text).into_response()
}
