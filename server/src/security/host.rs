//! Which names this console answers to (T06).
//!
//! Guards against DNS rebinding: a foreign page whose name points at this machine would
//! otherwise read it as its own origin.

use axum::{
    extract::{Request, State},
    http::{HeaderMap, StatusCode, Uri, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;

use super::origin::Site;
use crate::refusal::Refused;

/// The name under which this request came: its one `Host` header.
#[must_use]
pub fn named(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(header::HOST).iter();
    match (values.next(), values.next()) {
        (Some(host), None) => host.to_str().ok(),
        _ => None,
    }
}

fn answers_to(site: &Site, uri: &Uri, headers: &HeaderMap) -> bool {
    let target = uri.authority().is_none_or(|authority| site.has_host(authority.as_str()));
    target && named(headers).is_some_and(|host| site.has_host(host))
}

/// Refuses a request for another host with 421.
pub async fn only_ours(State(site): State<Site>, request: Request, next: Next) -> Response {
    if answers_to(&site, request.uri(), request.headers()) {
        return next.run(request).await;
    }
    tracing::warn!("refused: the request names another host");
    Refused::code(Code::RequestInvalid)
        .status(StatusCode::MISDIRECTED_REQUEST)
        .detail("This console does not answer to that host name.")
        .into_response()
}
