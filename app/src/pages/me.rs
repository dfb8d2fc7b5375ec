//! `/me`: who I am here, and what I may do, in words.

use domain::{
    access::{Permission, permits},
    problem::Code,
    view::{AccountView, Me},
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::address::query;
use crate::{
    api::{account::account, reading::Reading, refused::RefusedForm, session},
    components::{
        account::sections,
        icon::{Icon, IconName},
        notice::{FailedPart, Notice, Tone},
        preferences_form::preferences_form,
    },
    error::{ConsoleError, RefusalView},
    location,
    pages::tokens::OwnTokens,
};

/// The signed-in person's page.
#[component]
pub fn MePage() -> impl IntoView {
    let query = query();
    // What names a field is the preferences' form; the others name none.
    let (of_preferences, other) = match RefusedForm::from_query(&query).map(|form| form.refusal) {
        Some(refusal) if refusal.field.is_some() => (Some(refusal), None),
        refusal => (None, refusal.map(|refusal| refusal.code)),
    };
    let done = location::value(&query, "done");
    let (me, account) = (Reading::new(session::me), Reading::new(account));
    view! {
        <Title text="You · Onceover"/>
        {Suspend::new(async move {
            let said = said(other, done.as_deref());
            content(me.await, account.await, said, of_preferences.as_ref())
        })}
    }
    .into_any()
}

/// What became of a form of this page, from the closed lists.
fn said(refused: Option<Code>, done: Option<&str>) -> Option<AnyView> {
    if let Some(code) = refused {
        let words = match code {
            Code::Unprocessable => {
                "The new password has twelve characters at least, twice the same."
            }
            _ => "",
        };
        return Some(
            view! {
                <Notice tone=Tone::Bad title=code.title() code=code>
                    <p>{code.advice()} " " {words}</p>
                </Notice>
            }
            .into_any(),
        );
    }
    let title = match done? {
        "password" => "Your password is changed, and all your other sessions have ended.",
        "second-factor-off" => "Your second factor is off.",
        "session" => "The session has ended.",
        "sessions" => "All your other sessions have ended.",
        _ => return None,
    };
    Some(view! { <Notice tone=Tone::Good title/> }.into_any())
}

fn content(
    me: Result<Me, ConsoleError>,
    account: Result<AccountView, ConsoleError>,
    said: Option<AnyView>,
    refused: Option<&RefusalView>,
) -> AnyView {
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
        let why = (!held).then(|| format!(" (needs {})", holders(right)));
        view! {
            <li data-held=held.then_some("")>
                <Icon name=icon/>
                <span>{right.label()} {why}</span>
            </li>
        }
    });
    let account = match account {
        Ok(account) => sections(account, me.as_of),
        Err(error) => view! { <FailedPart error again="/me"/> }.into_any(),
    };
    view! {
        <header class="page-head"><h1 class="page-title">{me.name}</h1></header>
        <div class="stack">
            {said}
            <dl class="facts prose">
                <div class="fact"><dt>"Email"</dt><dd>{me.email}</dd></div>
                <div class="fact"><dt>"Tenant"</dt><dd>{me.tenant}</dd></div>
                <div class="fact"><dt>"Role here"</dt><dd>{me.role.as_str()}</dd></div>
            </dl>
            <section class="section" aria-labelledby="preferences">
                <h2 class="section-title" id="preferences">"How the console looks to you"</h2>
                {preferences_form(refused, "/me#preferences".into(), "button button--primary")}
            </section>
            {account}
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
    roles.join(" or ")
}
