//! `/operations/{id}`: what is known about one operation, the verdict first.

use domain::{
    ids::OperationId,
    lease::LeaseState,
    view::{CompensationPlan, OperationLinks},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::sections::{
    Banners, Conflicts, Evidence, FactsColumn, Head, Incidents, Payload, Response,
};
use crate::{
    api::{
        found::Found,
        notes::NotesOf,
        operations::{OperationPage, Piece, operation_told},
        reading::Reading,
        records::{links, plan},
        refused::RefusedForm,
    },
    components::{
        audit::Audit,
        notes::Notes,
        part::Part,
        plan::plan_list,
        record_list::record_list,
        related::{its_workflow, related},
        slice::{Slice, asked_for},
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

/// Events that one page shows: the last, unless its address asks for others.
const ITEMS: usize = 40;

/// The page of an operation.
#[component]
pub fn DetailPage() -> impl IntoView {
    let id = record_id();
    let query = query();
    let refused = RefusedForm::from_query(&query);
    let from = asked_for(&query, "timeline");
    let page = Reading::new(move || load(id, from));
    let undoing = Reading::new(move || async move {
        match id {
            Some(id) => plan(id).await.ok(),
            None => None,
        }
    });
    let belongs = Reading::new(move || async move {
        match id {
            Some(id) => links(id).await.unwrap_or_default(),
            None => OperationLinks::default(),
        }
    });
    let content = Suspend::new(async move {
        let (plan, links) = (undoing.await, belongs.await);
        match page.await {
            Ok(Found::Here(page)) => view! { <Shown page plan links refused query/> }.into_any(),
            Ok(Found::Elsewhere(tenant)) => view! { <InAnotherTenant tenant/> }.into_any(),
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Operation · Onceover"/>
        {content}
    }
}

async fn load(
    id: Option<OperationId>,
    from: Option<usize>,
) -> Result<Found<OperationPage>, ConsoleError> {
    match id {
        Some(id) => operation_told(id, Piece { from, size: ITEMS }).await,
        None => Err(no_such_record()),
    }
}

#[component]
fn Shown(
    page: OperationPage,
    plan: Option<CompensationPlan>,
    links: OperationLinks,
    refused: Option<RefusedForm>,
    query: String,
) -> impl IntoView {
    let OperationPage { detail, form_key, may_note } = page;
    let path = format!("/operations/{}", detail.row.id);
    let count = detail.timeline_total;
    let piece = Slice::read((&path, &query), "timeline", ITEMS, (detail.timeline_from, count));
    // Only the last piece reaches to now.
    let last = detail.timeline_from + detail.timeline.len() >= count;
    let ended = detail.row.status.is_final() || !last;
    let now = (!ended).then_some(detail.as_of);
    let lease = &detail.row.lease;
    let lapsed = lease.lease_until.filter(|_| !ended && lease.state == LeaseState::Stale);
    // Before anybody asks for it, how it would be undone stands on the form.
    let asked_for = plan.filter(|plan| {
        plan.awaited.iter().chain(&plan.undone).any(|planned| planned.undo.is_some())
    });
    let belongs = belongs(detail.row.id, &links);
    let undo = asked_for.map(|plan| {
        let list = plan_list(&plan);
        view! { <Part id="undo" title="Its undo">{list}</Part> }.into_any()
    });
    let notes = NotesOf {
        about: detail.row.id.into(),
        notes: detail.notes.clone(),
        older: detail.notes_older,
        form_key,
        may_note,
    };
    let story = view! {
        <Axis items=&detail.timeline now lapsed/>
        <Timeline items=&detail.timeline piece=&piece as_of=detail.as_of ended lapsed/>
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
                    {belongs}
                    {undo}
                    <Incidents incidents=&detail.incidents place=(&path, &query)/>
                    <Conflicts
                        conflicts=detail.conflicts.clone()
                        amount=detail.row.amount.clone()
                        as_of=detail.as_of
                    />
                    <Evidence
                        id=detail.row.id
                        evidence=&detail.evidence
                        older=detail.evidence_older
                        fence=detail.row.lease.fence
                        tombstoned=detail.row.tombstoned
                        place=(&path, &query)
                    />
                    <Payload id=detail.row.id payload=detail.payload.clone()/>
                    <Response
                        id=detail.row.id
                        response=detail.response.clone()
                        status=detail.row.status
                        tombstoned=detail.row.tombstoned
                    />
                    <Notes
                        notes
                        taken_by=detail.row.taken_by.clone()
                        refused
                        place=(&path, &query)
                    />
                    <Audit audit=&detail.audit place=&path query=&query/>
                </div>
                <FactsColumn detail=&detail/>
            </div>
        </article>
    }
    .into_any()
}

/// The workflow that made it, what it undoes, where it is an undo, the events that tell of it, and the
/// messages that brought it or were about it.
fn belongs(id: OperationId, links: &OperationLinks) -> AnyView {
    let workflow = links.workflow.clone().map(its_workflow);
    let undoes = links.undoes.clone().map(|(undo, forward)| {
        let forward = related("undoes", "What it undoes", vec![forward]);
        let page = format!("/compensations/{undo}");
        view! {
            {forward}
            <p class="prose"><a href=page>"The undo that it is a try of"</a></p>
        }
    });
    let events = (!links.events.is_empty()).then(|| {
        let list = record_list(&links.events);
        let all = links.more_events.then(|| {
            let href = format!("/outbox?aggregate={id}");
            view! { <p class="prose"><a href=href>"All its events, in their order"</a></p> }
        });
        view! { <Part id="events" title="Events that tell of it">{list} {all}</Part> }.into_any()
    });
    let messages = (!links.messages.is_empty()).then(|| {
        let list = record_list(&links.messages);
        view! { <Part id="messages" title="Messages about it">{list}</Part> }.into_any()
    });
    view! { {workflow} {undoes} {events} {messages} }.into_any()
}
