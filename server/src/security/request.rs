//! The request's id, its line in the log, and the shape of what is refused.
//!
//! The log names the matched route, never the path or the query: those hold customers' ids and
//! search words (T33).

use std::{any::Any, convert::Infallible, fmt, sync::Arc, time::Instant};

use axum::{
    extract::{FromRequestParts, MatchedPath, Request},
    http::{Extensions, HeaderName, HeaderValue, request::Parts},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::RequestOrigin;
use tracing::Instrument as _;

use super::{client::Client, nonce::Nonce};
use crate::refusal::{Reader, Refused, render};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

/// Names one request in the log, in the audit and on an error page; minted here, never taken
/// from the client.
#[derive(Debug, Clone)]
pub struct RequestId(Arc<str>);

impl RequestId {
    fn mint() -> Self {
        Self(uuid::Uuid::now_v7().simple().to_string().into())
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Which request this is and where it comes from, as the audit log keeps it.
#[must_use]
pub fn origin(extensions: &Extensions) -> RequestOrigin {
    RequestOrigin {
        request_id: extensions.get::<RequestId>().map(ToString::to_string).unwrap_or_default(),
        client: extensions.get::<Client>().map(|client| client.0),
    }
}

/// The same, for a handler.
#[derive(Debug, Clone)]
pub struct Asking(pub RequestOrigin);

impl<S: Sync> FromRequestParts<S> for Asking {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Infallible> {
        Ok(Self(origin(&parts.extensions)))
    }
}

/// Gives the request its id, and the response its line in the log.
pub async fn trace(mut request: Request, next: Next) -> Response {
    let begun = Instant::now();
    let id = RequestId::mint();
    let method = request.method().clone();
    let reader = Reader::of(request.uri().path(), request.headers());
    let nonce = request.extensions().get::<Nonce>().cloned();
    let client = request.extensions().get::<Client>().map(|client| client.0.to_string());
    let route: Arc<str> =
        request.extensions().get::<MatchedPath>().map_or("(none)", MatchedPath::as_str).into();
    request.extensions_mut().insert(id.clone());

    let span = tracing::info_span!("request", request_id = %id);
    let response = next.run(request).instrument(span).await;

    let mut response = render(response, reader, id.as_str(), nonce.as_ref());
    let value = HeaderValue::from_str(id.as_str()).expect("hexadecimal digits are a header value");
    response.headers_mut().insert(REQUEST_ID, value);
    let milliseconds = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
    tracing::info!(
        http.method = %method,
        http.route = %route,
        http.status = response.status().as_u16(),
        duration_ms = milliseconds,
        client.address = client,
        request_id = %id,
        "request"
    );
    response
}

/// What a panic in a handler becomes: a 500 that says nothing of it (F7, T41).
#[must_use]
#[expect(clippy::needless_pass_by_value, reason = "the catch-panic layer hands the payload over")]
pub fn after_panic(reason: Box<dyn Any + Send + 'static>) -> Response {
    let words = reason
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| reason.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    tracing::error!(panic = words, "a handler panicked");
    Refused::code(Code::Internal).into_response()
}
