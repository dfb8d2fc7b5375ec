//! The second half of signing in: the code, where the account has a second factor. Between the halves the
//! browser holds a ticket that opens nothing; the session begins after the code (T09, T14).

use axum::{
    Extension,
    extract::{Form, State, rejection::FormRejection},
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use serde::Deserialize;
use url::form_urlencoded;

use super::{
    cookie::{self, SessionToken, cookies},
    form::unread,
    origin::CameFrom,
    sign_in,
};
use crate::{
    refusal::Refused,
    router::AppState,
    security::{location, nonce::Nonce, request::Asking},
};

const NAME: &str = "__Host-code";
const ATTRIBUTES: &str = "Secure; HttpOnly; SameSite=Lax; Path=/";
/// As long as the ticket stands.
const SECONDS: u32 = 600;

/// Leads from the right password to the page of the code.
pub(super) fn ask(ticket: &str, next: &str) -> Response {
    let mut response = location::see_other(&page(next, None));
    let text = format!("{NAME}={ticket}; {ATTRIBUTES}; Max-Age={SECONDS}");
    let mut cookie = HeaderValue::try_from(text).expect("a ticket is base64url");
    cookie.set_sensitive(true);
    response.headers_mut().append(header::SET_COOKIE, cookie);
    response
}

fn page(next: &str, refused: Option<Code>) -> String {
    let mut query = form_urlencoded::Serializer::new(String::new());
    if let Some(code) = refused {
        query.append_pair("refused", code.as_str());
    }
    if location::local(next) != "/" {
        query.append_pair("next", next);
    }
    let query = query.finish();
    if query.is_empty() { "/sign-in/code".to_owned() } else { format!("/sign-in/code?{query}") }
}

/// The form of the code.
#[derive(Deserialize)]
pub struct GivenCode {
    factor: String,
    #[serde(default)]
    next: String,
}

/// `POST /sign-in/code`.
pub async fn finish(
    State(state): State<AppState>,
    Asking(request): Asking,
    Extension(nonce): Extension<Nonce>,
    CameFrom(origin): CameFrom,
    headers: HeaderMap,
    form: Result<Form<GivenCode>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the field factor.";
            return unread(&rejection, fields).field("factor").into_response();
        }
    };
    let ticket = cookies(&headers).find_map(|(name, value)| (name == NAME).then_some(value));
    let ticket = ticket.unwrap_or_default();
    let ended = state.engine.finish_with_code(ticket, &form.factor, origin, request.clone()).await;
    let token = match ended {
        Ok(token) => token,
        Err(error) => {
            return match error.refusal().code {
                Code::SignInFailed => location::see_other(&location::sign_in(
                    &form.next,
                    Some(Code::SignInFailed.as_str()),
                )),
                code @ Code::FactorRefused => location::see_other(&page(&form.next, Some(code))),
                Code::TooManyAttempts => {
                    sign_in::too_many(&state, nonce, &headers, &form.next).await
                }
                _ => Refused::from(error).into_response(),
            };
        }
    };
    if let Some(old) = SessionToken::of(&headers) {
        sign_in::end_former(&state, &old, request).await;
    }
    let mut response = location::see_other(&form.next);
    let cookies = response.headers_mut();
    cookies.append(header::SET_COOKIE, cookie::begin(&token));
    let gone = HeaderValue::try_from(format!("{NAME}=; {ATTRIBUTES}; Max-Age=0"));
    cookies.append(header::SET_COOKIE, gone.expect("visible ASCII"));
    response
}
