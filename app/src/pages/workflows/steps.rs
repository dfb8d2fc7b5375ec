//! The steps of a workflow as a list that reads without the drawing, each with its place on one axis of
//! time beside it: a waterfall whose rows are the list's own.

use chrono::{DateTime, Utc};
use domain::{
    view::{StepView, WorkflowDetail},
    workflow::{StepState, WorkflowState},
};
use leptos::prelude::*;

use super::artifacts::first_artifacts;
use crate::{
    components::{
        mark::{Mark, MarkBadge},
        slice::Slice,
        timestamp::Timestamp,
    },
    text,
};

/// The waterfall; `query` is the page's own.
#[must_use]
pub fn waterfall(detail: &WorkflowDetail, piece: &Slice, query: &str) -> AnyView {
    let from = detail.row.created_at;
    // What does not go on by itself ends where it last moved, or the drawing would show its waiting.
    let goes_on = matches!(
        detail.row.status,
        WorkflowState::Running | WorkflowState::Waiting | WorkflowState::Compensating
    );
    let stopped = detail.row.completed_at.unwrap_or(detail.row.updated_at);
    let to = if goes_on { detail.as_of } else { stopped };
    let shown = piece.of(&detail.steps);
    let rows = shown.iter().map(|step| row(step, detail, (from, to), query)).collect_view();
    let start = piece.from() + 1;
    view! {
        <p class="body-view-caption">
            "from " <Timestamp at=from/> " to " <Timestamp at=to/>
        </p>
        <ol class="waterfall" start=start>{rows}</ol>
        {piece.ways()}
    }
    .into_any()
}

fn row(
    step: &StepView,
    detail: &WorkflowDetail,
    (from, to): (DateTime<Utc>, DateTime<Utc>),
    query: &str,
) -> AnyView {
    let mark = Mark::from(step.status);
    let name = match step.operation_id {
        Some(id) => {
            view! { <a href=format!("/operations/{id}")>{step.step_key.clone()}</a> }.into_any()
        }
        None => view! { <span>{step.step_key.clone()}</span> }.into_any(),
    };
    let what = step.operation.clone().unwrap_or_else(|| "decision".to_owned());
    let took = match (step.started_at, step.completed_at) {
        (Some(started), Some(completed)) => text::length((completed - started).num_milliseconds()),
        (Some(started), None) => {
            format!("since {}", text::length((detail.as_of - started).num_milliseconds()))
        }
        (None, _) if step.status == StepState::Pending && !step.after.is_empty() => {
            format!("after {}", step.after.join(", "))
        }
        (None, _) => String::new(),
    };
    let bar = step.started_at.map(|started| {
        let (left, width) = place(started, step.completed_at.unwrap_or(to), from, to);
        view! {
            <rect class="chart-bar" data-status=mark.like.as_str() x=left y="0" width=width height="8"></rect>
        }
    });
    let artifacts = first_artifacts(detail, step, query);
    let calls = calls(detail, step);
    view! {
        <li class="waterfall-step" id=format!("step-{}", step.step_key)>
            <span class="waterfall-state"><MarkBadge mark/></span>
            <span class="waterfall-name">{name} <span class="cell-sub">{what} {calls}</span></span>
            <svg class="waterfall-bar" viewBox="0 0 1000 8" preserveAspectRatio="none" aria-hidden="true">
                {bar}
            </svg>
            <span class="waterfall-took cell-sub">{took}</span>
            {artifacts}
        </li>
    }
    .into_any()
}

/// How often its operation was called, where that says something: a second call is a story.
fn calls(detail: &WorkflowDetail, step: &StepView) -> Option<String> {
    let call = detail.calls.iter().find(|call| call.step_key == step.step_key)?;
    (call.attempt > 1).then(|| format!(" \u{b7} {} calls", call.attempt))
}

/// Left end and width on an axis of a thousand; what took no time is still seen.
fn place(
    started: DateTime<Utc>,
    ended: DateTime<Utc>,
    from: DateTime<Utc>,
    to: DateTime<Utc>,
) -> (String, String) {
    let whole = (to - from).num_milliseconds().max(1);
    let at = |instant: DateTime<Utc>| {
        (instant - from).num_milliseconds().clamp(0, whole) * 1_000 / whole
    };
    let left = at(started).min(994);
    let width = (at(ended) - left).max(6);
    (left.to_string(), width.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_of_no_time_is_seen_and_one_that_goes_on_reaches_to_now() {
        let at = |second| DateTime::from_timestamp(second, 0).unwrap();
        assert_eq!(place(at(10), at(10), at(0), at(100)), ("100".into(), "6".into()));
        assert_eq!(place(at(50), at(100), at(0), at(100)), ("500".into(), "500".into()));
        assert_eq!(place(at(100), at(100), at(0), at(100)), ("994".into(), "6".into()));
    }
}
