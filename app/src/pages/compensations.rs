//! `/compensations/{id}`: one undo, where it stands, what it undoes; and the forms of what can be decided
//! about one that does not go on by itself. What it undoes, and its workflow, show it too.

use domain::{
    action::{Subject, TargetType, Verb},
    compensation::CompensationState,
    operation::Status,
    view::{CompensationPlan, UndoDetail, UndoView},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::record::{About, Words, decision_page, record_page};
use crate::{
    api::records::undo,
    components::{
        mark::Mark,
        part::Part,
        plan::{CLOSE, plan_states, ways},
        record_head::{Offered, RecordHead},
        related::{its_workflow, related},
        verdict_band::{Standing, VerdictBand},
    },
};

/// The form.
#[component]
pub fn UndoFormPage() -> impl IntoView {
    let about = |detail: &UndoDetail, verb: Verb| About {
        version: detail.planned.undo.as_ref().map_or(0, |undo| undo.version),
        mark: mark(detail),
        kind: format!("undo of {}", detail.planned.operation),
        key: called(detail),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {plan_states(&alone(detail))}
        }
        .into_any(),
        moves: Vec::new(),
        fields: None,
        words: (verb == Verb::Continue && detail.workflow.is_some() && !detail.left)
            .then(|| closing(detail)),
    };
    decision_page(TargetType::Compensation, undo, about, words)
}

/// The undo itself: what it undoes, and where it stands.
#[component]
pub fn UndoPage() -> impl IntoView {
    view! {
        <Title text="Undo · Onceover"/>
        {record_page(undo, |detail: UndoDetail| {
        let verdict = standing(&detail);
        let state = plan_states(&alone(&detail));
        let forward = detail.forward.clone().map(|forward| {
            related("undoes", "What it undoes", vec![forward])
        });
        let workflow = detail.workflow.clone().map(its_workflow);
        let head = detail.planned.undo.as_ref().map(|undo| head(&detail, undo));
        view! {
            <article class="detail">
                {head}
                <VerdictBand verdict/>
                {forward}
                {workflow}
                <Part id="state" title="Its state">{state}</Part>
            </article>
        }
        .into_any()
    })}
    }
}

fn head(detail: &UndoDetail, undo: &UndoView) -> AnyView {
    let subject = Subject::new(TargetType::Compensation, undo.id.to_string());
    let sub = format!("version {}", undo.version).into_any();
    view! {
        <RecordHead
            subject=&subject
            mark=mark(detail)
            kind=format!("undo of {}", detail.planned.operation)
            key=called(detail)
            title=format!("Undo of {}", called(detail))
            sub
            version=undo.version
            actions=offered(detail, undo)
        />
    }
    .into_any()
}

/// What can be decided, as on the workflow's page.
fn offered(detail: &UndoDetail, undo: &UndoView) -> Vec<Offered> {
    let left = detail.workflow.as_ref().map(|_| detail.left);
    ways(undo, left)
        .into_iter()
        .filter_map(|(verb, label)| {
            let offer = detail.actions.iter().find(|offer| offer.verb == verb)?.clone();
            Some(Offered { offer, label: label.to_owned(), why: None })
        })
        .collect()
}

/// What is undone, by the key that people know it by.
fn called(detail: &UndoDetail) -> String {
    let key = detail.forward.as_ref().map(|forward| forward.key.clone());
    key.unwrap_or_else(|| detail.planned.operation_id.to_string())
}

fn alone(detail: &UndoDetail) -> CompensationPlan {
    CompensationPlan { awaited: Vec::new(), undone: vec![detail.planned.clone()], partial: false }
}

fn mark(detail: &UndoDetail) -> Mark {
    detail.planned.undo.as_ref().map_or(CompensationState::Requested, |undo| undo.status).into()
}

/// Where it stands, and what is known of its last try.
fn standing(detail: &UndoDetail) -> Standing {
    let tried = detail.planned.undo.as_ref().zip(detail.ended.as_ref());
    stands(detail).grounds(tried.map(|(undo, ended)| told(undo.n, ended)))
}

/// How the verdict of an operation says that the provider refused it.
const REFUSED: &str = "the provider rejected it for good";

/// What became of a try. *For good* holds for its operation alone: the undo can be tried again.
fn told(n: i32, ended: &str) -> String {
    let ended = ended.replace(REFUSED, "the provider refused it");
    match ended.strip_prefix("It ") {
        Some(ended) => format!("Try {n} {ended}"),
        None => format!("Try {n}: {ended}"),
    }
}

fn stands(detail: &UndoDetail) -> Standing {
    let Some(undo) = &detail.planned.undo else {
        return Standing::wait("It has not been asked for.");
    };
    match (undo.status, undo.undo_status) {
        (_, Some(Status::Unknown)) if undo.needs_person => Standing::person(
            "Whether the undo happened is not known, and no machine can find out: confirm the undo\u{2019}s own operation.",
        ),
        (_, Some(Status::Unknown)) => {
            Standing::wait("Whether the undo happened is not known; machines ask its provider.")
        }
        (CompensationState::Failed, _) => {
            let refused = detail.ended.as_ref().is_some_and(|ended| ended.contains(REFUSED));
            let failed = if refused { "The provider refused the undo" } else { "The undo failed" };
            Standing::person(format!(
                "{failed}, and it is not tried again by itself: what it should undo stays done until somebody \
                 decides."
            ))
        }
        (CompensationState::Compensated, _) => Standing::over("Undone: the undo happened."),
        (CompensationState::NotNeeded, _) => Standing::over("There was nothing to undo."),
        (CompensationState::AcceptedUndoneNot, _) => {
            Standing::over("Not undone, by a person\u{2019}s decision: it stays done.")
        }
        (CompensationState::WaitingForward, _) => {
            Standing::wait("Nothing is undone before it is known whether it happened.")
        }
        (CompensationState::Requested | CompensationState::Running, _) => {
            Standing::wait("It is being undone; whether that succeeds is not known yet.")
        }
    }
}

/// Passing an undo beside which nothing is left to undo: nothing goes on by it.
fn closing(detail: &UndoDetail) -> Words {
    let failed = detail.planned.undo.as_ref().map(|undo| undo.status);
    if failed == Some(CompensationState::Failed) {
        return Words::new(
            "Close the workflow without this undo",
            "Close it: this one stays done",
            "Nothing else is left to undo, so that nothing goes on by this: the workflow is closed, unless \
             another undo holds it up. The undo stays failed, and what it should have undone stays done.",
        );
    }
    Words::new(
        "Close the workflow without knowing of this undo",
        CLOSE,
        "Nothing else is left to undo, so that nothing goes on by this: the workflow is closed, unless \
         another undo holds it up. This undo stays unknown until its outcome is found out, and is never \
         called undone.",
    )
}

fn words(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Retry => Some(Words::new(
            "Try the undo again",
            "Try the undo again",
            "The undo is asked for once more, as an operation of its own under a key of its own. Where an \
             earlier try may have paid already, it takes a second person.",
        )),
        Verb::Accept => Some(Words::new(
            "Accept that it stays done",
            "Accept: it stays done",
            "Nothing more is tried for this one: what it should have undone stays done, on the record, under \
             your name. The page never calls it undone.",
        )),
        Verb::Continue => Some(Words::new(
            "Go on without this undo",
            "Go on with the steps before it",
            "The steps before it are undone now, although this one is not. It stays as it is: failed, or \
             unknown until its outcome is found out.",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
