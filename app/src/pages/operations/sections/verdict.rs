//! The verdict band: one sentence a person acts on, the safety as a word, and what it rests on.

use domain::verdict::{Safety, Verdict};
use leptos::prelude::*;

use crate::components::icon::{Icon, IconName};

/// A verdict with its grounds.
#[component]
pub fn VerdictBand(
    /// The verdict.
    verdict: Verdict,
) -> impl IntoView {
    let (word, safety, icon) = match verdict.safety {
        Safety::Final => ("Final", "final", IconName::Check),
        Safety::SafeToRetry => ("Safe to retry", "safe_to_retry", IconName::Retry),
        Safety::Wait => ("Wait", "wait", IconName::Clock),
        Safety::NeedsPerson => ("Do not retry: needs a person", "needs_person", IconName::Person),
    };
    let grounds = (!verdict.grounds.is_empty()).then(|| {
        view! {
            <ul class="verdict-grounds">
                {verdict.grounds.into_iter().map(|ground| view! { <li>{ground}</li> }).collect_view()}
            </ul>
        }
    });
    view! {
        <section class="verdict" data-safety=safety aria-labelledby="verdict-sentence">
            <span class="verdict-mark">
                <Icon name=icon/>
            </span>
            <div class="verdict-body">
                <p class="verdict-safety">{word}</p>
                <h2 class="verdict-sentence" id="verdict-sentence">
                    {verdict.sentence}
                </h2>
                {grounds}
            </div>
        </section>
    }
    .into_any()
}
