//! What arrived about an operation from elsewhere, late answers of former holders included.

use domain::{access::Permission, ids::OperationId, view::EvidenceView};
use leptos::prelude::*;

use crate::{
    api::records::permits,
    components::{
        evidence_files::file_link,
        facts::{fact, fact_key, text_or_link},
        notice::lacks,
        part::Part,
        slice::Slice,
        timestamp::Timestamp,
    },
    text,
};

/// What the pieces of evidence of one piece take at most, in bytes of the page, and what one takes
/// besides its text.
const MAX_PIECE: usize = 24_000;
const FRAME: usize = 1_200;

/// Evidence, oldest first.
#[component]
pub fn Evidence<'a>(
    /// The operation.
    id: OperationId,
    /// The evidence.
    evidence: &'a [EvidenceView],
    /// The fence of today's holder: a smaller one came from a former holder.
    fence: i64,
    /// Whether its contents have expired: nothing is added then.
    tombstoned: bool,
    /// The path and query of the page.
    place: (&'a str, &'a str),
) -> impl IntoView {
    let more = (!tombstoned).then(|| attach(id));
    if evidence.is_empty() && tombstoned {
        return ().into_any();
    }
    let count = evidence.len();
    let weigh = |one: &EvidenceView| FRAME + one.text.as_deref().map_or(0, text::weight);
    let piece = Slice::weighed(place, "evidence", MAX_PIECE, evidence.iter().map(weigh));
    let shown: Vec<_> =
        piece.of(evidence).iter().cloned().map(|evidence| one(id, evidence, fence)).collect();
    view! {
        <Part id="evidence" title="Evidence" count>
            <div class="stack">
                {shown}
            </div>
            {piece.ways()}
            {more}
        </Part>
    }
    .into_any()
}

/// The way to the form that takes a file; whoever lacks the right sees which.
fn attach(id: OperationId) -> AnyView {
    let label = "Attach a file";
    if permits(Permission::Evidence).unwrap_or_default() {
        let href = format!("/operations/{id}/evidence");
        return view! { <p class="evidence-more"><a class="button" href=href>{label}</a></p> }
            .into_any();
    }
    let why = lacks(Permission::Evidence);
    view! {
        <p class="evidence-more">
            <span class="button" role="link" aria-disabled="true">{label}</span>
            <span class="menu-why">{why}</span>
        </p>
    }
    .into_any()
}

fn one(id: OperationId, evidence: EvidenceView, fence: i64) -> impl IntoView {
    let says = match evidence.says.as_str() {
        "done" => "it happened",
        "rejected" => "it was rejected",
        "not_done" => "it was not taken",
        "absent" => "it is not there",
        "ambiguous" => "it cannot be told",
        _ if evidence.file.is_some() => "a file",
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
                {evidence.file.map(|file| fact("File", file_link(id, &file)))}
                {evidence.text.map(|text| fact("Text or link", text_or_link(text)))}
            </dl>
        </div>
    }
}
