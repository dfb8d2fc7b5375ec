//! Bytes that a person keeps: always an attachment of no type, whatever they say they are.
//!
//! Guards against the file that a browser runs, and against the name that ends a header.

use axum::{
    body::Body,
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};

/// The longest name in a header, in characters.
const MAX_NAME: usize = 120;

/// The answer.
#[must_use]
pub fn attachment(name: &str, bytes: impl Into<Body>) -> Response {
    let mut response = bytes.into().into_response();
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_TYPE, "application/octet-stream"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-store"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // Names hold anything but control characters; in a header they keep letters, digits and a few signs.
    let safe = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '_' };
    let file: String = name.chars().map(safe).take(MAX_NAME).collect();
    let value = format!("attachment; filename=\"{file}\"");
    if let Ok(value) = HeaderValue::try_from(value) {
        headers.insert(header::CONTENT_DISPOSITION, value);
    }
    response
}
