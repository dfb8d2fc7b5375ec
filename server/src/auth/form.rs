//! A form that cannot be taken: the same statuses as at the JSON API's door, in our own words.

use axum::extract::rejection::FormRejection;
use domain::problem::Code;

use crate::refusal::Refused;

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
