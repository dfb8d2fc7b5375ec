//! What the pages about workflows say: the verdict, the story's sentences, the decisions.
//!
//! Guards against the sentence that nobody may write: that all is undone, unless each undo happened.

use domain::{
    action::Verb,
    compensation::CompensationState,
    json::Json,
    operation::Status,
    told,
    view::{CompensationPlan, PlannedUndo, StepView, WorkflowDetail, WorkflowMove, WorkflowRow},
    workflow::{StepState, WorkflowState},
};

use crate::{
    components::{
        plan::{nothing_can_be_undone, tally},
        verdict_band::Standing,
    },
    pages::record::Words,
    text::capitalised,
};

/// Steps that are named where a workflow resumes; all stand among its steps.
const RESUMES: usize = 5;

/// Where a workflow stands.
#[must_use]
pub fn standing(detail: &WorkflowDetail) -> Standing {
    let row = &detail.row;
    let cause = row.cause.iter().map(|cause| format!("Cause: {}.", cause.replace('_', " ")));
    match row.status {
        WorkflowState::Running => Standing::wait(running(&detail.steps)).grounds(next(detail)),
        WorkflowState::Waiting => waiting(detail),
        WorkflowState::Blocked => Standing::person(
            "It is blocked: it does not go on by itself, and nothing of it is undone by itself.",
        )
        .grounds(cause.chain(next(detail))),
        WorkflowState::Compensating => {
            Standing::wait("What happened is being undone, last step first.")
                .grounds(tally(&detail.plan))
        }
        WorkflowState::CompensationStuck => {
            Standing::person(stuck(&detail.plan)).grounds(tally(&detail.plan))
        }
        WorkflowState::Completed => {
            Standing::over("Completed: every step is over and none failed.")
        }
        WorkflowState::Compensated => {
            Standing::over("Undone: each undo of what had happened succeeded.")
                .grounds(tally(&detail.plan))
        }
        WorkflowState::ClosedPartial => {
            Standing::over("Closed, and some of what happened stays done.")
                .grounds(tally(&detail.plan))
        }
        WorkflowState::Failed => {
            Standing::over("Failed before anything had happened: there is nothing to undo.")
                .grounds(cause)
        }
        WorkflowState::Cancelled => {
            Standing::over("Cancelled before anything had happened: there is nothing to undo.")
        }
    }
}

/// A wait that no machine can end is a person's.
fn waiting(detail: &WorkflowDetail) -> Standing {
    let sentence = format!(
        "It waits: whether {} happened is not known, and nothing else starts before it is.",
        named(&detail.steps, StepState::BlockedUnknown)
    );
    let unknown = detail.calls.iter().find(|call| call.needs_manual);
    match unknown.filter(|call| call.status == Status::Unknown) {
        Some(call) => Standing::person(sentence).grounds([format!(
            "No machine can find out: confirm the outcome of {} on its operation\u{2019}s page.",
            call.step_key
        )]),
        None => Standing::wait(sentence).grounds(["Machines ask its provider.".to_owned()]),
    }
}

/// Which undo holds the rest up, and how it stands; where there is no rest, what stays done.
fn stuck(plan: &CompensationPlan) -> String {
    let holding = plan.undone.iter().filter_map(|planned| {
        let undo = planned.undo.as_ref().filter(|undo| !undo.passed)?;
        let step = planned.step_key.as_ref().unwrap_or(&planned.operation);
        match undo.status {
            CompensationState::Failed => Some((format!("the undo of {step} failed"), planned)),
            _ if undo.needs_person => {
                Some((format!("whether the undo of {step} happened is not known"), planned))
            }
            _ => None,
        }
    });
    let (holding, planned): (Vec<_>, Vec<_>) = holding.unzip();
    let all = capitalised(&holding.join(", and "));
    match (holding.len(), plan.something_left()) {
        (0, true) => "An undo needs a person: the rest waits for a decision about it.".to_owned(),
        (0, false) => "An undo needs a person, and waits for a decision about it.".to_owned(),
        (1, true) => format!("{all}: the rest waits for a decision about it."),
        (_, true) => format!("{all}: the rest waits for a decision about each."),
        (_, false) => format!("{all}: {} until somebody decides.", stays(&planned)),
    }
}

