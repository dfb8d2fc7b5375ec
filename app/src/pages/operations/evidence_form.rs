//! `/operations/{id}/evidence`: a file as evidence, beside any decision.
//!
//! The form posts to its own address, the one that takes multipart.

use domain::{access::Permission, ids::OperationId};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{
        found::Found,
        operations::{OperationPage, operation},
        reading::Reading,
        records::permits,
        refused::RefusedForm,
    },
    components::{
        evidence_files::file_field,
        form_field::AreaField,
        key::Key,
        notice::{Notice, Tone, right},
        refusal_summary::refusal_summary,
        state_badge::StateBadge,
    },
    error::{ConsoleError, Field},
    islands::Submit,
    pages::{
        address::{query, record_id},
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of the form.
#[component]
pub fn EvidenceFormPage() -> impl IntoView {
    let id = record_id::<OperationId>();
    let refused = RefusedForm::from_query(&query());
    let page = Reading::new(move || load(id));
    let content = Suspend::new(async move {
        match page.await {
            Ok(Found::Here(page)) => shown(&page, refused),
            Ok(Found::Elsewhere(tenant)) => view! { <InAnotherTenant tenant/> }.into_any(),
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Attach a file · Onceover"/>
        {content}
    }
}

async fn load(id: Option<OperationId>) -> Result<Found<OperationPage>, ConsoleError> {
    match id {
        Some(id) => operation(id).await,
        None => Err(no_such_record()),
    }
}

fn shown(page: &OperationPage, refused: Option<RefusedForm>) -> AnyView {
    let row = &page.detail.row;
    let (refusal, kept) = refused.map(|refused| (refused.refusal, refused.kept)).unzip();
    let kept = kept.unwrap_or_default();
    let may = permits(Permission::Evidence).unwrap_or_default();
    let summary = refusal.as_ref().map(|refusal| refusal_summary(refusal, Permission::Evidence));
    let lacks = (!may && refusal.is_none()).then(|| {
        view! {
            <Notice tone=Tone::Caution title="Your role does not have this right.">
                {right(Permission::Evidence)}
            </Notice>
        }
    });
    let expired = row.tombstoned.then(|| {
        view! {
            <Notice tone=Tone::Neutral title="Its contents have expired: nothing is added any more."/>
        }
    });
    let place = format!("/operations/{}", row.id);
    let action = format!("{place}/evidence");
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind">
                        <StateBadge status=row.status tombstoned=row.tombstoned/>
                        <span>{row.operation.clone()}</span>
                        <a href=place.clone()><Key text=row.key.clone() whole=true/></a>
                    </p>
                    <h1 class="detail-key">"Attach a file as evidence"</h1>
                </div>
            </header>
            {summary} {lacks} {expired}
            <form
                class="form"
                method="post"
                enctype="multipart/form-data"
                action=action
                aria-label="Attach a file as evidence"
            >
                {file_field(refusal.as_ref(), true)}
                <AreaField
                    field=Field::Text
                    help="What it shows, and where it comes from."
                    note="may stay empty"
                    kept=kept.text
                    cut=kept.cut
                    refusal=refusal.as_ref()
                />
                <div class="form-actions">
                    <Submit
                        label="Attach the file"
                        choices=Vec::new()
                        busy="Sending"
                        enabled=may && !row.tombstoned
                    />
                    <a class="button" href=place>"Back without it"</a>
                </div>
            </form>
        </article>
    }
    .into_any()
}
