//! `/compensations/{id}/{verb}`: the form of a decision about an undo that does not go on by itself. An
//! undo has no page of its own: it stands on the page of what it undoes.

use domain::{
    action::{TargetType, Verb},
    compensation::CompensationState,
    operation::Status,
    record::{RecordName, RecordType},
    view::{CompensationPlan, UndoDetail},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::record::{About, Words, decision_page, record_page};
use crate::{
    api::records::undo,
    components::{
        gather_link::gather_link,
        mark::{Mark, MarkBadge},
        part::Part,
        plan::plan_list,
        related::related,
        verdict_band::{Standing, VerdictBand},
    },
};

/// The form.
#[component]
pub fn UndoFormPage() -> impl IntoView {
    let about = |detail: &UndoDetail, _: Verb| About {
        version: detail.planned.undo.as_ref().map_or(0, |undo| undo.version),
        mark: mark(detail),
        kind: format!("undo of {}", detail.planned.operation),
        key: called(detail),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {plan_list(&alone(detail))}
        }
        .into_any(),
        fields: None,
        words: None,
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
        let state = plan_list(&alone(&detail));
        let forward = detail.forward.clone().map(|forward| {
            related("undoes", "What it undoes", vec![forward])
        });
        let gather = detail.planned.undo.as_ref().map(|undo| {
            gather_link(RecordName::new(RecordType::Compensation, undo.id.uuid()))
        });
        view! {
            <article class="detail">
                <header class="detail-head">
                    <div class="detail-name">
                        <p class="detail-kind">
                            <MarkBadge mark=mark(&detail)/>
                            <span>{format!("undo of {}", detail.planned.operation)}</span>
                        </p>
                        <h1 class="detail-key">{format!("Undo of {}", called(&detail))}</h1>
                    </div>
                    <div class="detail-actions">{gather}</div>
                </header>
                <VerdictBand verdict/>
                {forward}
                <Part id="state" title="Its state">{state}</Part>
            </article>
        }
        .into_any()
    })}
    }
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
    stands(detail).grounds(tried.map(|(undo, ended)| format!("Try {}: {ended}", undo.n)))
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
        (CompensationState::Failed, _) => Standing::person(
            "The undo failed for good: what it should undo stays done until somebody decides.",
        ),
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
