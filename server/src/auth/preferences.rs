//! How the console looks to this browser; kept in a cookie, for it is nobody else's business.

use axum::{
    extract::{Form, rejection::FormRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use serde::Deserialize;

use super::form::unread;
use crate::{refusal::Refused, security::location};

const THEMES: &str = "theme must be light, dark or auto.";

/// The theme switch's form.
#[derive(Deserialize)]
pub struct SetTheme {
    theme: String,
    #[serde(default)]
    return_to: String,
}

/// `POST /preferences/theme`.
pub async fn set_theme(form: Result<Form<SetTheme>, FormRejection>) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            return unread(&rejection, THEMES).field("theme").into_response();
        }
    };
    let cookie = match form.theme.as_str() {
        "light" => "theme=light; Max-Age=31536000",
        "dark" => "theme=dark; Max-Age=31536000",
        "auto" => "theme=; Max-Age=0",
        _ => {
            let refused = Refused::code(Code::Unprocessable).field("theme").detail(THEMES);
            return refused.into_response();
        }
    };
    let mut response = location::see_other(&form.return_to);
    let value = HeaderValue::try_from(format!("{cookie}; Secure; HttpOnly; SameSite=Lax; Path=/"))
        .expect("visible ASCII");
    response.headers_mut().append(header::SET_COOKIE, value);
    response
}
