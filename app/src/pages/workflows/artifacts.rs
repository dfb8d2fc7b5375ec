//! What steps brought forth: the first few beside each step, all of one step in pieces. The bytes come as
//! a download, masked by the rules of the step's kind.

use domain::{
    access::Permission,
    action::{Subject, TargetType},
    view::{ArtifactName, ArtifactView, StepView, WorkflowDetail},
};
use leptos::prelude::*;

use crate::{
    api::{records::permits, reveal::form},
    components::{notice::held_by, part::Part, slice::Slice},
    location::{href, pairs, value},
};

/// Artifacts that stand beside their step: a step may bring forth a hundred.
const BESIDE: usize = 4;
/// Artifacts of one step that the page shows at a time.
const PIECE: usize = 20;
/// The part of the address that names the step whose artifacts are asked for, and the one that says from
/// which on.
const STEP: &str = "artifacts";
const FROM: &str = "artifact";

/// The step whose artifacts the query of a page asks for.
#[must_use]
pub fn asked_step(query: &str) -> Option<String> {
    value(query, STEP)
}

/// The first artifacts of a step, with the way to the others.
#[must_use]
pub fn first_artifacts(detail: &WorkflowDetail, step: &StepView, query: &str) -> Option<AnyView> {
    if step.artifacts.is_empty() {
        return None;
    }
    let items = items(detail, step, step.artifacts.get(..BESIDE).unwrap_or(&step.artifacts));
    let more = (step.artifacts.len() > BESIDE).then(|| {
        let kept = pairs(query);
        let kept = kept.iter().filter(|(name, _)| name != STEP && name != FROM);
        let kept = kept.map(|(name, value)| (name.as_str(), value.as_str()));
        let path = format!("/workflows/{}", detail.row.id);
        let way = href(&path, kept.chain([(STEP, step.step_key.as_str())]));
        view! { <li><a href=format!("{way}#{FROM}")>"All that this step brought forth"</a></li> }
    });
    let list = view! {
        <ul class="waterfall-artifacts" aria-label="Artifacts">
            {items} {more} {lacks(detail, step)}
        </ul>
    };
    Some(list.into_any())
}

/// All artifacts of the step that the query asks for, in pieces.
#[must_use]
pub fn asked_artifacts(detail: &WorkflowDetail, query: &str) -> Option<AnyView> {
    let asked = asked_step(query)?;
    let step = detail.steps.iter().find(|step| step.step_key == asked)?;
    let path = format!("/workflows/{}", detail.row.id);
    let count = step.artifacts.len();
    let piece = Slice::asked((&path, query), FROM, PIECE, count);
    let items = items(detail, step, piece.of(&step.artifacts));
    let list = view! {
        <ul class="waterfall-artifacts" aria-labelledby=FROM>{items} {lacks(detail, step)}</ul>
    }
    .into_any();
    let ways = piece.ways();
    let part = view! {
        <Part id=FROM title="What one step brought forth" count>
            <p class="body-view-caption">"Step " {asked}</p>
            {list}
            {ways}
        </Part>
    };
    Some(part.into_any())
}

fn masks(detail: &WorkflowDetail, step: &StepView) -> bool {
    step.operation.as_ref().is_some_and(|kind| detail.masking.contains(kind))
}

fn may_reveal() -> bool {
    permits(Permission::Reveal).unwrap_or_default()
}

fn lacks(detail: &WorkflowDetail, step: &StepView) -> Option<AnyView> {
    if !masks(detail, step) || may_reveal() {
        return None;
    }
    let why = format!(
        "Masked fields stay masked in the downloads: your role lacks the right to {}. {}",
        Permission::Reveal.label(),
        held_by(Permission::Reveal)
    );
    Some(view! { <li class="cell-sub">{why}</li> }.into_any())
}

fn items(detail: &WorkflowDetail, step: &StepView, shown: &[ArtifactView]) -> AnyView {
    let reveals = masks(detail, step) && may_reveal();
    let target = Subject::new(TargetType::Workflow, detail.row.id.to_string());
    shown
        .iter()
        .map(|artifact| {
            let size = format!("{}, {} bytes", artifact.content_type, artifact.size);
            let name = artifact.name.clone();
            let name = if artifact.expired {
                view! { <span>{name} " (expired)"</span> }.into_any()
            } else {
                let parts = [("step", step.step_key.as_str()), ("name", name.as_str())];
                let href = href(&format!("/workflows/{}/artifact", detail.row.id), parts);
                view! { <a href=href download="">{name}</a> }.into_any()
            };
            let reveal = (reveals && !artifact.expired).then(|| {
                let named =
                    ArtifactName { step: step.step_key.clone(), name: artifact.name.clone() };
                view! { " " <a href=form(&target, Some(&named))>"Reveal"</a> }
            });
            view! {
                <li title=artifact.sha256.clone()>
                    {name} " " <span class="cell-sub">{size}</span> {reveal}
                </li>
            }
        })
        .collect_view()
        .into_any()
}
