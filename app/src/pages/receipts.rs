//! `/receipts/{id}`: one decision; the same page for whoever sends it again.

use domain::{ids::OperationId, view::Receipt};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{found::Found, reading::Reading, receipts::receipt, session},
    components::{
        notice::{Notice, Tone},
        receipt_view::ReceiptView,
    },
    error::ConsoleError,
    location::value,
    pages::{
        address::{query, record_id},
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of a receipt.
#[component]
pub fn ReceiptPage() -> impl IntoView {
    let id = record_id();
    let replayed = value(&query(), "replayed").is_some();
    let receipt = Reading::new(move || load(id));
    let me = Reading::new(session::me);
    let content = Suspend::new(async move {
        // A receipt that is shown is one of the session's tenant.
        let tenant = me.await.ok().map(|me| me.tenant);
        match receipt.await {
            Ok(Found::Here(receipt)) => shown(receipt, tenant, replayed).into_any(),
            Ok(Found::Elsewhere(tenant)) => view! { <InAnotherTenant tenant/> }.into_any(),
            Err(error) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Receipt · Onceover"/>
        {content}
    }
}

async fn load(id: Option<OperationId>) -> Result<Found<Receipt>, ConsoleError> {
    match id {
        Some(id) => receipt(id).await,
        None => Err(no_such_record()),
    }
}

fn shown(receipt: Receipt, tenant: Option<String>, replayed: bool) -> impl IntoView {
    let replayed = replayed.then(|| {
        view! {
            <Notice tone=Tone::Neutral title="This was already decided; the same receipt.">
                <p>"Nothing was done a second time."</p>
            </Notice>
        }
    });
    view! {
        <div class="stack">
            {replayed}
            <ReceiptView receipt tenant/>
        </div>
    }
}
