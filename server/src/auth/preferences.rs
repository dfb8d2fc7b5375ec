//! How the console looks to this browser; kept in a cookie, for it is nobody else's business.

use axum::{
    extract::{Form, rejection::FormRejection},
    http::{HeaderValue, header},
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use serde::Deserialize;

use crate::{refusal::Refused, security::location};

/// The theme switch's form.
#[derive(Deserialize)]
pub struct SetTheme {
    theme: String,
    #[serde(default)]
    return_to: String,
}

/// `POST /preferences/theme`.
pub async fn set_theme(form: Result<Form<SetTheme>, FormRejection>) -> Response {
    let cookie = match &form {
        Ok(Form(form)) => match form.theme.as_str() {
            "light" => "theme=light; Max-Age=31536000",
            "dark" => "theme=dark; Max-Age=31536000",
            "auto" => "theme=; Max-Age=0",
            _ => return refused(),
        },
        Err(_) => return refused(),
    };
    let place = form.as_ref().map_or("/", |Form(form)| form.return_to.as_str());
    let mut response = location::see_other(place);
    let value = HeaderValue::try_from(format!("{cookie}; Secure; HttpOnly; SameSite=Lax; Path=/"))
        .expect("visible ASCII");
    response.headers_mut().append(header::SET_COOKIE, value);
    response
}

fn refused() -> Response {
    Refused::code(Code::RequestInvalid)
        .field("theme")
        .detail("A theme is light, dark or auto.")
        .into_response()
}
