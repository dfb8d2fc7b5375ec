//! Signing in and out, and the tenant that a session stands in.
//!
//! Every sign-in gets a new token and ends the session that the browser came with (T09). What is
//! said about a refused sign-in is the same for a wrong password and for no such account (T15).

use std::net::IpAddr;

use axum::{
    Extension,
    extract::{Form, Request, State, rejection::FormRejection},
    http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::{
    EngineError, RequestOrigin, StaffCaller,
    identity::{Origin, SIGN_IN_WINDOW_S},
};
use serde::Deserialize;

use super::{
    cookie::{self, SessionToken},
    form::unread,
    origin::CameFrom,
    sign_in_code,
};
use crate::{
    context,
    refusal::Refused,
    router::AppState,
    security::{client::Client, location, nonce::Nonce, request::Asking},
};

/// The sign-in form.
#[derive(Deserialize)]
pub struct SignIn {
    email: String,
    password: String,
    #[serde(default)]
    next: String,
}

/// `POST /sign-in`.
pub async fn sign_in(
    State(state): State<AppState>,
    Asking(request): Asking,
    Extension(nonce): Extension<Nonce>,
    client: Option<Extension<Client>>,
    CameFrom(origin): CameFrom,
    headers: HeaderMap,
    form: Result<Form<SignIn>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the fields email and password.";
            return unread(&rejection, fields).into_response();
        }
    };
    let from = client.map(|Extension(client)| client.network());
    match check(&state, &form, (from, origin), request.clone()).await {
        Ok(Passed::Password(ticket)) => sign_in_code::ask(&ticket, &form.next),
        Ok(Passed::All(token)) => {
            if let Some(old) = SessionToken::of(&headers) {
                end_former(&state, &old, request).await;
            }
            let mut response = location::see_other(&form.next);
            response.headers_mut().append(header::SET_COOKIE, cookie::begin(&token));
            response
        }
        Err(error) => match error.refusal().code {
            Code::SignInFailed => location::see_other(&location::sign_in(
                &form.next,
                Some(Code::SignInFailed.as_str()),
            )),
            Code::TooManyAttempts => too_many(&state, nonce, &headers, &form.next).await,
            _ => Refused::from(error).into_response(),
        },
    }
}

/// Ends the session that a browser came with. Best effort: the new one stands either way, and the old
/// one runs out.
pub(super) async fn end_former(state: &AppState, old: &SessionToken, request: RequestOrigin) {
    if let Err(error) = state.engine.sign_out(old.as_str(), request).await {
        tracing::warn!(%error, "the former session was not ended");
    }
}

/// How far a sign-in got.
enum Passed {
    /// The password was right and a code is asked for: the browser's half of the ticket.
    Password(String),
    /// All that is asked for: the session's token.
    All(String),
}

async fn check(
    state: &AppState,
    form: &SignIn,
    (from, origin): (Option<IpAddr>, Origin),
    request: RequestOrigin,
) -> Result<Passed, EngineError> {
    let attempt = state.engine.begin_sign_in_from(form.email.trim(), from).await?;
    let attempt = attempt.from_origin(origin);
    let fits = state.passwords.verify(&form.password, attempt.password_hash()).await;
    if fits && attempt.takes_code() {
        return state.engine.ask_for_code(attempt, fits).await.map(Passed::Password);
    }
    let session = state.engine.finish_sign_in(attempt, fits, request).await?;
    Ok(Passed::All(session.token))
}

/// The sign-in page itself under 429, so that programs see the status and people the page.
pub(super) async fn too_many(
    state: &AppState,
    nonce: Nonce,
    headers: &HeaderMap,
    next: &str,
) -> Response {
    let page = location::sign_in(next, Some(Code::TooManyAttempts.as_str()));
    let mut request = Request::new(axum::body::Body::empty());
    *request.method_mut() = Method::GET;
    *request.uri_mut() = page.parse().expect("a place made of escaped parts is a URI");
    for name in [header::ACCEPT, header::COOKIE] {
        if let Some(value) = headers.get(&name) {
            request.headers_mut().insert(name, value.clone());
        }
    }
    request.extensions_mut().insert(nonce);
    let mut response = context::render_page(state, request).await;
    *response.status_mut() = StatusCode::TOO_MANY_REQUESTS;
    response.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(SIGN_IN_WINDOW_S));
    response
}

/// `POST /sign-out`.
pub async fn sign_out(
    State(state): State<AppState>,
    Asking(request): Asking,
    token: Option<Extension<SessionToken>>,
) -> Response {
    if let Some(Extension(token)) = token
        && let Err(error) = state.engine.sign_out(token.as_str(), request).await
    {
        return Refused::from(error).into_response();
    }
    let mut response = location::see_other("/sign-in");
    let headers = response.headers_mut();
    headers.append(header::SET_COOKIE, cookie::end());
    headers.insert(
        HeaderName::from_static("clear-site-data"),
        HeaderValue::from_static("\"cache\", \"storage\""),
    );
    response
}

/// The tenant switcher's form.
#[derive(Deserialize)]
pub struct SwitchTenant {
    tenant: String,
    #[serde(default)]
    return_to: String,
}

/// `POST /session/tenant`.
pub async fn switch_tenant(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Extension(token): Extension<SessionToken>,
    form: Result<Form<SwitchTenant>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the field tenant.";
            return unread(&rejection, fields).field("tenant").into_response();
        }
    };
    match state.engine.switch_tenant(&by, token.as_str(), &form.tenant).await {
        Ok(()) => location::see_other(&form.return_to),
        Err(error) => Refused::from(error).into_response(),
    }
}
