//! An empty list teaches the next step instead of showing nothing.

use leptos::prelude::*;

/// What stands where rows would.
#[component]
pub fn EmptyState(
    /// What there is none of, in a sentence.
    title: &'static str,
    /// The next step.
    children: Children,
) -> impl IntoView {
    view! {
        <div class="empty">
            <p class="empty-title">{title}</p>
            <div class="empty-more">{children()}</div>
        </div>
    }
}
