//! The second factor of one's own account: begun, made to count by a code, turned off. What is shown once
//! is the answer to the form that asked for it and stands at no address.

use app::held::ShownOnce;
use axum::{
    Extension,
    extract::{Form, State, rejection::FormRejection},
    http::HeaderMap,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::{EngineError, StaffCaller};
use serde::Deserialize;

use super::{
    form::unread,
    step_up::{hold, show_once},
};
use crate::{
    refusal::Refused,
    router::AppState,
    security::{location, nonce::Nonce},
};

const PAGE: &str = "/me/second-factor";
const ACCOUNT: &str = "/me";

/// `POST /me/second-factor/begin`.
pub async fn begin(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Extension(nonce): Extension<Nonce>,
    headers: HeaderMap,
) -> Response {
    match state.engine.begin_second_factor(&by).await {
        Ok(new) => {
            let shown = ShownOnce::Secret { text: new.secret, link: new.link };
            show_once(&state, (headers, by, nonce), PAGE, shown).await
        }
        Err(error) => refused(error, ACCOUNT),
    }
}

/// The form of a first code.
#[derive(Deserialize)]
pub struct Confirm {
    factor: String,
}

/// `POST /me/second-factor/confirm`.
pub async fn confirm(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    Extension(nonce): Extension<Nonce>,
    headers: HeaderMap,
    form: Result<Form<Confirm>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the field factor.";
            return unread(&rejection, fields).field("factor").into_response();
        }
    };
    match state.engine.confirm_second_factor(&by, &form.factor).await {
        Ok(codes) => {
            let shown = ShownOnce::RecoveryCodes(codes);
            show_once(&state, (headers, by, nonce), PAGE, shown).await
        }
        Err(error) => refused(error, PAGE),
    }
}

/// `POST /me/second-factor/off`.
pub async fn turn_off(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
) -> Response {
    match state.engine.turn_off_second_factor(&by).await {
        Ok(()) => location::see_other("/me?done=second-factor-off"),
        Err(error) => refused(error, ACCOUNT),
    }
}

/// Back to the page with the code; or the factor first, where that is what is missing.
pub(super) fn refused(error: EngineError, page: &str) -> Response {
    let code = error.refusal().code;
    match code {
        Code::StepUpRequired => hold(page),
        _ if error.is_fault() => Refused::from(error).into_response(),
        _ => location::see_other(&format!("{page}?refused={code}")),
    }
}
