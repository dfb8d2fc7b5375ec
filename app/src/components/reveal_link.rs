//! The way from a masked body to its reveal; whoever lacks the right sees which.

use domain::{access::Permission, action::Subject, view::ArtifactName};
use leptos::prelude::*;

use super::notice::lacks;
use crate::api::{records::permits, reveal::form};

/// The link below a body in which something is masked; nothing where nothing is.
#[must_use]
pub fn reveal_link(
    masked: u32,
    target: &Subject,
    artifact: Option<&ArtifactName>,
) -> Option<AnyView> {
    if masked == 0 {
        return None;
    }
    let label = "Reveal the masked fields";
    if permits(Permission::Reveal).unwrap_or_default() {
        let href = form(target, artifact);
        return Some(
            view! { <p class="reveal-link"><a class="button" href=href>{label}</a></p> }.into_any(),
        );
    }
    let why = lacks(Permission::Reveal);
    Some(
        view! {
            <p class="reveal-link">
                <span class="button" role="link" aria-disabled="true">{label}</span>
                <span class="menu-why">{why}</span>
            </p>
        }
        .into_any(),
    )
}
