//! `/workflows/{id}`: one workflow, its steps, where it resumes, how it is undone; and the forms of what
//! can be decided about it.

use domain::{
    action::{Subject, TargetType, Verb},
    view::{CompensationPlan, MoveView, WorkflowDetail, WorkflowMove},
    workflow::{StepState, WorkflowState},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    artifacts::{asked_artifacts, asked_step},
    steps::waterfall,
    words::{self, sentence, standing},
};
use crate::{
    api::{
        notes::{Noted, workflow_page},
        records::workflow,
        refused::RefusedForm,
    },
    components::{
        audit::Audit,
        facts::{fact, fact_at, fact_key},
        icon::IconName,
        mark::Mark,
        moves::{Moves, Told},
        notes::Notes,
        part::Part,
        plan::{length, nothing_can_be_undone, plan_piece},
        record_head::{Offered, RecordHead},
        slice::Slice,
        timestamp::Timestamp,
        verdict_band::VerdictBand,
        waits::waits,
    },
    pages::{
        address::query,
        record::{About, decision_page, record_page},
    },
};

/// What one page shows of each part, so that it stays far below its bound however long a workflow is.
const STEPS: usize = 40;
const UNDOS: usize = 30;
const MOVES: usize = 25;

/// The page of a workflow.
#[component]
pub fn DetailPage() -> impl IntoView {
    let query = query();
    let step = asked_step(&query);
    view! {
        <Title text="Workflow · Onceover"/>
        {record_page(
            move |id| workflow_page(id, step.clone()),
            move |page| shown(page, &query),
        )}
    }
}

/// The form of a decision about a workflow.
#[component]
pub fn FormPage() -> impl IntoView {
    let about = |detail: &WorkflowDetail, verb: Verb| About {
        version: detail.row.version,
        mark: detail.row.status.into(),
        kind: detail.row.kind.clone(),
        key: detail.row.key.clone(),
        actions: detail.actions.clone(),
        known: view! {
            <VerdictBand verdict=standing(detail)/>
            {(verb != Verb::Resume).then(|| view! {
                <section class="section" aria-labelledby="plan">
                    <h2 class="section-title" id="plan">{plan_title(&detail.plan)}</h2>
                    {begins(detail)}
                </section>
            })}
            {waits(&detail.approvals)}
        }
        .into_any(),
        moves: detail.timeline.iter().filter(|step| step.step_key.is_none()).map(told).collect(),
        fields: None,
        words: words::decision_by(detail, verb),
    };
    decision_page(TargetType::Workflow, workflow, about, words::decision)
}

/// The heading of a plan that has not begun.
fn plan_title(plan: &CompensationPlan) -> &'static str {
    if nothing_can_be_undone(plan) {
        "What stays done: nothing of it can be undone"
    } else {
        "What would be undone, in this order"
    }
}

/// The beginning of the plan, with the way to the rest of it on the workflow's page.
fn begins(detail: &WorkflowDetail) -> AnyView {
    let path = format!("/workflows/{}", detail.row.id);
    let piece = Slice::asked((&path, ""), "plan", UNDOS, length(&detail.plan));
    plan_piece(&detail.plan, Some(&piece))
}

