//! `/conflicts/{id}`: two payloads under one key, side by side, field by field.
//!
//! Guards against the guess that the second request was a repeat: it asked for something else, it was
//! refused, and whether the first one happened is said in so many words.

use domain::{
    action::Subject,
    operation::Status,
    view::{ConflictDetail, ConflictRow},
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{
        notes::{Noted, conflict_page},
        refused::RefusedForm,
    },
    components::{
        amount::Amount,
        body_view::Body,
        diff::Diff,
        facts::{fact, fact_at, fact_key, times},
        gather_link::gather_link,
        icon::{Icon, IconName},
        key::Key,
        notes::Notes,
        part::Part,
        related::operation_link,
        reveal_link::reveal_link,
        state_badge::StateBadge,
        timestamp::Timestamp,
        verdict_band::{Standing, VerdictBand},
    },
    islands::CopyButton,
    pages::{address::query, record::record_page},
};

/// Changed fields that the page shows; the payloads below can be had whole.
const MAX_CHANGES: usize = 100;

/// The page of a conflict.
#[component]
pub fn DetailPage() -> impl IntoView {
    let query = query();
    view! {
        <Title text="Payload conflict · Onceover"/>
        {record_page(conflict_page, move |page| shown(page, &query))}
    }
}

fn standing(detail: &ConflictDetail) -> Standing {
    let row = &detail.row;
    let times = match row.count {
        1 => "The other request was refused once; nothing was done for it.".to_owned(),
        many => format!("The other request was refused {many} times; nothing was done for it."),
    };
    let first = match row.status {
        _ if detail.corrected_to.is_some() => Standing::over(corrected(detail)),
        _ if detail.disputed => Standing::person(
            "Disputed: what is recorded of the first request is contradicted, and nobody has settled it. The \
             other one was refused.",
        ),
        Status::Succeeded => {
            Standing::over("The first request happened. The other one was refused.")
        }
        Status::FailedTerminal => Standing::over(
            "The first request did not happen and will not. The other one was refused.",
        ),
        Status::Unknown => Standing::person(
            "Whether the first request happened is not known. The other one was refused.",
        ),
        Status::Reserved | Status::Executing | Status::FailedRetryable => {
            Standing::wait("The first request is still under way. The other one was refused.")
        }
    };
    let advice = "If the other one was meant, its sender asks again under a new key.".to_owned();
    first.grounds([times, advice])
}

/// The recorded state stays; what is true is what the correction says.
fn corrected(detail: &ConflictDetail) -> String {
    let word = |happened| if happened { "it happened" } else { "it did not happen" };
    format!(
        "Of the first request two people say: {}, against the recorded state. The other one was refused.",
        word(detail.corrected_to == Some(true))
    )
}

fn shown(page: Noted<ConflictDetail>, query: &str) -> AnyView {
    let refused = RefusedForm::from_query(query);
    let Noted { record: detail, notes } = page;
    let gather = gather_link(notes.about);
    let row = detail.row.clone();
    let verdict = standing(&detail);
    let facts = facts(&detail);
    let (first, other) = (detail.first, detail.other);
    let reveal = reveal_link(
        first.as_ref().map_or(0, |body| body.masked),
        &Subject::from(row.operation_id),
        None,
    );
    // What was refused was masked before it was kept: nobody can have it unmasked.
    let never = other.as_ref().is_some_and(|body| body.masked > 0).then(|| {
        view! { <p class="field-help">"It was kept masked: its values were never stored, so nobody can reveal them."</p> }
    });
    let comparison = detail.comparison;
    let (amount, others) = (row.amount.clone(), others(detail.others));
    let place = format!("/conflicts/{}", row.id);
    let bodies = view! {
        <div class="side-by-side">
            <div>
                <h3 class="facts-title">"Accepted first"</h3>
                {body(first, "The accepted payload as text", format!("/operations/{}/payload", row.operation_id))}
                {reveal}
            </div>
            <div>
                <h3 class="facts-title">"Sent again, refused"</h3>
                {body(other, "The refused payload as text", format!("{place}/payload"))}
                {never}
            </div>
        </div>
    }
    .into_any();
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <StateBadge status=row.status tombstoned=row.tombstoned/>
                        <span>{row.operation}</span>
                    </p>
                    <h1 class="detail-key">
                        "Same key, other payload: " <Key text=row.key.clone() whole=true/>
                    </h1>
                    <p class="detail-sub">
                        "as of " <Timestamp at=detail.as_of/> " "
                        <CopyButton text=row.key what="the key" link=false><Icon name=IconName::Copy/></CopyButton>
                        <CopyButton text=place.clone() what="link" link=true>
                            <Icon name=IconName::Copy/>
                        </CopyButton>
                    </p>
                </div>
                <div class="detail-actions">
                    <a class="button button--primary" href=format!("/operations/{}", row.operation_id)>
                        "Open the first operation"
                    </a>
                    {gather}
                </div>
            </header>
            <VerdictBand verdict/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="difference" title="What differs">
                        <Diff conflict=comparison first=amount most=MAX_CHANGES/>
                    </Part>
                    <Part id="payloads" title="Both payloads">
                        {bodies}
                    </Part>
                    {others}
                    <Notes notes refused place=(&place, query)/>
                </div>
                {facts}
            </div>
        </article>
    }
    .into_any()
}

fn body(body: Option<domain::view::BodyView>, label: &'static str, whole: String) -> AnyView {
    match body {
        Some(body) => view! { <Body body label whole/> }.into_any(),
        None => view! { <p class="prose">"Not kept, or expired."</p> }.into_any(),
    }
}

fn others(others: Vec<ConflictRow>) -> Option<AnyView> {
    if others.is_empty() {
        return None;
    }
    let count = others.len();
    let items = others
        .into_iter()
        .map(|other| {
            let refused = format!("refused {}, last ", times(other.count));
            view! {
                <li class="related">
                    <a href=format!("/conflicts/{}", other.id)><Amount amount=other.other_amount/></a>
                    <span class="cell-sub">
                        {refused} <Timestamp at=other.last_at/> {format!(", from {}", other.callers.join(", "))}
                    </span>
                </li>
            }
        })
        .collect_view();
    Some(
        view! {
            <Part id="others" title="Other payloads under the same key" count>
                <ul class="relations">{items}</ul>
            </Part>
        }
        .into_any(),
    )
}

fn facts(detail: &ConflictDetail) -> AnyView {
    let row = &detail.row;
    let first = [
        Some(fact("Operation", operation_link(row.operation_id))),
        row.amount.as_ref().map(|amount| fact("Amount", amount.to_string())),
        detail.external_reference.clone().map(|reference| fact_key("Reference", reference)),
        Some(fact("Sent by", detail.reserved_by.clone())),
        fact_at("Reserved", Some(detail.reserved_at)),
        fact_at("Final since", detail.completed_at),
    ];
    let other = [
        Some(fact_key("Conflict", row.id.to_string())),
        row.other_amount.as_ref().map(|amount| fact("Amount", amount.to_string())),
        Some(fact("Sent by", row.callers.join(", "))),
        Some(fact("Refused", times(row.count))),
        fact_at("First", Some(row.first_at)),
        fact_at("Last", Some(row.last_at)),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"The first request"</h2>
            <dl class="facts">{first.into_iter().flatten().collect_view()}</dl>
            <h2 class="facts-title">"The other request"</h2>
            <dl class="facts">{other.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}
