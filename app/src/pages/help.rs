//! `/help`: the keys, what the search finds, and the switch for single keys. The same sheet opens with
//! `?` in the browser.

use domain::access::Permission;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{address::query, search::what_is_searched};
use crate::{
    api::refused::RefusedForm,
    components::{part::Part, refusal_summary::refusal_summary},
    cookie::single_keys,
    keys::sheet,
};

/// The page.
#[component]
pub fn HelpPage() -> impl IntoView {
    let (words, value, label) = if single_keys() {
        (
            "Keys without Ctrl are commands in this browser, except while you type in a field.",
            "off",
            "Switch single keys off",
        )
    } else {
        (
            "Keys without Ctrl do nothing in this browser. Ctrl K and Esc still work.",
            "on",
            "Switch single keys on",
        )
    };
    let refused = RefusedForm::from_query(&query());
    let refused = refused.map(|refused| refusal_summary(&refused.refusal, Permission::Read));
    view! {
        <Title text="Help · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Help"</h1></header>
        <Part id="keys" title="Keys">
            <p class="prose">
                "All of it can be done with the pointer and without scripts; keys need scripts."
            </p>
            {sheet()}
            {refused}
            <form class="form" method="post" action="/preferences/keys" aria-label="Single keys">
                <input type="hidden" name="return_to" value="/help"/>
                <p class="field-help">{words}</p>
                <div class="form-actions">
                    <button class="button" name="keys" value=value>{label}</button>
                </div>
            </form>
        </Part>
        <Part id="search-help" title="What the search finds">
            <div class="prose stack">{what_is_searched()}</div>
        </Part>
    }
    .into_any()
}
