//! Where a plain form's answer leads: to one of our own pages, whatever the Referer says (F2).
//!
//! A target is built from ids and words of closed lists, so it cannot hold a foreign origin, nor
//! the line break on which Leptos' own helper panics (T47).

use domain::{action::Verb, ids::OperationId};
use http::{HeaderValue, StatusCode, header::LOCATION};
use leptos::prelude::use_context;
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

    /// An operation's page at its notes; after a refusal at the words that explain it, which take the
    /// focus as the address's target.
    pub(super) fn notes(id: OperationId, refused: Option<&RefusedForm>) -> Self {
        match refused {
            None => Self(format!("/operations/{id}#notes")),
            Some(refused) => Self(format!("/operations/{id}?{}#refused", refused.to_query())),
        }
    }

    /// The page of a record that does not exist.
    pub(super) fn missing() -> Self {
        Self("/operations/none".into())
    }
}

/// Sends the person to a page: `303 See Other`, which the browser follows with a GET.
pub(super) fn go(target: &Target) {
    let Some(response) = use_context::<ResponseOptions>() else { return };
    let Ok(location) = HeaderValue::from_str(&target.0) else {
        tracing::error!("a redirect's target is no header value");
        return;
    };
    response.insert_header(LOCATION, location);
    response.set_status(StatusCode::SEE_OTHER);
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