/// What of these stays done, by its amount where each has one.
fn stays(planned: &[&PlannedUndo]) -> String {
    let amounts: Option<Vec<_>> =
        planned.iter().map(|planned| planned.amount.as_ref().map(ToString::to_string)).collect();
    let one = planned.len() == 1;
    let what = match amounts {
        Some(amounts) => amounts.join(" and "),
        None if one => "it".to_owned(),
        None => "they".to_owned(),
    };
    let unknown = planned.iter().any(|planned| {
        planned.undo.as_ref().is_some_and(|undo| undo.status != CompensationState::Failed)
    });
    let stays = match (unknown, one) {
        (true, _) => "may stay done",
        (false, true) => "stays done",
        (false, false) => "stay done",
    };
    format!("{what} {stays}")
}

fn running(steps: &[StepView]) -> String {
    let over = steps.iter().filter(|step| step.completed_at.is_some()).count();
    format!("It runs: {over} of {} steps are over.", steps.len())
}

fn named(steps: &[StepView], state: StepState) -> String {
    let keys: Vec<_> = steps
        .iter()
        .filter(|step| step.status == state)
        .map(|step| step.step_key.as_str())
        .collect();
    if keys.is_empty() { "a step".into() } else { keys.join(", ") }
}

/// Whether it is blocked because its definition says something else than when it was begun.
fn has_drifted(row: &WorkflowRow) -> bool {
    row.status == WorkflowState::Blocked
        && row.cause.as_ref().is_some_and(|cause| cause.starts_with("definition_drift"))
}

/// Whether resuming it here would lead nowhere, as far as the page knows: its definition has changed or is
/// not here.
#[must_use]
pub fn resumes_in_vain(detail: &WorkflowDetail) -> bool {
    let row = &detail.row;
    has_drifted(row) || (row.status == WorkflowState::Blocked && !detail.served_here)
}

/// What resuming a workflow whose definition has changed comes to. The engine holds the steps, and the
/// inputs that the definition makes, against those that the workflow was begun with.
const IN_VAIN: &str = "Resuming is refused, or blocks it again, until the definition has the steps and makes the inputs that \
                       it was begun with";

/// Where it resumes, and who would do it.
fn next(detail: &WorkflowDetail) -> Vec<String> {
    let open = |step: &&StepView| step.completed_at.is_none();
    let ready: Vec<_> = detail
        .steps
        .iter()
        .filter(open)
        .filter(|step| {
            step.after.iter().all(|before| {
                detail
                    .steps
                    .iter()
                    .any(|other| other.step_key == *before && other.completed_at.is_some())
            })
        })
        .map(|step| step.step_key.as_str())
        .collect();
    let rest = ready.len().saturating_sub(RESUMES);
    let named = ready.get(..RESUMES).unwrap_or(&ready).join(", ");
    let more = match rest {
        0 => String::new(),
        1 => " and one more step".to_owned(),
        rest => format!(" and {rest} more steps"),
    };
    let resumes = match (has_drifted(&detail.row), ready.is_empty()) {
        (true, true) => Some(format!("{IN_VAIN}.")),
        (true, false) => Some(format!("{IN_VAIN}; then it resumes at: {named}{more}.")),
        (false, true) => None,
        (false, false) => Some(format!("It resumes at: {named}{more}.")),
    };
    let version = detail.row.definition_version;
    let served = (!detail.served_here)
        .then(|| format!("This server does not have version {version} of its definition."));
    resumes.into_iter().chain(served).collect()
}

/// A move in a sentence.
#[must_use]
pub fn sentence(step: &WorkflowMove) -> String {
    let name = step.step_key.as_deref().unwrap_or_default();
    match step.rule.as_str() {
        "W1" => "Started.".to_owned(),
        "W3" => {
            "A step\u{2019}s outcome is unknown: no other starts before it is resolved.".to_owned()
        }
        "W4" => "The outcome is known: it goes on.".to_owned(),
        "W5" => "Blocked: it no longer fits its definition or its input.".to_owned(),
        "W6" if step.to == "running" => "A person let it go on.".to_owned(),
        "W6" => "A person stopped it: what can be undone is being undone.".to_owned(),
        "W7" => "Completed.".to_owned(),
        "W8" => unwound(step),
        "W9" => "Ended before anything had happened.".to_owned(),
        "W10" => "Each undo succeeded.".to_owned(),
        "W11" => stopped_at(step)
            .unwrap_or_else(|| "The undoing stopped at an undo and needs a person.".to_owned()),
        "W12" if step.to == "closed_partial" => {
            "Closed by a person\u{2019}s decision; some of it stays done.".to_owned()
        }
        "W12" | "W13" => "The undoing goes on.".to_owned(),
        "W14" => "Closed; some of it stays done.".to_owned(),
        rule if !name.is_empty() => told::step(name, rule, &step.to),
        _ => format!("It is {}.", step.to.replace('_', " ")),
    }
}

