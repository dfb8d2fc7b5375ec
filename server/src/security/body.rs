//! How large a request may be, and how slowly it may come (F7, T39).
//!
//! Two layers. [`limit`] stands far out and refuses what says that it is too large before
//! anything is read. [`read`] stands right before the handlers and takes the whole body within
//! its limit, so that handlers, server functions included, never meet half a body or their own
//! idea of a limit; what nobody was allowed to send has been refused by then, unread.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    extract::Request,
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::refusal::Refused;

/// Forms of pages, in bytes.
pub const PAGE_LIMIT: usize = 64 * 1024;
/// Bodies of the JSON API, in bytes.
pub const API_LIMIT: usize = 1024 * 1024;
/// `finish` of the JSON API, which carries a provider's answer, in bytes.
pub const FINISH_LIMIT: usize = 8 * 1024 * 1024;
/// How long a whole body may take to come.
const PATIENCE: Duration = Duration::from_secs(15);

fn limit_for(path: &str) -> usize {
    match path.strip_prefix("/api/v1/") {
        Some(rest) if rest.starts_with("operations/") && rest.ends_with("/finish") => FINISH_LIMIT,
        Some(_) => API_LIMIT,
        None => PAGE_LIMIT,
    }
}

fn too_large(limit: usize) -> Response {
    let detail = format!("The limit here is {limit} bytes.");
    // What is still on its way will not be read, so the connection cannot serve another request.
    let mut response = Refused::code(Code::TooLarge).detail(detail).into_response();
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

/// The limit of this request, found where the whole path is still there: below a nested router it
/// is not.
#[derive(Clone, Copy)]
struct Limit(usize);

/// Refuses a body whose announced length is over its limit.
pub async fn limit(mut request: Request, next: Next) -> Response {
    let limit = limit_for(request.uri().path());
    request.extensions_mut().insert(Limit(limit));
    let least = request.body().size_hint().lower();
    if usize::try_from(least).is_ok_and(|least| least <= limit) {
        next.run(request).await
    } else {
        too_large(limit)
    }
}

/// Reads the whole body before the handler runs.
pub async fn read(request: Request, next: Next) -> Response {
    let limit = request.extensions().get::<Limit>().map_or(PAGE_LIMIT, |limit| limit.0);
    let (head, body) = request.into_parts();
    match tokio::time::timeout(PATIENCE, Limited::new(body, limit).collect()).await {
        Ok(Ok(collected)) => {
            next.run(Request::from_parts(head, Body::from(collected.to_bytes()))).await
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => too_large(limit),
        Ok(Err(_)) => Refused::code(Code::RequestInvalid)
            .detail("The body ended before its announced length.")
            .into_response(),
        Err(_) => Refused::code(Code::RequestInvalid)
            .status(StatusCode::REQUEST_TIMEOUT)
            .detail("The body did not arrive within 15 seconds.")
            .into_response(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_finish_may_be_large() {
        assert_eq!(limit_for("/api/v1/operations/0/finish"), FINISH_LIMIT);
        assert_eq!(limit_for("/api/v1/operations"), API_LIMIT);
        assert_eq!(limit_for("/api/v1/webhooks/acme/finish"), API_LIMIT);
        assert_eq!(limit_for("/act/operations/confirm"), PAGE_LIMIT);
        assert_eq!(limit_for("/operations/0/finish"), PAGE_LIMIT);
    }
}
