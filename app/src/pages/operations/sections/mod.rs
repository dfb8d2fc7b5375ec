//! The parts of an operation's page, each its own type-erased view, so that no page becomes one
//! type of unbounded size.

mod audit;
mod conflicts;
mod evidence;
mod facts;
mod head;
mod incidents;
mod notes;
mod payload;
mod verdict;

pub use audit::Audit;
pub use conflicts::Conflicts;
pub use evidence::Evidence;
pub use facts::FactsColumn;
pub(in crate::pages::operations) use facts::{count_facts, lease_facts};
pub use head::{Banners, Head};
pub use incidents::Incidents;
pub use notes::Notes;
pub use payload::{Payload, Response};
pub use verdict::VerdictBand;

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
                {title}
                {count}
            </h2>
            {children()}
        </section>
    }
    .into_any()
}
