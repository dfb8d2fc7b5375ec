//! Where a plain form's answer leads: to one of our own pages, whatever the Referer says (F2).
//!
//! A target is built from ids and words of closed lists, so it cannot hold a foreign origin, nor
//! the line break on which Leptos' own helper panics (T47).

use domain::{action::Verb, ids::OperationId};
use http::{
    HeaderName, HeaderValue, StatusCode,
    header::{ACCEPT, LOCATION},
    request::Parts,
};
use leptos::{prelude::use_context, server_fn::redirect::REDIRECT_HEADER};
use leptos_axum::ResponseOptions;

use super::refused::RefusedForm;

/// A page of this console.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target(String);

impl Target {
    /// A receipt; a replay says so on the page.
    pub(super) fn receipt(id: OperationId, replayed: bool) -> Self {
        Self(format!("/receipts/{id}{}", if replayed { "?replayed=1" } else { "" }))
    }

    /// An operation's page, at the requests that wait for a second person.
    pub(super) fn asked(id: OperationId) -> Self {
        Self(format!("/operations/{id}#approvals"))
    }

    /// The form of an action, explaining why it was refused.
    pub(super) fn form(id: OperationId, verb: Verb, refused: &RefusedForm) -> Self {
        Self(format!("/operations/{id}/{verb}?{}", refused.to_query()))
    }

    /// An operation's page at its notes.
    pub(super) fn notes(id: OperationId, refused: Option<&RefusedForm>) -> Self {
        let query = refused.map(|refused| format!("?{}", refused.to_query())).unwrap_or_default();
        Self(format!("/operations/{id}{query}#notes"))
    }

    /// The page of a record that does not exist.
    pub(super) fn missing() -> Self {
        Self("/operations/none".into())
    }
}

/// Whether the browser itself posts the form. Only our own WASM asks for JSON alone; everyone else
/// gets a page.
pub(super) fn plain_form() -> bool {
    use_context::<Parts>().is_none_or(|parts| {
        parts.headers.get(ACCEPT).is_none_or(|accept| accept.as_bytes() != b"application/json")
    })
}

/// Sends the person to a page: a plain form by 303, WASM by a header that its router follows.
pub(super) fn go(target: &Target) {
    let Some(response) = use_context::<ResponseOptions>() else { return };
    let Ok(location) = HeaderValue::from_str(&target.0) else {
        tracing::error!("a redirect's target is no header value");
        return;
    };
    response.insert_header(LOCATION, location);
    if plain_form() {
        response.set_status(StatusCode::SEE_OTHER);
    } else {
        response
            .insert_header(HeaderName::from_static(REDIRECT_HEADER), HeaderValue::from_static(""));
    }
}

#[cfg(test)]
mod tests {
    use domain::problem::Code;

    use super::*;
    use crate::{api::refused::Kept, error::RefusalView};

    #[test]
    fn a_target_stays_on_our_own_origin_and_on_one_line() {
        let id = OperationId::new(uuid::Uuid::from_u128(7));
        let kept = Kept { reason: "x\r\nSet-Cookie: a=b //evil.example".into(), ..Kept::default() };
        let refused = RefusedForm { refusal: RefusalView::new(Code::Stale), kept };
        for target in [
            Target::receipt(id, true),
            Target::asked(id),
            Target::form(id, Verb::Confirm, &refused),
            Target::notes(id, Some(&refused)),
            Target::missing(),
        ] {
            assert!(target.0.starts_with("/operations/") || target.0.starts_with("/receipts/"));
            assert!(HeaderValue::from_str(&target.0).is_ok());
        }
    }
}
