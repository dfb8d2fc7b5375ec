//! What a page shows whose record did not come: the one 404 page, or a failed part with a way on.

use domain::problem::Code;
use leptos::prelude::*;
use leptos_router::hooks::use_location;

use super::not_found::NotFound;
use crate::{
    api::context::refuse, components::notice::FailedPart, error::ConsoleError, location::here,
};

/// A page without its record. An unknown id and one of another tenant look the same.
#[component]
pub fn Failed(
    /// Why.
    error: ConsoleError,
) -> impl IntoView {
    if error.code() == Code::NotFound {
        return view! { <NotFound/> }.into_any();
    }
    let at = use_location();
    let again = here(&at.pathname.get_untracked(), &at.search.get_untracked());
    view! { <FailedPart error again/> }.into_any()
}

/// The refusal of an address that names no record, with its status.
#[must_use]
pub fn no_such_record() -> ConsoleError {
    refuse(ConsoleError::code_only(Code::NotFound))
}
