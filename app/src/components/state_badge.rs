//! A state as icon and word, always both, so that nobody needs to see its colour.

use domain::{
    operation::Status,
    view::{Cause, OperationRow},
};
use leptos::prelude::*;

use super::icon::{Icon, IconName};

/// The word that stands in `data-status`: a state, or `tombstone` once the contents are gone.
#[must_use]
pub const fn status_word(status: Status, tombstoned: bool) -> &'static str {
    if tombstoned { "tombstone" } else { status.as_str() }
}

/// Where an operation stands.
#[component]
pub fn StateBadge(
    /// The state.
    status: Status,
    /// Whether its contents have expired: the outcome stays, the look changes.
    #[prop(optional)]
    tombstoned: bool,
) -> impl IntoView {
    let icon = if tombstoned { IconName::Tombstone } else { IconName::of(status) };
    let word = if tombstoned { "tombstone" } else { status.label() };
    let outcome = tombstoned.then(|| {
        view! { <span class="badge-outcome">{status.label()}</span> }
    });
    view! {
        <span class="badge" data-status=status_word(status, tombstoned)>
            <Icon name=icon/>
            <span class="badge-word">{word}</span>
            {outcome}
        </span>
    }
}

/// The dot at a row's left edge: a person must decide.
#[component]
pub fn PersonDot() -> impl IntoView {
    view! {
        <span class="person-dot" title="needs a person">
            <span class="visually-hidden">"needs a person"</span>
        </span>
    }
}

/// What else is true of a row: conflict, open incident, who looks at it.
#[must_use]
pub fn flags(row: &OperationRow) -> AnyView {
    let conflict = row.conflict.then(|| flag(IconName::Conflict, "conflict"));
    let incident = row.open_incident.then(|| flag(IconName::Warning, "incident"));
    let taken = row.taken_by.clone().map(|who| {
        view! {
            <span class="flag">
                <Icon name=IconName::Person/>
                <span class="flag-who">
                    <span class="visually-hidden">"taken by "</span>
                    {who}
                </span>
            </span>
        }
    });
    if conflict.is_none() && incident.is_none() && taken.is_none() {
        return ().into_any();
    }
    view! { <span class="flags">{conflict} {incident} {taken}</span> }.into_any()
}

fn flag(icon: IconName, word: &'static str) -> impl IntoView {
    view! {
        <span class="flag">
            <Icon name=icon/>
            {word}
        </span>
    }
}

/// A queue's icon.
#[must_use]
pub const fn cause_icon(cause: Cause) -> IconName {
    match cause {
        Cause::UnknownOutcome => IconName::Unknown,
        Cause::StuckLease => IconName::Clock,
        Cause::ApprovalMine | Cause::ApprovalOthers => IconName::Person,
        Cause::PayloadConflict => IconName::Conflict,
        Cause::StuckCompensation
        | Cause::BlockedWorkflow
        | Cause::DeadEvent
        | Cause::UntakenMessage
        | Cause::OpenIncident => IconName::Warning,
    }
}

/// Why a row needs a person.
pub fn cause_flag(cause: Cause) -> AnyView {
    let word = match cause {
        Cause::UnknownOutcome => "outcome unknown",
        Cause::StuckLease => "lease stuck",
        Cause::PayloadConflict => "payload conflict",
        Cause::OpenIncident => "incident open",
        Cause::ApprovalMine => "waits for me",
        Cause::ApprovalOthers => "waits for approval",
        Cause::StuckCompensation => "undo failed",
        Cause::BlockedWorkflow => "workflow blocked",
        Cause::DeadEvent => "event dead",
        Cause::UntakenMessage => "not taken in",
    };
    flag(cause_icon(cause), word).into_any()
}
