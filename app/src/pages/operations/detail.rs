//! `/operations/{id}`: what is known about one operation, the verdict first.

use domain::ids::OperationId;
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_url};

use super::sections::{
    Audit, Banners, Conflicts, Desk, Evidence, FactsColumn, Head, Incidents, Notes, Part, Payload,
    Response, VerdictBand,
};
use crate::{
    api::{
        found::Found,
        operations::{OperationPage, operation},
        page_data::page_data,
        refused::{Kept, RefusedForm},
    },
    components::timeline::{Timeline, axis::Axis},
    error::ConsoleError,
    pages::{
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of an operation.
#[component]
pub fn DetailPage() -> impl IntoView {
    let params = use_params_map();
    let url = use_url();
    let id = Memo::new(move |_| {
        params.with(|params| params.get("id")).and_then(|id| id.parse::<OperationId>().ok())
    });
    let desk = Desk::default();
    desk.empty_when_noted();
    let refused = Memo::new(move |_| url.with(|url| RefusedForm::from_query(url.search())));
    let refusal = Memo::new(move |_| {
        // The address speaks of the form that led here, until this page has sent one.
        let from_address = || {
            let refused = refused.get().filter(|_| desk.sent() == 0)?;
            Some(ConsoleError::Refused(refused.refusal))
        };
        desk.refusal().or_else(from_address)
    });
    let kept = Memo::new(move |_| {
        refused.get().filter(|_| !desk.noted()).map(|refused| refused.kept).unwrap_or_default()
    });
    let page = page_data(move || (id.get(), desk.sent()), |(id, _)| load(id));
    view! {
        <Title text="Operation · Onceover"/>
        <Transition fallback=|| view! { <p class="page-sub">"Loading the operation"</p> }>
            {move || {
                let (refusal, kept) = (refusal.get(), kept.get());
                Suspend::new(async move {
                    match page.await {
                        Ok(Found::Here(page)) => {
                            view! { <Shown page refusal kept desk/> }.into_any()
                        }
                        Ok(Found::Elsewhere(tenant)) => {
                            view! { <InAnotherTenant tenant/> }.into_any()
                        }
                        Err(error) => view! { <Failed error/> }.into_any(),
                    }
                })
            }}
        </Transition>
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
    refusal: Option<ConsoleError>,
    kept: Kept,
    desk: Desk,
) -> impl IntoView {
    let OperationPage { detail, form_key, may_note } = page;
    let ended = detail.row.status.is_final();
    let now = (!ended).then_some(detail.as_of);
    let count = detail.timeline.len();
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
                        kept
                        may_note
                        desk
                        refusal
                    />
                    <Audit audit=detail.audit.clone()/>
                </div>
                <FactsColumn detail=&detail/>
            </div>
        </article>
    }
    .into_any()
}