fn shown(page: Noted<WorkflowDetail>, query: &str) -> AnyView {
    let Noted { record, notes } = page;
    let (detail, refused) = (&record, RefusedForm::from_query(query));
    let row = &detail.row;
    let path = format!("/workflows/{}", row.id);
    let piece = |name, size, total| Slice::asked((&path, query), name, size, total);
    let sub = view! {
        {format!("definition v{} \u{b7} version {} as of ", row.definition_version, row.version)}
        <Timestamp at=detail.as_of/>
    }
    .into_any();
    let actions = detail
        .actions
        .iter()
        .map(|offer| Offered {
            offer: offer.clone(),
            label: words::offer_by(&detail.plan, offer.verb).to_owned(),
            why: None,
        })
        .collect();
    let on_page = words::resumes_in_vain(detail);
    let (moves, older) = (detail.timeline.len(), detail.timeline_older);
    let moved = piece("timeline", MOVES, moves);
    let told: Vec<_> = moved.of(&detail.timeline).iter().map(told).collect();
    let subject = Subject::new(TargetType::Workflow, row.id.to_string());
    let (kind, key) = (row.kind.clone(), row.key.clone());
    let undone = !detail.plan.awaited.is_empty() || !detail.plan.undone.is_empty();
    let title = match row.status {
        WorkflowState::Compensating
        | WorkflowState::CompensationStuck
        | WorkflowState::Compensated
        | WorkflowState::ClosedPartial => "What is undone, and what is not",
        _ => plan_title(&detail.plan),
    };
    let plan = plan_piece(&detail.plan, Some(&piece("plan", UNDOS, length(&detail.plan))));
    let plan = undone.then(|| view! { <Part id="plan" title>{plan}</Part> }.into_any());
    let count = detail.steps.len();
    let steps = waterfall(detail, &piece("steps", STEPS, count), query);
    let artifacts = asked_artifacts(detail, query);
    let waiting = waits(&detail.approvals);
    // Only the last piece of one that is not over reaches to now.
    let last = moved.from() + told.len() >= moves;
    let now = (last && row.completed_at.is_none()).then_some(detail.as_of);
    let story = view! { <Moves told piece=&moved now/> }.into_any();
    view! {
        <article class="detail">
            <RecordHead subject=&subject mark=row.status kind key sub version=row.version actions on_page/>
            {waiting}
            <VerdictBand verdict=standing(detail)/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="steps" title="Steps" count>
                        {steps}
                    </Part>
                    {artifacts}
                    {plan}
                    <Part id="timeline" title="Timeline" count=moves older>
                        {story}
                    </Part>
                    <Notes notes refused place=(&path, query)/>
                    <Audit audit=&detail.audit place=&path query/>
                </div>
                {facts(detail)}
            </div>
        </article>
    }
    .into_any()
}

fn told(step: &WorkflowMove) -> Told {
    let mark: Option<Mark> = match step.step_key {
        Some(_) => step.to.parse::<StepState>().ok().map(Into::into),
        None => step.to.parse::<WorkflowState>().ok().map(Into::into),
    };
    Told {
        anchor: format!("m{}", step.id),
        sentence: sentence(step),
        icon: mark.map_or(IconName::Info, |mark| mark.icon),
        status: mark.map(|mark| mark.like.as_str()),
        step: MoveView {
            at: step.at,
            rule: step.rule.clone(),
            from: step.from.clone(),
            to: step.to.clone(),
            version: step.version,
            by_person: step.by_person,
            actor: step.actor.clone(),
            detail: step.detail.clone(),
        },
        of: None,
        receipt: None,
    }
}

fn facts(detail: &WorkflowDetail) -> AnyView {
    let row = &detail.row;
    let input = match detail.input_bytes {
        Some(bytes) => format!("{bytes} bytes, shown in its steps\u{2019} payloads alone"),
        None => "expired".to_owned(),
    };
    let facts = [
        Some(fact_key("Id", row.id.to_string())),
        Some(fact("Workflow", row.kind.clone())),
        Some(fact("Definition", format!("version {}", row.definition_version))),
        Some(fact("Started by", detail.created_by.clone())),
        Some(fact("Input", input)),
        detail.owner.clone().map(|owner| fact("Last executor", owner)),
        Some(fact("Executors so far", detail.fence.to_string())),
        detail.cancel_asked.then(|| fact("Cancelled", "asked for")),
        row.cause.clone().map(|cause| fact("Cause", cause.replace('_', " "))),
        fact_at("Started", Some(row.created_at)),
        fact_at("Updated", Some(row.updated_at)),
        fact_at("Over", row.completed_at),
    ];
    view! {
        <div class="detail-facts" role="region" aria-label="Facts" tabindex="0">
            <h2 class="facts-title">"Workflow"</h2>
            <dl class="facts">{facts.into_iter().flatten().collect_view()}</dl>
        </div>
    }
    .into_any()
}
