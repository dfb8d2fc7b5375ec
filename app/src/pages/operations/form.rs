//! `/operations/{id}/{verb}`: one decision, with what is known before it and what follows from it.
//!
//! The same page explains a refusal, from its own address: why, what stands instead, what was typed.

use domain::{action::Verb, ids::OperationId};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    form_body::{FormBody, Known},
    words::has_form,
};
use crate::{
    api::{
        evidence::files,
        found::Found,
        operations::{OperationPage, ask_provider, operation},
        reading::Reading,
        receipts::receipt,
        records::plan,
        refused::{Kept, RefusedForm},
    },
    error::ConsoleError,
    held::HeldForm,
    location::value,
    pages::{
        address::{query, record_id, verb},
        elsewhere::InAnotherTenant,
        failed::{Failed, no_such_record},
    },
};

/// The page of an action's form.
#[component]
pub fn FormPage() -> impl IntoView {
    let place = record_id().zip(verb().filter(|verb| has_form(*verb)));
    let query = query();
    let refused = RefusedForm::from_query(&query);
    // An explained refusal asks for a new look: from there on the form carries the version that is
    // shown.
    let opened_at = value(&query, "version").filter(|_| refused.is_none());
    let opened_at = opened_at.and_then(|version| version.parse::<i64>().ok());
    let held = HeldForm::of_request();
    let opened_at = held.as_ref().and_then(HeldForm::version).or(opened_at);

    let page = Reading::new(move || load(place));
    let answer = Reading::new(move || async move {
        match place {
            Some((id, Verb::Confirm)) => Some(ask_provider(id).await),
            _ => None,
        }
    });
    let undoing = Reading::new(move || async move {
        match place {
            Some((id, Verb::Compensate)) => plan(id).await.ok(),
            _ => None,
        }
    });
    let attached = || value(&query, "attached").map(|_| Kept::from_query(&query));
    let kept = held.as_ref().map(HeldForm::kept).or_else(attached);
    let carried = refused.as_ref().map(|refused| &refused.kept).or(kept.as_ref());
    let carried = carried.map(|kept| kept.evidence_files.clone()).unwrap_or_default();
    let files = Reading::new(move || {
        let carried = carried.clone();
        async move {
            match place {
                Some((id, _)) => files(id, carried).await.unwrap_or_default(),
                None => Vec::new(),
            }
        }
    });
    let stands = refused.as_ref().and_then(|refused| refused.refusal.receipt);
    let other = Reading::new(move || async move {
        match stands {
            Some(id) => receipt(id).await.ok().and_then(Found::here),
            None => None,
        }
    });
    let content = Suspend::new(async move {
        let (answer, plan) = (answer.await, undoing.await);
        let (other, page, files) = (other.await, page.await, files.await);
        match (page, place) {
            (Ok(Found::Here(page)), Some((_, verb))) => {
                let opened_at = opened_at.filter(|at| *at < page.detail.row.version);
                let known = Known { answer, plan, other, files, kept, opened_at };
                view! { <FormBody detail=&page.detail verb known refused/> }.into_any()
            }
            (Ok(Found::Here(_)), None) => view! { <Failed error=no_such_record()/> }.into_any(),
            (Ok(Found::Elsewhere(tenant)), _) => view! { <InAnotherTenant tenant/> }.into_any(),
            (Err(error), _) => view! { <Failed error/> }.into_any(),
        }
    });
    view! {
        <Title text="Decide · Onceover"/>
        {content}
    }
}

async fn load(place: Option<(OperationId, Verb)>) -> Result<Found<OperationPage>, ConsoleError> {
    match place {
        Some((id, _)) => operation(id).await,
        None => Err(no_such_record()),
    }
}
