//! `/receipts/{id}`: one decision; the same page for whoever sends it again.

use domain::{ids::OperationId, view::Receipt};
use leptos::prelude::*;
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_url};

use crate::{
    api::{found::Found, page_data::page_data, receipts::receipt, refused::value},
    components::{
        notice::{Notice, Tone},
        receipt_view::ReceiptView,
    },
    error::ConsoleError,
    pages::{
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of a receipt.
#[component]
pub fn ReceiptPage() -> impl IntoView {
    let params = use_params_map();
    let url = use_url();
    let id = Memo::new(move |_| {
        params.with(|params| params.get("id")).and_then(|id| id.parse::<OperationId>().ok())
    });
    let replayed = Memo::new(move |_| url.with(|url| value(url.search(), "replayed").is_some()));
    let receipt = page_data(move || id.get(), load);
    view! {
        <Title text="Receipt · Onceover"/>
        <Transition fallback=|| view! { <p class="page-sub">"Loading the receipt"</p> }>
            {move || {
                let replayed = replayed.get();
                Suspend::new(async move {
                    match receipt.await {
                        Ok(Found::Here(receipt)) => shown(receipt, replayed).into_any(),
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

async fn load(id: Option<OperationId>) -> Result<Found<Receipt>, ConsoleError> {
    match id {
        Some(id) => receipt(id).await,
        None => Err(no_such_record()),
    }
}

fn shown(receipt: Receipt, replayed: bool) -> impl IntoView {
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
            <ReceiptView receipt/>
        </div>
    }
}
