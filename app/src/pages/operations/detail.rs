//! `/operations/{id}`: what is known about one operation, the verdict first.

use domain::{ids::OperationId, view::CompensationPlan};
use leptos::prelude::*;
use leptos_meta::Title;

use super::sections::{
    Banners, Conflicts, Evidence, FactsColumn, Head, Incidents, Notes, Payload, Response,
};
use crate::{
    api::{
        found::Found,
        operations::{OperationPage, operation},
        reading::Reading,
        records::plan,
        refused::RefusedForm,
    },
    components::{
        audit::Audit,
        part::Part,
        plan::plan_list,
        timeline::{Timeline, axis::Axis},
        verdict_band::VerdictBand,
    },
    error::ConsoleError,
    pages::{
        address::{query, record_id},
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of an operation.
#[component]
pub fn DetailPage() -> impl IntoView {
    let id = record_id();
    let refused = RefusedForm::from_query(&query());
    let page = Reading::new(move || load(id));
    let undoing = Reading::new(move || async move {
        match id {
            Some(id) => plan(id).await.ok(),
            None => None,
        }
    });
    let content = Suspend::new(async move {
        let plan = undoing.await;
        match page.await {
            Ok(Found::Here(page)) => view! { <Shown page plan refused/> }.into_any(),
            Ok(Found::Elsewhere(tenant)) => view! { <InAnotherTenant tenant/> }.into_any(),
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Operation · Onceover"/>
        {content}
    }
}

async fn load(id: Option<OperationId>) -> Result<Found<OperationPage>, ConsoleError> {
    match id {
        Some(id) => operation(id).await,
        None => Err(no_such_record()),
    }
}

#[component]
fn Shown(
    page: OperationPage,
    plan: Option<CompensationPlan>,
    refused: Option<RefusedForm>,
) -> impl IntoView {
    let OperationPage { detail, form_key, may_note } = page;
    let ended = detail.row.status.is_final();
    let now = (!ended).then_some(detail.as_of);
    let count = detail.timeline.len();
    // Before anybody asks for it, how it would be undone stands on the form.
    let asked_for = plan.filter(|plan| {
        plan.awaited.iter().chain(&plan.undone).any(|planned| planned.undo.is_some())
    });
    let undo = asked_for.map(|plan| {
        let list = plan_list(&plan);
        view! { <Part id="undo" title="Its undo">{list}</Part> }.into_any()
    });
    let story = view! {
        <Axis items=&detail.timeline now/>
        <Timeline items=&detail.timeline as_of=detail.as_of ended/>
    }
    .into_any();
    view! {
        <article class="detail">
            <Head detail=&detail/>
            <Banners detail=&detail/>
            <VerdictBand verdict=detail.verdict.clone()/>
            <div class="detail-columns">
                <div class="detail-story">
                    <Part id="timeline" title="Timeline" count>
                        {story}
                    </Part>
                    {undo}
                    <Incidents incidents=detail.incidents.clone()/>
                    <Conflicts
                        conflicts=detail.conflicts.clone()
                        amount=detail.row.amount.clone()
                        as_of=detail.as_of
                    />
                    <Evidence evidence=detail.evidence.clone() fence=detail.row.lease.fence/>
                    <Payload payload=detail.payload.clone()/>
                    <Response response=detail.response.clone()/>
                    <Notes
                        id=detail.row.id
                        notes=detail.notes.clone()
                        taken_by=detail.row.taken_by.clone()
                        form_key
                        may_note
                        refused
                    />
                    <Audit audit=detail.audit.clone()/>
                </div>
                <FactsColumn detail=&detail/>
            </div>
        </article>
    }
    .into_any()
}
