//! The session cookie, and the layers that read it and ask for it.
//!
//! The cookie is a random token that means nothing by itself: the row behind it is read on every
//! request, so signing out, disabling and a changed role count at once (T10). It is tied to this
//! host alone (`__Host-`) and to HTTPS; browsers count loopback as safe, so the demo's plain HTTP
//! needs no second name (T05).

use axum::{
    extract::{Request, State},
    http::{HeaderMap, HeaderValue, Method, header},
    middleware::Next,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::StaffCaller;

use super::oidc;
use crate::{
    refusal::Refused,
    router::AppState,
    security::{location, request},
};

const NAME: &str = "__Host-sid";
const ATTRIBUTES: &str = "Secure; HttpOnly; SameSite=Lax; Path=/";
/// What is open without a session: the two halves of signing in, how they look, which only sets cookies, and
/// the way to the identity provider and back.
const OPEN: [&str; 5] = ["/sign-in", "/sign-in/code", "/preferences", oidc::BEGIN, oidc::FINISH];

/// The token in the browser's cookie.
#[derive(Clone)]
pub struct SessionToken(String);

impl SessionToken {
    /// The token of this request, where it carries exactly one.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut found = cookies(headers).filter(|(name, _)| *name == NAME);
        match (found.next(), found.next()) {
            (Some((_, token)), None) if !token.is_empty() => Some(Self(token.to_owned())),
            _ => None,
        }
    }

    /// The text that the engine looks up.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// The cookies of a request, name and value.
pub(super) fn cookies(headers: &HeaderMap) -> impl Iterator<Item = (&str, &str)> {
    headers
        .get_all(header::COOKIE)
        .iter()
        .filter_map(|line| line.to_str().ok())
        .flat_map(|line| line.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
}

/// The `Set-Cookie` that begins a session; it ends with the browser, or with its row.
#[must_use]
pub fn begin(token: &str) -> HeaderValue {
    let mut value = HeaderValue::try_from(format!("{NAME}={token}; {ATTRIBUTES}"))
        .expect("a session token is base64url");
    value.set_sensitive(true);
    value
}

/// The `Set-Cookie` that ends it.
#[must_use]
pub fn end() -> HeaderValue {
    HeaderValue::try_from(format!("{NAME}=; {ATTRIBUTES}; Max-Age=0")).expect("visible ASCII")
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cookie_is_exactly_what_the_threat_table_says() {
        assert_eq!(begin("t0k"), "__Host-sid=t0k; Secure; HttpOnly; SameSite=Lax; Path=/");
        assert_eq!(end(), "__Host-sid=; Secure; HttpOnly; SameSite=Lax; Path=/; Max-Age=0");
    }

    #[test]
    fn one_token_is_read_and_two_are_none() {
        let token = |lines: &[&'static str]| {
            let mut headers = HeaderMap::new();
            for line in lines {
                headers.append(header::COOKIE, HeaderValue::from_static(line));
            }
            SessionToken::of(&headers).map(|token| token.0)
        };
        assert_eq!(token(&["theme=dark; __Host-sid=abc"]).as_deref(), Some("abc"));
        assert_eq!(token(&["sid=abc"]), None);
        assert_eq!(token(&["__Host-sid="]), None);
        assert_eq!(token(&["__Host-sid=a; __Host-sid=b"]), None);
        assert_eq!(token(&["__Host-sid=a", "__Host-sid=b"]), None);
    }
}
