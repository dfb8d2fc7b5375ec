//! A part of a record's page, with its heading.

use leptos::prelude::*;

/// A part with its heading and how many things it holds.
#[component]
pub fn Part(
    /// The heading's id; the part can be linked by it.
    id: &'static str,
    /// The heading.
    title: &'static str,
    /// How many, where counting helps.
    #[prop(optional)]
    count: Option<usize>,
    /// The content.
    children: Children,
) -> impl IntoView {
    let count = count.map(|count| view! { <span class="section-count">{count.to_string()}</span> });
    view! {
        <section class="section" aria-labelledby=id>
            <h2 class="section-title" id=id>
                <a class="section-link" href=format!("#{id}")>{title}</a>
                {count}
            </h2>
            {children()}
        </section>
    }
    .into_any()
}
