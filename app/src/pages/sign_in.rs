//! `/sign-in`: one plain form. The server answers it, sets the cookie, and comes back here with a
//! code where it refuses. Below it stands how the console looks, kept in cookies until somebody signs in.

use domain::problem::Code;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    address::{own_page, query},
    not_found::OutsideHead,
};
use crate::{
    api::refused::RefusedForm,
    components::{
        nav::ThemeSwitch,
        notice::{Notice, Tone},
        preferences_form::{is_preference, preferences_form},
        single_sign_on::SingleSignOn,
    },
    error::RefusalView,
    location,
};

/// The sign-in page.
#[component]
pub fn SignInPage() -> impl IntoView {
    let query = query();
    // What names one of their fields is the preferences' form; the others name none of those.
    let (of_preferences, refused) = match RefusedForm::from_query(&query).map(|form| form.refusal) {
        Some(refusal) if refusal.field.is_some_and(is_preference) => (Some(refusal), None),
        refusal => (None, refusal.map(|refusal| refusal.code)),
    };
    let next = own_page(&query, "next").unwrap_or_else(|| "/".into());
    let here = location::here("/sign-in", &query);
    let back = location::href("/sign-in", [("next", next.as_str())]);
    let elsewhere = use_context::<SingleSignOn>();
    let button = if elsewhere.is_some() { "button" } else { "button button--primary" };
    view! {
        <Title text="Sign in · Onceover"/>
        <div class="outside">
            <OutsideHead/>
            <main class="outside-main" id="main">
                <div>
                    <h1 class="outside-title">"Sign in"</h1>
                    <p class="outside-words">
                        "What must happen once: what is known of it, what is not, and who decided."
                    </p>
                </div>
                {refused.map(refusal)}
                {elsewhere.map(|provider| provider.offer(&next))}
                <form class="form" method="post" action="/sign-in">
                    <input type="hidden" name="next" value=next/>
                    <div class="field">
                        <label class="field-label" for="email">"Email"</label>
                        <input
                            class="input"
                            id="email"
                            name="email"
                            type="email"
                            autocomplete="username"
                            required
                            maxlength="320"
                        />
                    </div>
                    <div class="field">
                        <label class="field-label" for="password">"Password"</label>
                        <input
                            class="input"
                            id="password"
                            name="password"
                            type="password"
                            autocomplete="current-password"
                            required
                            maxlength="1024"
                        />
                    </div>
                    <button class=button>"Sign in"</button>
                </form>
                <div class="outside-look"><ThemeSwitch here/></div>
                {looks(of_preferences.as_ref(), back)}
            </main>
        </div>
    }
    .into_any()
}

/// Zone, theme, density and page size, before anybody is known; open where a choice was refused.
fn looks(refused: Option<&RefusalView>, back: String) -> AnyView {
    view! {
        <details class="fold outside-looks" open=refused.is_some()>
            <summary>"Time zone, theme, density, rows"</summary>
            <p class="outside-words">
                "Kept in this browser. What is kept with your account holds once you are signed in."
            </p>
            {preferences_form(refused, back, "button")}
        </details>
    }
    .into_any()
}

fn refusal(code: Code) -> AnyView {
    view! {
        <Notice tone=Tone::Bad title=code.title() code=code>
            <p>{code.advice()}</p>
        </Notice>
    }
    .into_any()
}
