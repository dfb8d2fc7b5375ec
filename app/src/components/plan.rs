//! How something is undone: the plan before it runs, the true state of each undo while it does. Never
//! *all undone* unless each undo happened; what cannot be undone says so.

use domain::{
    action::Verb,
    compensation::CompensationState,
    operation::Status,
    view::{CompensationPlan, PlannedUndo, UndoView},
};
use leptos::prelude::*;

use super::{amount::Amount, mark::MarkBadge, slice::Slice, state_badge::StateBadge};

/// The plan in sentences: what is undone, what is not, what nobody knows.
#[must_use]
pub fn tally(plan: &CompensationPlan) -> Vec<String> {
    let undos = || plan.undone.iter().filter_map(|planned| planned.undo.as_ref());
    let count = |state| undos().filter(|undo| undo.status == state).count();
    let unknown = undos().filter(|undo| undo.undo_status == Some(Status::Unknown)).count();
    let under_way = undos()
        .filter(|undo| undo.undo_status != Some(Status::Unknown))
        .filter(|undo| {
            matches!(undo.status, CompensationState::Requested | CompensationState::Running)
        })
        .count();
    let stays = plan.undone.iter().filter(|planned| planned.cannot.is_some()).count();
    let left =
        plan.undone.iter().filter(|planned| planned.undo.is_none() && planned.cannot.is_none());
    let sentence = |number: usize, one: &str, many: &str| match number {
        0 => None,
        1 => Some(one.to_owned()),
        n => Some(format!("{n} {many}")),
    };
    [
        sentence(count(CompensationState::Compensated), "One was undone.", "were undone."),
        sentence(
            under_way,
            "One is being undone; whether that succeeds is not known yet.",
            "are being undone; whether that succeeds is not known yet.",
        ),
        sentence(
            unknown,
            "Whether one was undone is not known.",
            "have an undo whose outcome is not known.",
        ),
        sentence(
            count(CompensationState::Failed),
            "The undo of one failed: it stays done for now.",
            "have an undo that failed: they stay done for now.",
        ),
        sentence(
            count(CompensationState::AcceptedUndoneNot),
            "One stays done, by a person\u{2019}s decision.",
            "stay done, by a person\u{2019}s decision.",
        ),
        sentence(stays, "One cannot be undone and stays done.", "cannot be undone and stay done."),
        sentence(left.count(), "One is not undone yet.", "are not undone yet."),
        sentence(
            plan.awaited.len(),
            "The outcome of one is waited for first.",
            "have an outcome that is waited for first.",
        ),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether something happened and nothing of it can be undone: to undo it is to leave it as it is.
#[must_use]
pub fn nothing_can_be_undone(plan: &CompensationPlan) -> bool {
    let stays = |planned: &PlannedUndo| planned.cannot.is_some() && planned.undo.is_none();
    plan.awaited.is_empty() && !plan.undone.is_empty() && plan.undone.iter().all(stays)
}

/// How many rows a plan has.
#[must_use]
pub const fn length(plan: &CompensationPlan) -> usize {
    plan.awaited.len() + plan.undone.len()
}

/// The plan as a list in the order in which things are undone.
#[must_use]
pub fn plan_list(plan: &CompensationPlan) -> AnyView {
    plan_piece(plan, None)
}

/// The same without what can be decided, for a page that offers it elsewhere.
#[must_use]
pub fn plan_states(plan: &CompensationPlan) -> AnyView {
    listed(plan, None, false)
}

/// A piece of a long plan: what is awaited first, then what is undone. See [`length`].
#[must_use]
pub fn plan_piece(plan: &CompensationPlan, piece: Option<&Slice>) -> AnyView {
    listed(plan, piece, true)
}

fn listed(plan: &CompensationPlan, piece: Option<&Slice>, decisions: bool) -> AnyView {
    if plan.awaited.is_empty() && plan.undone.is_empty() {
        return view! { <p class="prose">"Nothing has happened that would be undone."</p> }
            .into_any();
    }
    let awaited = plan.awaited.iter().map(|planned| (planned, "waited for first"));
    let all: Vec<_> = awaited.chain(plan.undone.iter().map(|planned| (planned, ""))).collect();
    let shown = piece.map_or(all.as_slice(), |piece| piece.of(&all));
    // One page of a long plan too knows the whole of it.
    let left = plan.something_left();
    let ways_of = |planned: &PlannedUndo| match &planned.undo {
        Some(undo) if decisions => ways(undo, planned.step_key.is_some().then_some(left)),
        _ => Vec::new(),
    };
    let shown =
        shown.iter().map(|(planned, note)| row(planned, note, ways_of(planned))).collect_view();
    let partial = plan.partial.then(|| {
        let words = if nothing_can_be_undone(plan) {
            "Nothing of it can be undone: all of it stays done."
        } else {
            "Some of it stays done: this is no plan by which all is undone."
        };
        view! { <p class="field-help">{words}</p> }
    });
    view! {
        {partial}
        <ol class="plan">{shown}</ol>
        {piece.map(Slice::ways)}
    }
    .into_any()
}

fn row(planned: &PlannedUndo, note: &'static str, ways: Vec<Way>) -> AnyView {
    let name = planned.step_key.clone().unwrap_or_else(|| planned.operation.clone());
    let undo = match (&planned.undo, &planned.cannot, &planned.undo_kind) {
        (Some(undo), ..) => undo_state(undo, ways),
        (None, Some(cannot), _) => {
            // Of what is awaited it is not known that it was done.
            let stays =
                if note.is_empty() { "stays done" } else { "waited for first; done, it stays" };
            view! { <span class="plan-cannot">{format!("{stays}: {cannot}")}</span> }.into_any()
        }
        (None, None, Some(kind)) if note.is_empty() => {
            view! { <span class="cell-sub">{format!("would be undone by {kind}")}</span> }
                .into_any()
        }
        _ => view! { <span class="cell-sub">{note}</span> }.into_any(),
    };
    view! {
        <li class="plan-step">
            <span class="plan-what">
                <StateBadge status=planned.status/>
                <a href=format!("/operations/{}", planned.operation_id)>{name}</a>
                <Amount amount=planned.amount.clone()/>
            </span>
            <span class="plan-undo">{undo}</span>
        </li>
    }
    .into_any()
}

/// A decision about an undo, and what its button says.
pub type Way = (Verb, &'static str);

/// What can be decided about an undo that does not go on by itself, the sensible one first. Of a step,
/// `left` says whether anything else of its workflow is left to undo.
///
/// Passing a failed undo is offered only where something goes on by it: with nothing left it would close
/// the workflow, and accepting says that better. An unknown one may have no other end.
#[must_use]
pub fn ways(undo: &UndoView, left: Option<bool>) -> Vec<Way> {
    let mut ways = Vec::new();
    let failed = undo.status == CompensationState::Failed;
    if failed {
        ways.push((Verb::Retry, "Try the undo again"));
        ways.push((Verb::Accept, "Accept: it stays done"));
    }
    if !undo.passed {
        match left {
            Some(true) if failed || undo.needs_person => {
                ways.push((Verb::Continue, "Go on without it"));
            }
            Some(false) if undo.needs_person && !failed => ways.push((Verb::Continue, CLOSE)),
            _ => {}
        }
    }
    ways
}

/// What passing an unknown undo does where nothing else is left to undo.
pub const CLOSE: &str = "Close it: this undo stays unknown";

fn undo_state(undo: &UndoView, ways: Vec<Way>) -> AnyView {
    // Unknown is called unknown: the link alone would say that it is under way.
    let state = match undo.undo_status {
        Some(Status::Unknown) => view! { <StateBadge status=Status::Unknown/> }.into_any(),
        _ => view! { <MarkBadge mark=undo.status/> }.into_any(),
    };
    let operation = undo.undo_id.map(|id| {
        view! { <a href=format!("/operations/{id}")>{format!("undo, try {}", undo.n)}</a> }
    });
    let passed = undo.passed.then_some("passed by name: nothing waits for it");
    let actions: Vec<_> = ways
        .into_iter()
        .map(|(verb, word)| {
            let href = format!("/compensations/{}/{verb}?version={}", undo.id, undo.version);
            view! { <a class="button" href=href>{word}</a> }
        })
        .collect();
    view! {
        {state}
        {operation}
        {undo.amount.clone().map(|amount| view! { <Amount amount=Some(amount)/> })}
        {passed}
        {actions}
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::{
        compensation::Effect,
        ids::{CompensationId, OperationId},
    };

    use super::*;

    fn planned(status: CompensationState, undo: Option<Status>) -> PlannedUndo {
        PlannedUndo {
            step_key: Some("charge".into()),
            operation_id: OperationId::new(uuid::Uuid::from_u128(1)),
            operation: "invoice.charge".into(),
            status: Status::Succeeded,
            effect: Effect::Happened,
            amount: None,
            external_reference: None,
            undo_kind: Some("invoice.refund".into()),
            cannot: None,
            undo: Some(UndoView {
                id: CompensationId::new(uuid::Uuid::from_u128(2)),
                status,
                version: 1,
                n: 1,
                amount: None,
                undo_id: None,
                undo_status: undo,
                needs_person: false,
                passed: false,
            }),
        }
    }

    fn stuck(status: CompensationState, undo: Status) -> PlannedUndo {
        let mut planned = planned(status, Some(undo));
        if let Some(undo) = &mut planned.undo {
            undo.needs_person = undo.undo_status == Some(Status::Unknown);
        }
        planned
    }

    fn offered(planned: &PlannedUndo, rest: Vec<PlannedUndo>) -> Vec<&'static str> {
        let undone = std::iter::once(planned.clone()).chain(rest).collect();
        let plan = CompensationPlan { awaited: Vec::new(), undone, partial: true };
        let undo = planned.undo.as_ref().unwrap();
        ways(undo, Some(plan.something_left())).into_iter().map(|(_, word)| word).collect()
    }

    #[test]
    fn going_on_without_a_failed_undo_is_offered_only_where_something_goes_on() {
        let failed = stuck(CompensationState::Failed, Status::FailedTerminal);
        let alone = ["Try the undo again", "Accept: it stays done"];
        assert_eq!(offered(&failed, Vec::new()), alone);
        let over = planned(CompensationState::Compensated, Some(Status::Succeeded));
        let stays =
            PlannedUndo { cannot: Some("nothing undoes it".into()), undo: None, ..over.clone() };
        assert_eq!(offered(&failed, vec![over, stays]), alone, "none of these goes on");
        let open = PlannedUndo { undo: None, ..failed.clone() };
        let asked = planned(CompensationState::Requested, None);
        for left in [open, asked] {
            assert_eq!(offered(&failed, vec![left])[2..], ["Go on without it"]);
        }
        let undo = failed.undo.as_ref().unwrap();
        assert_eq!(ways(undo, None).len(), 2, "an undo by itself has no workflow that goes on");
    }

    #[test]
    fn an_unknown_undo_can_always_be_left_and_the_button_says_what_becomes_of_it() {
        let unknown = stuck(CompensationState::Running, Status::Unknown);
        assert_eq!(offered(&unknown, Vec::new()), [CLOSE]);
        let open = PlannedUndo { undo: None, ..unknown.clone() };
        assert_eq!(offered(&unknown, vec![open]), ["Go on without it"]);
        let mut passed = unknown;
        passed.undo.as_mut().unwrap().passed = true;
        assert!(offered(&passed, Vec::new()).is_empty(), "that was decided");
    }

    #[test]
    fn an_undo_that_nobody_knows_of_is_never_counted_as_done_or_failed() {
        let plan = CompensationPlan {
            awaited: Vec::new(),
            undone: vec![
                planned(CompensationState::Compensated, Some(Status::Succeeded)),
                planned(CompensationState::Running, Some(Status::Unknown)),
            ],
            partial: false,
        };
        assert_eq!(tally(&plan), ["One was undone.", "Whether one was undone is not known."]);
    }

    #[test]
    fn a_plan_in_which_all_stays_done_is_told_from_one_that_undoes_something() {
        let stays = PlannedUndo {
            cannot: Some("its kind names no undo".into()),
            undo: None,
            ..planned(CompensationState::Requested, None)
        };
        let plan = |undone| CompensationPlan { awaited: Vec::new(), undone, partial: true };
        assert!(nothing_can_be_undone(&plan(vec![stays.clone()])));
        assert!(!nothing_can_be_undone(&plan(Vec::new())), "nothing happened");
        let undone = planned(CompensationState::Requested, None);
        assert!(!nothing_can_be_undone(&plan(vec![stays.clone(), undone.clone()])));
        let waits = CompensationPlan { awaited: vec![undone], ..plan(vec![stays]) };
        assert!(!nothing_can_be_undone(&waits), "what is waited for may yet be undone");
    }
}
