//! `/operations/{id}/{verb}`: one decision, with what is known before it and what follows from it.
//!
//! The same page explains a refusal: in place with WASM, from its own address without.

use domain::{action::Verb, ids::OperationId};
use leptos::{html::Div, prelude::*};
use leptos_meta::Title;
use leptos_router::hooks::{use_params_map, use_url};

use super::{
    actions::{Actions, has_form},
    form_body::{FormBody, Known},
};
use crate::{
    api::{
        found::Found,
        operations::{OperationPage, ask_provider, operation},
        page_data::page_data,
        receipts::receipt,
        refused::{RefusedForm, value},
    },
    components::confirm_form::Draft,
    error::ConsoleError,
    pages::{
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of an action's form.
#[component]
pub fn FormPage() -> impl IntoView {
    let params = use_params_map();
    let url = use_url();
    let place = Memo::new(move |_| {
        params.with(|params| {
            let id = params.get("id")?.parse::<OperationId>().ok()?;
            let verb = params.get("verb")?.parse::<Verb>().ok()?;
            has_form(verb).then_some((id, verb))
        })
    });
    let refused = Memo::new(move |_| url.with(|url| RefusedForm::from_query(url.search())));
    let actions = Actions::default();
    let verb = move || place.get().map_or(Verb::Confirm, |(_, verb)| verb);
    let refusal = Memo::new(move |_| {
        let from_address = || refused.get().map(|refused| ConsoleError::Refused(refused.refusal));
        actions.refusal(verb()).or_else(from_address)
    });
    let opened_at = Memo::new(move |_| {
        url.with(|url| value(url.search(), "version")).and_then(|version| version.parse().ok())
    });
    let kept = Memo::new(move |_| refused.get().map(|refused| refused.kept).unwrap_or_default());
    let draft = Draft::new(&kept.get_untracked());

    let page = page_data(move || (place.get(), actions.sent(verb())), |(place, _)| load(place));
    let answer = page_data(
        move || (place.get(), actions.sent(verb())),
        |(place, _)| async move {
            match place {
                Some((id, Verb::Confirm)) => Some(ask_provider(id).await),
                _ => None,
            }
        },
    );
    let other = page_data(
        move || match refusal.get() {
            Some(ConsoleError::Refused(refusal)) => refusal.receipt,
            _ => None,
        },
        |id| async move {
            match id {
                Some(id) => receipt(id).await.ok().and_then(Found::here),
                None => None,
            }
        },
    );
    let summary = NodeRef::<Div>::new();
    Effect::new(move |_| {
        if refusal.get().is_some()
            && actions.sent(verb()) > 0
            && let Some(summary) = summary.get()
        {
            // The element may be gone again; then there is nothing to focus.
            drop(summary.focus());
        }
    });
    view! {
        <Title text="Decide · Onceover"/>
        <Transition fallback=|| view! { <p class="page-sub">"Loading the operation"</p> }>
            {move || {
                let (place, refusal, kept) = (place.get(), refusal.get(), kept.get());
                let opened_at: Option<i64> = opened_at.get();
                Suspend::new(async move {
                    let (answer, other, page) = (answer.await, other.await, page.await);
                    // An explained refusal asks for a new look: from there on the form carries the
                    // version that is shown.
                    let opened_at = opened_at.filter(|opened_at| {
                        refusal.is_none()
                            && matches!(&page, Ok(Found::Here(page))
                                if *opened_at < page.detail.row.version)
                    });
                    let known = Known { answer, other, opened_at };
                    match (page, place) {
                        (Ok(Found::Elsewhere(tenant)), _) => {
                            view! { <InAnotherTenant tenant/> }.into_any()
                        }
                        (Ok(Found::Here(page)), Some((_, verb))) => view! {
                            <FormBody
                                detail=&page.detail
                                verb
                                known
                                refusal
                                kept
                                draft
                                actions
                                summary
                            />
                        }
                        .into_any(),
                        (Err(error), _) => view! { <Failed error/> }.into_any(),
                        (Ok(Found::Here(_)), None) => view! { <Failed error=no_such_record()/> }.into_any(),
                    }
                })
            }}
        </Transition>
    }
}

async fn load(place: Option<(OperationId, Verb)>) -> Result<Found<OperationPage>, ConsoleError> {
    match place {
        Some((id, _)) => operation(id).await,
        None => Err(no_such_record()),
    }
}
