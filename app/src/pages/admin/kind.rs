//! `/admin/kinds/{name}`: the policy of a kind as it is in force.

use domain::access::Permission;
use leptos::prelude::*;
use leptos_meta::Title;

use super::policy::{figures, grounds, place, stake};
use crate::{
    api::{
        admin::{KindInForce, kind},
        reading::Reading,
        records::permits,
    },
    components::{facts::fact, notice::lacks, part::Part},
    error::ConsoleError,
    location::href,
    pages::{
        address::name,
        failed::{Failed, no_such_record},
    },
};

/// The page of a kind.
#[component]
pub fn KindPage() -> impl IntoView {
    let name = name();
    let policy = Reading::new(move || {
        let name = name.clone();
        async move {
            match name {
                Some(name) => kind(&name).await,
                None => Err(no_such_record()),
            }
        }
    });
    view! {
        <Title text="Kind · Onceover"/>
        {Suspend::new(async move { found(policy.await) })}
    }
    .into_any()
}

/// The way to the form; whoever lacks the right sees which.
fn change(form: &str) -> AnyView {
    let label = "Change the policy";
    if permits(Permission::ManageKinds).unwrap_or_default() {
        return view! { <a class="button button--primary" href=form.to_owned()>{label}</a> }
            .into_any();
    }
    let why = lacks(Permission::ManageKinds);
    view! {
        <div>
            <span class="button button--primary" role="link" aria-disabled="true">{label}</span>
            <p class="menu-why">{why}</p>
        </div>
    }
    .into_any()
}

fn found(kind: Result<KindInForce, ConsoleError>) -> AnyView {
    let KindInForce { version, policy } = match kind {
        Ok(kind) => kind,
        Err(error) => return view! { <Failed error/> }.into_any(),
    };
    let figures =
        figures(&policy).into_iter().map(|(name, value)| fact(name, value)).collect_view();
    let meaning = grounds(&policy).into_iter().map(|why| view! { <li>{why}</li> }).collect_view();
    let change = change(&format!("{}/put_kind?version={version}", place(&policy.name)));
    let operations = href("/operations", [("operation", policy.name.as_str())]);
    view! {
        <article class="detail">
            <header class="detail-head">
                <div class="detail-name">
                    <p class="detail-kind"><span>"Kind"</span></p>
                    <h1 class="detail-key">{policy.name.clone()}</h1>
                    <p class="detail-sub">
                        {format!("version {version} · ")} <a href=operations>"Its operations"</a>
                    </p>
                </div>
                <div class="detail-actions">{change}</div>
            </header>
            <Part id="meaning" title="What it means">
                <p class="prose">{stake(&policy)}</p>
                <ul class="receipt-followed">{meaning}</ul>
            </Part>
            <Part id="policy" title="In force">
                <dl class="facts">{figures}</dl>
            </Part>
        </article>
    }
    .into_any()
}