/// A detail of a move.
fn noted<'a>(step: &'a WorkflowMove, name: &str) -> Option<&'a str> {
    step.detail.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
}

/// Why it is undone. Who cancelled it stands below the sentence, and why among the facts.
fn unwound(step: &WorkflowMove) -> String {
    let why = match noted(step, "cause") {
        Some(cause) if cause.starts_with("cancelled") => "It was cancelled".to_owned(),
        Some(cause) => capitalised(cause),
        None => "A step failed or it was cancelled".to_owned(),
    };
    format!("{why}: what can be undone is being undone.")
}

/// The undo at which the undoing stopped, where the move tells of one.
fn stopped_at(step: &WorkflowMove) -> Option<String> {
    let list = |name| match Json::parse(noted(step, name)?.as_bytes()) {
        Ok(Json::Array(items)) => Some(items),
        _ => None,
    };
    let text =
        |item: &Json, at: &str| item.pointer(at).and_then(Json::scalar_text).map(ToOwned::to_owned);
    // What was passed by name stays done, and holds nothing up.
    let passed = list("stays_done").unwrap_or_default();
    let passed: Vec<_> = passed.iter().filter_map(|item| text(item, "/step_key")).collect();
    let steps = list("steps")?;
    let mut held = steps.iter().filter_map(|item| {
        let key = text(item, "/step_key").filter(|key| !passed.contains(key))?;
        match (text(item, "/undo")?.as_str(), text(item, "/undo_status").as_deref()) {
            ("failed", _) => Some(format!("The undo of {key} failed and needs a person.")),
            ("running", Some("unknown")) => {
                Some(format!("Whether the undo of {key} happened is not known; it needs a person."))
            }
            _ => None,
        }
    });
    let one = held.next()?;
    held.next().is_none().then_some(one)
}

/// What the button of an action says.
#[must_use]
pub const fn offer(verb: Verb) -> &'static str {
    match verb {
        Verb::Resume => "Resume: go on at the first open step",
        Verb::Compensate => "Undo the workflow",
        _ => "Cancel: undo what it did so far",
    }
}

/// The same on a workflow of which nothing can be undone.
const fn offer_without_undo(verb: Verb) -> &'static str {
    match verb {
        Verb::Resume => offer(verb),
        Verb::Compensate => "Close it: what it did stays done",
        _ => "Cancel: what it did stays done",
    }
}

/// What the button of an action says on a workflow with this plan.
#[must_use]
pub fn offer_by(plan: &CompensationPlan, verb: Verb) -> &'static str {
    if nothing_can_be_undone(plan) { offer_without_undo(verb) } else { offer(verb) }
}

/// The words of a decision about a workflow of which nothing can be undone, or whose definition has
/// changed; `None` where the usual ones hold.
#[must_use]
pub fn decision_by(detail: &WorkflowDetail, verb: Verb) -> Option<Words> {
    if verb == Verb::Resume && has_drifted(&detail.row) {
        return Some(Words::new(
            "Resume the workflow",
            offer(verb),
            &format!(
                "{IN_VAIN}. Then it goes on at the first step that is not over: no finished step runs again, and \
                 no decision that was carried out is made anew."
            ),
        ));
    }
    if !nothing_can_be_undone(&detail.plan) {
        return None;
    }
    match verb {
        Verb::Cancel => Some(Words::new(
            "Cancel the workflow",
            offer_without_undo(verb),
            "No further step starts. Nothing of what happened can be undone: no undo runs, and all of it stays \
             done.",
        )),
        Verb::Compensate => Some(Words::new(
            "Close the workflow: nothing of it can be undone",
            offer_without_undo(verb),
            "Nothing of what happened can be undone: no undo runs, all of it stays done, and no further step \
             starts. The workflow is closed, never called undone.",
        )),
        _ => None,
    }
}

/// The words of a decision.
#[must_use]
pub fn decision(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Cancel => Some(Words::new(
            "Cancel the workflow",
            offer(verb),
            "No further step starts. What happened is undone by the plan above, last step first; each undo is \
             an operation of its own that can fail or stay unknown. Nothing is undone before its outcome is \
             known.",
        )),
        Verb::Resume => Some(Words::new(
            "Resume the workflow",
            offer(verb),
            "It goes on at the first step that is not over. No finished step runs again, and no decision that \
             was carried out is made anew.",
        )),
        Verb::Compensate => Some(Words::new(
            "Undo the workflow",
            offer(verb),
            "What happened is undone by the plan above, last step first; each undo is an operation of its own \
             that can fail or stay unknown. What cannot be undone stays done.",
        )),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
