//! One's own password and sessions: plain forms of `/me`.

use axum::{
    Extension,
    extract::{Form, State, rejection::FormRejection},
    http::header,
    response::{IntoResponse, Response},
};
use domain::problem::Code;
use engine::{EngineError, StaffCaller, identity::Proof};
use serde::Deserialize;

use super::{cookie, form::unread, password, second_factor::refused};
use crate::{router::AppState, security::location};

const ACCOUNT: &str = "/me";

/// The form of a new password.
#[derive(Deserialize)]
pub struct ChangePassword {
    current: String,
    new: String,
    again: String,
}

/// `POST /me/password`.
pub async fn change_password(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    form: Result<Form<ChangePassword>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the fields current, new and again.";
            return unread(&rejection, fields).into_response();
        }
    };
    if form.new != form.again || password::check_strength(&form.new).is_err() {
        return location::see_other(&format!("{ACCOUNT}?refused={}", Code::Unprocessable));
    }
    match change(&state, &by, &form).await {
        Ok(token) => {
            let mut response = location::see_other("/me?done=password");
            response.headers_mut().append(header::SET_COOKIE, cookie::begin(&token));
            response
        }
        Err(error) => refused(error, ACCOUNT),
    }
}

/// Either factor does: whoever forgot the password has the other, and whoever lost that has this.
async fn change(
    state: &AppState,
    by: &StaffCaller,
    form: &ChangePassword,
) -> Result<String, EngineError> {
    let attempt = state.engine.begin_step_up(by).await?;
    let fits = state.passwords.verify(&form.current, attempt.password_hash()).await;
    let proof = if !fits && attempt.takes_code() {
        Proof::Code(form.current.clone())
    } else {
        Proof::Password(fits)
    };
    let hash = state.passwords.hash(&form.new).await;
    state.engine.change_password(by, proof, &hash).await
}

/// The form that ends sessions: one by its id, or all others.
#[derive(Deserialize)]
pub struct EndSession {
    session: String,
}

/// `POST /me/sessions/end`.
pub async fn end_session(
    State(state): State<AppState>,
    Extension(by): Extension<StaffCaller>,
    form: Result<Form<EndSession>, FormRejection>,
) -> Response {
    let form = match form {
        Ok(Form(form)) => form,
        Err(rejection) => {
            let fields = "The form must have the field session.";
            return unread(&rejection, fields).field("session").into_response();
        }
    };
    if form.session == "others" {
        return match state.engine.end_other_sessions(&by).await {
            Ok(()) => location::see_other("/me?done=sessions"),
            Err(error) => refused(error, ACCOUNT),
        };
    }
    let ended = match form.session.parse() {
        Ok(id) => state.engine.end_session(&by, id).await,
        Err(_) => Err(EngineError::refused(Code::NotFound)),
    };
    match ended {
        Ok(()) => location::see_other("/me?done=session"),
        Err(error) => refused(error, ACCOUNT),
    }
}
