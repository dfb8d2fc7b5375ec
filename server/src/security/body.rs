//! How large a request may be, and how slowly it may come (F7, T39).
//!
//! Two layers. [`limit`] stands far out and refuses what says that it is too large before
//! anything is read. [`read`] stands right before the handlers and takes the whole body within
//! its limit, so that handlers, server functions included, never meet half a body or their own
//! idea of a limit; what nobody was allowed to send has been refused by then, unread.

use std::time::Duration;

use axum::{
    body::{Body, HttpBody},
    extract::{Request, State},
    http::{StatusCode, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::Limits;
use http_body_util::{BodyExt, LengthLimitError, Limited};

use crate::{evidence, refusal::Refused};

/// The most bytes that a body under this path may have.
fn limit_for(path: &str, limits: &Limits) -> usize {
    match path.strip_prefix("/api/v1/") {
        Some(rest) if rest.starts_with("operations/") && rest.ends_with("/finish") => {
            limits.finish_body_bytes
        }
        Some(rest) if rest.starts_with("workflows/") && rest.ends_with("/checkpoint") => {
            limits.checkpoint_body_bytes
        }
        Some(rest) if evidence::is_upload(&format!("/{rest}")) => with_a_file(limits),
        Some(_) => limits.api_body_bytes,
        None if evidence::is_upload(path) => with_a_file(limits),
        None => limits.form_bytes,
    }
}

/// A file given as evidence, and what a form has around it. The file's own limit is told by whoever
/// reads it.
const fn with_a_file(limits: &Limits) -> usize {
    limits.evidence_bytes + evidence::BESIDE_THE_FILE
}

fn too_large(limit: usize) -> Response {
    let detail = format!("The limit here is {limit} bytes.");
    last(Refused::code(Code::TooLarge).detail(detail).into_response())
}

/// What is still on its way will not be read, so the connection cannot serve another request.
fn last(mut response: Response) -> Response {
    response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
    response
}

/// The limit of this request, found where the whole path is still there: below a nested router it
/// is not; and how long a whole body may take to come.
#[derive(Clone, Copy)]
struct Limit {
    bytes: usize,
    patience: Duration,
}

/// Refuses a body whose announced length is over its limit.
pub async fn limit(
    State((limits, patience)): State<(Limits, Duration)>,
    mut request: Request,
    next: Next,
) -> Response {
    let limit = limit_for(request.uri().path(), &limits);
    request.extensions_mut().insert(Limit { bytes: limit, patience });
    let least = request.body().size_hint().lower();
    if usize::try_from(least).is_ok_and(|least| least <= limit) {
        next.run(request).await
    } else {
        too_large(limit)
    }
}

/// Reads the whole body before the handler runs.
pub async fn read(request: Request, next: Next) -> Response {
    let limit = request.extensions().get::<Limit>();
    let Limit { bytes, patience } =
        *limit.expect("the layer `limit` stands in front of every route");
    let (head, body) = request.into_parts();
    match tokio::time::timeout(patience, Limited::new(body, bytes).collect()).await {
        Ok(Ok(collected)) => {
            next.run(Request::from_parts(head, Body::from(collected.to_bytes()))).await
        }
        Ok(Err(error)) if error.is::<LengthLimitError>() => too_large(bytes),
        Ok(Err(_)) => Refused::code(Code::RequestInvalid)
            .detail("The body ended before its announced length.")
            .into_response(),
        Err(_) => {
            let detail = format!("The body did not arrive within {} seconds.", patience.as_secs());
            let refused = Refused::code(Code::RequestInvalid).detail(detail);
            last(refused.status(StatusCode::REQUEST_TIMEOUT).into_response())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_carries_answers_and_artifacts_may_be_large() {
        let limits = Limits {
            form_bytes: 1,
            api_body_bytes: 2,
            finish_body_bytes: 3,
            checkpoint_body_bytes: 4,
            evidence_bytes: 5,
            ..Limits::default()
        };
        for (path, limit) in [
            ("/api/v1/operations/0/finish", 3),
            ("/api/v1/workflows/0/steps/a/checkpoint", 4),
            ("/api/v1/workflows/0/steps/a/start", 2),
            ("/api/v1/operations", 2),
            ("/api/v1/webhooks/acme/finish", 2),
            ("/act/operations/confirm", 1),
            ("/operations/0/finish", 1),
            ("/operations/0/evidence", 5 + evidence::BESIDE_THE_FILE),
            ("/api/v1/operations/0/evidence", 5 + evidence::BESIDE_THE_FILE),
            ("/api/v1/inbox/0/evidence", 2),
            ("/operations/0/evidence/1", 1),
        ] {
            assert_eq!(limit_for(path, &limits), limit, "{path}");
        }
    }
}
