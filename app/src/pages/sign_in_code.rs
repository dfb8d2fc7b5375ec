//! `/sign-in/code`: the second half of signing in, where the account has a second factor. Nothing is open
//! before it.

use domain::problem::Code;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    address::{own_page, query},
    not_found::OutsideHead,
};
use crate::{
    components::notice::{Notice, Tone},
    location,
};

/// The page.
#[component]
pub fn SignInCodePage() -> impl IntoView {
    let query = query();
    let refused: Option<Code> =
        location::value(&query, "refused").and_then(|code| code.parse().ok());
    let refused = refused.map(|code| {
        view! {
            <Notice tone=Tone::Bad title=code.title() code=code>
                <p>{code.advice()}</p>
            </Notice>
        }
    });
    let next = own_page(&query, "next").unwrap_or_else(|| "/".into());
    view! {
        <Title text="Sign in · Onceover"/>
        <div class="outside">
            <OutsideHead/>
            <main class="outside-main" id="main">
                <div>
                    <h1 class="outside-title">"Your code"</h1>
                    <p class="outside-words">
                        "Your account has a second factor. You are not signed in yet."
                    </p>
                </div>
                {refused}
                <form class="form" method="post" action="/sign-in/code">
                    <input type="hidden" name="next" value=next/>
                    {code_field()}
                    <button class="button button--primary">"Sign in"</button>
                </form>
                <p><a href="/sign-in">"Begin again"</a></p>
            </main>
        </div>
    }
    .into_any()
}

/// The field of a code.
pub(super) fn code_field() -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for="factor">"Code"</label>
            <input
                class="input input--mono"
                id="factor"
                name="factor"
                type="text"
                autocomplete="one-time-code"
                autocapitalize="none"
                spellcheck="false"
                required
                autofocus
                maxlength="40"
                aria-describedby="factor-help"
            />
            <p class="field-help" id="factor-help">
                "The six digits that your authenticator shows now, or one of your recovery codes."
            </p>
        </div>
    }
    .into_any()
}
