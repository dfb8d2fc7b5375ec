//! What arrived about an operation from elsewhere, late answers of former holders included.

use domain::view::EvidenceView;
use leptos::prelude::*;

use crate::components::{
    facts::{fact, fact_key, text_or_link},
    part::Part,
    timestamp::Timestamp,
};

/// Evidence, oldest first.
#[component]
pub fn Evidence(
    /// The evidence.
    evidence: Vec<EvidenceView>,
    /// The fence of today's holder: a smaller one came from a former holder.
    fence: i64,
) -> impl IntoView {
    if evidence.is_empty() {
        return ().into_any();
    }
    let count = evidence.len();
    view! {
        <Part id="evidence" title="Evidence" count>
            <div class="stack">
                {evidence.into_iter().map(|evidence| one(evidence, fence)).collect_view()}
            </div>
        </Part>
    }
    .into_any()
}

fn one(evidence: EvidenceView, fence: i64) -> impl IntoView {
    let says = match evidence.says.as_str() {
        "done" => "it happened",
        "rejected" => "it was rejected",
        "not_done" => "it was not taken",
        "absent" => "it is not there",
        "ambiguous" => "it cannot be told",
        _ => "a statement",
    };
    let late = evidence.fence.is_some_and(|sender| sender < fence);
    let source = match (evidence.source.as_str(), late) {
        ("worker", true) => "A former holder\u{2019}s late answer",
        ("worker", false) => "The worker",
        ("webhook", _) => "The provider\u{2019}s webhook",
        ("lookup", _) => "A lookup at the provider",
        _ => "A person",
    };
    let late = late.then(|| {
        view! {
            <p class="field-help">
                "It came under an old fence: it was kept and changed no outcome by itself."
            </p>
        }
    });
    view! {
        <div>
            <p>
                <strong>{format!("{source}: {says}")}</strong>
            </p>
            {late}
            <dl class="facts">
                {fact("When", view! { <Timestamp at=evidence.at/> })}
                {fact("From", evidence.actor)}
                {evidence.external_reference.map(|reference| fact_key("Reference", reference))}
                {evidence.amount.map(|amount| fact("Amount", amount.to_string()))}
                {evidence.fence.map(|fence| fact("Fence", fence.to_string()))}
                {evidence.text.map(|text| fact("Text or link", text_or_link(text)))}
            </dl>
        </div>
    }
}
