//! A receipt: one decision, carried out once, with what it changed and what followed.

use domain::{
    action::{Outcome, TargetType, Verb},
    operation::Status,
    view::{AlsoDecided, EvidenceFile, Receipt, ReceiptState},
};
use leptos::prelude::*;

use super::{
    evidence_files::file_list,
    facts::{fact, fact_key, fact_text, text_or_link},
    state_badge::StateBadge,
    timestamp::Timestamp,
};

/// What was decided, in words.
#[must_use]
pub fn decided(receipt: &Receipt) -> String {
    match (receipt.verb, receipt.outcome) {
        (Verb::Confirm, Some(outcome)) => format!("Confirmed: {}", Outcome::label(outcome)),
        (Verb::Confirm, None) => "Confirmed".to_owned(),
        (Verb::Release, _) => match receipt.after.status.operation() {
            Some(Status::Unknown) => "Released: became unknown".to_owned(),
            _ => "Released: can be claimed again".to_owned(),
        },
        (Verb::Reconcile, _) => "Reconciliation asked for".to_owned(),
        (Verb::Retry, _) if receipt.target_type == TargetType::Operation => {
            "Another attempt granted".to_owned()
        }
        (Verb::Cancel, _) if receipt.target_type == TargetType::Operation => {
            match receipt.before.status.operation() {
                Some(Status::FailedRetryable) => "Given up".to_owned(),
                _ => "Cancelled before the call began".to_owned(),
            }
        }
        (Verb::Run, _) if receipt.target_type == TargetType::Bulk => "Bulk started".to_owned(),
        (Verb::Pause, _) => "Bulk paused".to_owned(),
        (Verb::Resume, _) if receipt.target_type == TargetType::Bulk => "Bulk resumed".to_owned(),
        (Verb::Abandon, _) => "Bulk given up".to_owned(),
        (Verb::Compensate, _) if receipt.target_type == TargetType::Workflow => {
            "Stopped: undone as far as it can be".to_owned()
        }
        (Verb::Compensate, _) => "Undo asked for".to_owned(),
        (Verb::Issue, _) => "Token made".to_owned(),
        (Verb::Revoke, _) => "Token revoked".to_owned(),
        (Verb::Correct, Some(outcome)) => format!("Corrected: {}", Outcome::label(outcome)),
        (verb, _) => format!("Decided: {}", verb.as_str().replace('_', " ")),
    }
}

/// The receipt itself.
#[component]
pub fn ReceiptView(
    /// The decision.
    receipt: Receipt,
    /// The tenant that it was decided in, as people call it.
    #[prop(optional_no_strip)]
    tenant: Option<String>,
) -> impl IntoView {
    let title = decided(&receipt);
    let place = format!("{}/{}", receipt.target_type.pages(), receipt.target);
    let words = format!("Open the {}", receipt.target_type.label());
    view! {
        <article class="receipt">
            <header class="receipt-head">
                <p class="receipt-kind">"Receipt"</p>
                <h1 class="receipt-title">{title}</h1>
                <p class="receipt-sub">
                    {receipt.actor.clone()} " · " <Timestamp at=receipt.at/>
                </p>
            </header>
            <ol class="receipt-move" aria-label="Before and after">
                {state("Before", &receipt.before)} {state("After", &receipt.after)}
            </ol>
            {facts(&receipt, tenant)}
            {followed(receipt.followed)}
            {also(receipt.also_decided_by)}
            <footer class="receipt-foot">
                <p>
                    "Sending the same decision again changes nothing and shows this receipt. "
                    <a href=place>{words}</a>
                </p>
            </footer>
        </article>
    }
    .into_any()
}

fn state(when: &'static str, state: &ReceiptState) -> impl IntoView + use<> {
    let person = if state.needs_manual { ", needs a person" } else { "" };
    let badge = match state.status.operation() {
        Some(status) => view! { <StateBadge status/> }.into_any(),
        None => {
            let word = state.status.as_str().replace('_', " ");
            view! { <strong>{word}</strong> }.into_any()
        }
    };
    view! {
        <li>
            <span class="receipt-when">{when}</span>
            {badge}
            <span class="receipt-version">{format!("version {}{person}", state.version)}</span>
        </li>
    }
}

fn facts(receipt: &Receipt, tenant: Option<String>) -> AnyView {
    let target = receipt.target_operation.clone();
    let what = match receipt.target_type {
        TargetType::Operation => "Operation",
        _ => "Record",
    };
    let second = receipt.approved_by.as_ref().map(|second| {
        let said = second.reason.as_ref().map(|said| format!(" \u{201c}{said}\u{201d}"));
        let said = said.unwrap_or_default();
        fact("Approved by", format!("{} ({}){said}", second.actor, second.actor_email))
    });
    let facts: Vec<AnyView> = [
        Some(fact("Who", format!("{} ({})", receipt.actor, receipt.actor_email))),
        second,
        tenant.map(|tenant| fact("Tenant", tenant)),
        Some(fact(what, target)),
        Some(fact_key("Its key", receipt.target_key.clone())),
        receipt.amount.as_ref().map(|amount| fact("Amount", amount.to_string())),
        receipt.outcome.map(|outcome| fact("Outcome", outcome.label())),
        receipt.external_reference.clone().map(|reference| fact_key("Reference", reference)),
        Some(fact_text("Reason", receipt.reason.clone())),
        receipt.evidence.clone().map(|evidence| fact("Evidence", text_or_link(evidence))),
        files(&receipt.target, &receipt.evidence_files),
        receipt.bulk.map(|id| {
            fact("Within", view! { <a href=format!("/bulks/{id}")>"A bulk of many records"</a> })
        }),
        Some(fact_key("Action", receipt.verb.operation())),
        Some(fact_key("Action key", receipt.action_key.clone())),
        Some(fact_key("Receipt", receipt.id.to_string())),
    ]
    .into_iter()
    .flatten()
    .collect();
    view! { <dl class="facts">{facts}</dl> }.into_any()
}

/// The files that a decision about an operation rests on.
#[must_use]
pub fn files(target: &str, files: &[EvidenceFile]) -> Option<AnyView> {
    let operation = target.parse().ok()?;
    file_list(operation, files).map(|files| fact("Evidence as a file", files))
}

fn followed(followed: Vec<String>) -> Option<AnyView> {
    (!followed.is_empty()).then(|| {
        view! {
            <section class="section" aria-labelledby="followed">
                <h2 class="section-title" id="followed">
                    "What followed"
                </h2>
                <ul class="receipt-followed">
                    {followed.into_iter().map(|sentence| view! { <li>{sentence}</li> }).collect_view()}
                </ul>
            </section>
        }
        .into_any()
    })
}

fn also(also: Vec<AlsoDecided>) -> Option<AnyView> {
    (!also.is_empty()).then(|| {
        view! {
            <section class="section" aria-labelledby="also">
                <h2 class="section-title" id="also">
                    "Also decided by"
                </h2>
                <ul class="receipt-also">{also.into_iter().map(one).collect_view()}</ul>
            </section>
        }
        .into_any()
    })
}

fn one(also: AlsoDecided) -> impl IntoView {
    view! {
        <li>
            <strong>{also.actor}</strong>
            " · "
            <Timestamp at=also.at/>
            {format!(" · \u{201c}{}\u{201d}", also.reason)}
        </li>
    }
}
