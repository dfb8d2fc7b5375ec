//! What is known before a person decides: the provider's answer now, and the amounts that it and the
//! evidence name beside the one on record.

use domain::{reconciliation::ProviderAnswer, view::OperationDetail};
use leptos::prelude::*;

use crate::{
    components::{
        compare::{Compare, Stated},
        key::Key,
        notice::{Notice, Tone},
    },
    error::ConsoleError,
};

/// The provider's answer and the amounts.
#[component]
pub fn WhatIsKnown<'a>(
    /// The operation.
    detail: &'a OperationDetail,
    /// What the provider answered just now.
    answer: Option<Result<ProviderAnswer, ConsoleError>>,
) -> impl IntoView {
    let mut stated: Vec<Stated> = Vec::new();
    if let Some(Ok(ProviderAnswer::Done { amount, .. })) = &answer {
        stated.push(Stated { who: "The provider says now".to_owned(), amount: amount.clone() });
    }
    stated.extend(detail.evidence.iter().filter(|evidence| evidence.amount.is_some()).map(
        |evidence| Stated {
            who: format!("Evidence from {}, {}", evidence.source, evidence.actor),
            amount: evidence.amount.clone(),
        },
    ));
    let amounts = (detail.row.amount.is_some() || !stated.is_empty()).then(|| {
        view! { <Compare record=detail.row.amount.clone() stated/> }
    });
    view! {
        <section class="section stack" aria-labelledby="known">
            <h2 class="section-title" id="known">
                "What is known now"
            </h2>
            {answer.map(|answer| says(detail, answer))}
            {amounts}
        </section>
    }
    .into_any()
}

fn says(detail: &OperationDetail, answer: Result<ProviderAnswer, ConsoleError>) -> AnyView {
    let provider = detail.kind.provider.clone().unwrap_or_else(|| "the provider".to_owned());
    match answer {
        Ok(ProviderAnswer::Done { external_reference, .. }) => view! {
            <Notice tone=Tone::Good title=format!("Asked just now, {provider} says: it happened.")>
                <p>
                    "Under the reference "
                    <Key text=external_reference whole=true/>
                </p>
            </Notice>
        }
        .into_any(),
        Ok(ProviderAnswer::Rejected) => plain(
            Tone::Caution,
            format!("Asked just now, {provider} says: it was rejected."),
            "It knows the request and did not carry it out.",
        ),
        Ok(ProviderAnswer::SomethingElse) => plain(
            Tone::Caution,
            format!("Asked just now, {provider} answers about something else."),
            "Its answer names another key or target: look into its own console before you decide.",
        ),
        Ok(ProviderAnswer::Absent) => plain(
            Tone::Caution,
            format!("Asked just now, {provider} does not find it."),
            if detail.kind.absent_is_proof {
                "For this kind that counts as proof once the effect would have had time to show."
            } else {
                "This provider\u{2019}s \u{201c}not found\u{201d} does not prove that nothing happened."
            },
        ),
        Ok(ProviderAnswer::NoLookup) if detail.kind.lookup => plain(
            Tone::Caution,
            format!("Asked just now, {provider} could not tell: it offers no lookup for this."),
            "Look into its own console, or ring its support, before you decide.",
        ),
        Ok(ProviderAnswer::NoLookup) => plain(
            Tone::Neutral,
            format!("{provider} offers no lookup: no machine can ask it."),
            "Look into its own console, or ring its support, before you decide.",
        ),
        Ok(ProviderAnswer::Unreachable) => plain(
            Tone::Caution,
            format!("{provider} did not answer just now, or in words that cannot be read."),
            "That says nothing about the outcome. Open this page again to ask once more.",
        ),
        Err(error) => plain(Tone::Neutral, "The provider was not asked.".to_owned(), error.title()),
    }
}

fn plain(tone: Tone, title: String, words: &'static str) -> AnyView {
    view! {
        <Notice tone title>
            <p>{words}</p>
        </Notice>
    }
    .into_any()
}
