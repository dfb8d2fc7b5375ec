//! A form that cannot be taken: the same statuses as at the JSON API's door, in our own words; and, for a
//! person, the page that explains it.

use axum::{
    extract::rejection::FormRejection,
    http::{HeaderMap, HeaderValue, StatusCode, header},
    response::{IntoResponse, Response},
};
use domain::{problem::Code, view::Refusal};

use crate::refusal::{Reader, Refused};

/// Why a form was not read: 415 for another content type, 422 for one whose fields do not fit,
/// 400 for what is no form at all. `fields` says in a sentence what it has.
pub(crate) fn unread(rejection: &FormRejection, fields: &str) -> Refused {
    let code = match rejection {
        FormRejection::InvalidFormContentType(_) => Code::UnsupportedMediaType,
        FormRejection::FailedToDeserializeFormBody(_) => Code::Unprocessable,
        _ => Code::RequestInvalid,
    };
    Refused::code(code).detail(fields)
}

/// A refusal of the form that was posted to a path: a person is led to the page that explains it, whose
/// address `page` gives; a program, and whoever meets a fault of ours, gets the refusal itself.
pub(crate) fn explained(
    path: &str,
    headers: &HeaderMap,
    refused: Refused,
    page: impl FnOnce(Refusal) -> String,
) -> Response {
    let refusal = refused.refusal();
    if Reader::of(path, headers) == Reader::Program || refusal.code.status() >= 500 {
        return refused.into_response();
    }
    match HeaderValue::from_str(&page(refusal.clone())) {
        Ok(place) => (StatusCode::SEE_OTHER, [(header::LOCATION, place)]).into_response(),
        Err(_) => refused.into_response(),
    }
}
