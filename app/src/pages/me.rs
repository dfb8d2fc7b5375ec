//! `/me`: who I am here, and what I may do, in words.

use domain::{
    access::{Permission, permits},
    view::Me,
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{refused::RefusedForm, session},
    components::{
        icon::{Icon, IconName},
        notice::FailedPart,
        preferences_form::PreferencesForm,
    },
    error::{ConsoleError, RefusalView},
    pages::{address::query, tokens::OwnTokens},
};

/// The signed-in person's page.
#[component]
pub fn MePage() -> impl IntoView {
    let refused = RefusedForm::from_query(&query()).map(|refused| refused.refusal);
    view! {
        <Title text="You · Onceover"/>
        {Suspend::new(async { content(session::me().await, refused) })}
    }
    .into_any()
}

fn content(me: Result<Me, ConsoleError>, refused: Option<RefusalView>) -> AnyView {
    let me = match me {
        Ok(me) => me,
        Err(error) => {
            return view! {
                <header class="page-head"><h1 class="page-title">"You"</h1></header>
                <FailedPart error again="/me"/>
            }
            .into_any();
        }
    };
    let rights = Permission::ALL.map(|right| {
        let held = permits(me.role, right);
        let icon = if held { IconName::Check } else { IconName::Cross };
        let why = (!held).then(|| format!(" (not you: {})", holders(right)));
        view! {
            <li data-held=held.then_some("")>
                <Icon name=icon/>
                <span>{right.label()} {why}</span>
            </li>
        }
    });
    view! {
        <header class="page-head"><h1 class="page-title">{me.name}</h1></header>
        <div class="stack">
            <dl class="facts prose">
                <div class="fact"><dt>"Email"</dt><dd>{me.email}</dd></div>
                <div class="fact"><dt>"Tenant"</dt><dd>{me.tenant}</dd></div>
                <div class="fact"><dt>"Role here"</dt><dd>{me.role.as_str()}</dd></div>
            </dl>
            <section class="section" aria-labelledby="preferences">
                <h2 class="section-title" id="preferences">"How the console looks to you"</h2>
                <PreferencesForm refused/>
            </section>
            <OwnTokens/>
            <section class="section" aria-labelledby="rights">
                <h2 class="section-title" id="rights">"What you may do in this tenant"</h2>
                <ul class="rights">{rights.collect_view()}</ul>
            </section>
        </div>
    }
    .into_any()
}

fn holders(right: Permission) -> String {
    let roles: Vec<_> = right.holders().into_iter().map(|role| role.as_str()).collect();
    roles.join(", ")
}
