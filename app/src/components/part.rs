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
    /// Whether these are only the newest of more.
    #[prop(optional)]
    older: bool,
    /// The content.
    children: Children,
) -> impl IntoView {
    let left_out = count.filter(|_| older).map(|count| {
        let words = format!("The newest {count} are shown; older ones are not.");
        view! { <p class="field-help">{words}</p> }
    });
    let count = count.map(|count| {
        let sign = if older { "+" } else { "" };
        view! { <span class="section-count">{format!("{count}{sign}")}</span> }
    });
    view! {
        <section class="section" aria-labelledby=id>
            <h2 class="section-title" id=id>
                <a class="section-link" href=format!("#{id}")>{title}</a>
                {count}
            </h2>
            {left_out}
            {children()}
        </section>
    }
    .into_any()
}
