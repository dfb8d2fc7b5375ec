//! The layers that read the session behind a cookie, and that ask for it.
//!
//! The cookie means nothing by itself: the row behind it is read on every request, so signing out,
//! disabling and a changed role count at once (T10).

use axum::{
    extract::{Request, State},
    http::Method,
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::StaffCaller;

use super::{cookie::SessionToken, oidc};
use crate::{
    refusal::Refused,
    router::AppState,
    security::{location, request},
};

/// What is open without a session: the two halves of signing in, how they look, which only sets cookies, and
/// the way to the identity provider and back.
const OPEN: [&str; 5] = ["/sign-in", "/sign-in/code", "/preferences", oidc::BEGIN, oidc::FINISH];

/// Reads the session behind the cookie and puts its [`StaffCaller`] into the request.
pub async fn read(State(state): State<AppState>, mut request: Request, next: Next) -> Response {
    let Some(token) = SessionToken::of(request.headers()) else {
        return next.run(request).await;
    };
    let origin = request::origin(request.extensions());
    match state.engine.staff_by_session(token.as_str(), origin).await {
        Ok(Some(staff)) => {
            request.extensions_mut().insert(staff);
            request.extensions_mut().insert(token);
        }
        Ok(None) => {}
        Err(error) => return Refused::from(error).into_response(),
    }
    next.run(request).await
}

/// Lets nobody past without a session, but to the sign-in page and its looks (T42, T46).
pub async fn require(request: Request, next: Next) -> Response {
    let path = request.uri().path();
    if OPEN.contains(&path) || request.extensions().get::<StaffCaller>().is_some() {
        return next.run(request).await;
    }
    if path == "/act" || path.starts_with("/act/") {
        return Refused::code(Code::Unauthenticated).into_response();
    }
    let back = match *request.method() {
        Method::GET => request.uri().path_and_query().map_or("/", |place| place.as_str()),
        _ => "/",
    };
    location::see_other(&location::sign_in(back, None))
}
