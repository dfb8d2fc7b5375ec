//! Where a refused form of preferences leads: they are kept by plain forms of the server (`/preferences`).

use domain::view::Refusal;

use super::refused::{Kept, RefusedForm};

/// The page that explains why preferences were not kept; whoever is not signed in has none but that of
/// signing in.
#[must_use]
pub fn not_kept(refusal: Refusal, signed_in: bool) -> String {
    let page = if signed_in { "/me" } else { "/sign-in" };
    explained(page, refusal)
}

/// The page that explains why keys were not switched.
#[must_use]
pub fn not_switched(refusal: Refusal) -> String {
    explained("/help", refusal)
}

fn explained(page: &str, refusal: Refusal) -> String {
    let refused = RefusedForm { refusal: refusal.into(), kept: Kept::default() };
    format!("{page}?{}", refused.to_query())
}
