//! The facts beside the story: identity, the lease, counts, instants, and the kind's policy.

use domain::{lease::LeaseState, operation::Status, view::OperationDetail};
use leptos::prelude::*;

use crate::{
    components::{
        facts::{fact, fact_at, fact_key},
        icon::{Icon, IconName},
        key::Key,
        timestamp::{Ago, Timestamp},
    },
    islands::CopyButton,
    text,
};

/// The sticky column.
#[component]
pub fn FactsColumn<'a>(
    /// The operation.
    detail: &'a OperationDetail,
) -> impl IntoView {
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            {identity(detail)}
            {lease(detail)}
            {counts(detail)}
            {instants(detail)}
            {key_life(detail)}
            {policy(detail)}
        </div>
    }
    .into_any()
}

fn group(title: &'static str, facts: Vec<AnyView>) -> AnyView {
    view! {
        <h2 class="facts-title">{title}</h2>
        <dl class="facts">{facts}</dl>
    }
    .into_any()
}

fn identity(detail: &OperationDetail) -> AnyView {
    let row = &detail.row;
    let reference = row.external_reference.clone().map(|reference| {
        let page = detail.reference_url.as_deref().and_then(text::safe_href).map(str::to_owned);
        match page {
            Some(href) => fact(
                "Reference",
                view! {
                    <a href=href rel="external noopener noreferrer" target="_blank">
                        <Key text=reference.clone() whole=true/>
                    </a>
                    <CopyButton text=reference what="the reference" link=false><Icon name=IconName::Copy/></CopyButton>
                },
            ),
            None => fact_key("Reference", reference),
        }
    });
    let facts = [
        Some(fact_key("Id", row.id.to_string())),
        reference,
        Some(fact_key("Key at the provider", detail.provider_key.clone())),
        row.amount.as_ref().map(|amount| fact("Amount", amount.to_string())),
        Some(fact("Asked", detail.mode.clone())),
        detail.workflow_key.clone().map(|key| fact_key("Workflow", key)),
        row.taken_by.clone().map(|who| fact("Taken by", who)),
    ];
    group("Operation", facts.into_iter().flatten().collect())
}

/// Who holds an operation, as the release form and the facts column show it.
pub(in crate::pages::operations) fn lease_facts(detail: &OperationDetail) -> Vec<AnyView> {
    let lease = &detail.row.lease;
    let as_of = detail.as_of;
    let state = match (lease.state, lease.lease_until) {
        (LeaseState::None, _) => "nobody holds it".to_owned(),
        (LeaseState::Live, _) => "live".to_owned(),
        (LeaseState::Stale, Some(until)) => {
            format!("stale for {}", text::span((as_of - until).num_milliseconds()))
        }
        (LeaseState::Stale, None) => "stale".to_owned(),
    };
    let facts = [
        Some(fact("State", state)),
        lease.owner.clone().map(|owner| fact_key("Holder", owner)),
        Some(fact("Fence", lease.fence.to_string())),
        lease.beat_at.map(|at| fact("Last beat", view! { <Ago at as_of/> })),
        lease.granted_at.map(|at| fact("Granted", view! { <Timestamp at/> })),
        fact_at("Ends", lease.lease_until),
    ];
    facts.into_iter().flatten().collect()
}

fn lease(detail: &OperationDetail) -> AnyView {
    group("Lease", lease_facts(detail))
}

/// Calls, claims and losses.
pub(in crate::pages::operations) fn count_facts(detail: &OperationDetail) -> Vec<AnyView> {
    vec![
        fact("Calls", format!("{} of at most {}", detail.row.attempt, detail.max_attempts)),
        fact("Claims without a call", detail.claims.to_string()),
        fact("Workers lost", detail.takeovers.to_string()),
        fact("Provider asked", times(detail.reconcile_tries)),
    ]
}

fn times(count: i32) -> String {
    match count {
        0 => "never".to_owned(),
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

fn counts(detail: &OperationDetail) -> AnyView {
    let mut facts = count_facts(detail);
    // The instant stays on record when a person must decide, and when it is over.
    let asks = detail.row.status == Status::Unknown && !detail.row.needs_manual;
    facts.extend(fact_at("Asks next", detail.next_reconcile_at.filter(|_| asks)));
    facts.extend(fact_at("Tries next", detail.next_at));
    group("Attempts", facts)
}

fn instants(detail: &OperationDetail) -> AnyView {
    let facts = [
        fact_at("Reserved", Some(detail.row.created_at)),
        fact_at("Last call began", detail.started_at),
        fact_at("Last moved", Some(detail.row.updated_at)),
        fact_at("Became final", detail.completed_at),
    ];
    group("Instants", facts.into_iter().flatten().collect())
}

/// How long the key keeps its answer, and how often it gave it.
fn key_life(detail: &OperationDetail) -> AnyView {
    let replays = match detail.replays {
        0 => "none counted".to_owned(),
        1 => "at least one".to_owned(),
        n => format!("at least {n}"),
    };
    let kept = match (detail.tombstoned_at, detail.expires_at) {
        (Some(_), _) => fact("A repeat gets", "state and reference alone".to_owned()),
        (None, None) => fact("Expires", "never: it is kept for ever".to_owned()),
        (None, Some(_)) if detail.response.is_none() => {
            fact("A repeat gets", "the outcome".to_owned())
        }
        (None, Some(_)) => fact("A repeat gets", "the stored answer".to_owned()),
    };
    let facts = [
        Some(kept).filter(|_| detail.row.status.is_final()),
        Some(fact("Repeats answered", replays)),
        fact_at("Last repeat", detail.replayed_at),
        fact_at("Expires from", detail.expires_at),
        fact_at("Tombstone since", detail.tombstoned_at),
    ];
    group("Life of its key", facts.into_iter().flatten().collect())
}

fn policy(detail: &OperationDetail) -> AnyView {
    let kind = &detail.kind;
    let yes_no = |value: bool| if value { "yes" } else { "no" };
    let provider = kind.provider.clone().unwrap_or_else(|| "none".to_owned());
    let absent = kind
        .lookup
        .then(|| fact("\u{201c}Not found\u{201d} is proof", yes_no(kind.absent_is_proof)));
    let asked = match (kind.lookup, detail.asked_in_vain) {
        (true, true) => "yes, but not about this effect",
        (lookup, _) => yes_no(lookup),
    };
    let facts = [
        Some(fact("Kind", kind.name.clone())),
        Some(fact("A repeat would harm", yes_no(kind.irreversible))),
        Some(fact("Moves money", yes_no(kind.money))),
        Some(fact("Provider", provider)),
        Some(fact("Can be asked", asked)),
        absent,
        Some(fact("Call at most", text::length(kind.call_deadline_ms))),
        Some(fact("Lease", text::length(kind.lease_ms))),
        Some(fact("Settles within", text::length(kind.settle_window_ms))),
    ];
    group("Policy of its kind", facts.into_iter().flatten().collect())
}
