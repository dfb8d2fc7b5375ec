//! `/step-up`: the factor again, before what takes one that was given lately (T12). It answers a form that
//! is held, carries its fields along unseen, and gives the form back as it was.

use domain::problem::Code;
use leptos::prelude::*;
use leptos_meta::Title;

use super::{
    address::{own_page, query},
    not_found::OutsideHead,
    sign_in_code::code_field,
};
use crate::{
    api::{account::account, reading::Reading},
    components::notice::{Notice, Tone},
    held::{FactorField, HeldForm, PREFIX},
    location,
};

/// The page.
#[component]
pub fn StepUpPage() -> impl IntoView {
    let held = HeldForm::of_request();
    let query = query();
    let asked = Reading::new(account);
    let content = Suspend::new(async move {
        let held = match held {
            Some(held) => held,
            // Opened by itself: nothing waits, and the page that was named comes after it.
            None => HeldForm {
                page: own_page(&query, "next").unwrap_or_else(|| "/me".into()),
                factor: match asked.await {
                    Ok(account) if account.second_factor => FactorField::Code,
                    _ => FactorField::Password,
                },
                refused: location::value(&query, "refused").and_then(|code| code.parse().ok()),
                fields: Vec::new(),
            },
        };
        content(held)
    });
    view! {
        <Title text="Prove that it is you · Onceover"/>
        <div class="outside">
            <OutsideHead/>
            <main class="outside-main" id="main">{content}</main>
        </div>
    }
    .into_any()
}

fn content(held: HeldForm) -> AnyView {
    let waits = !held.fields.is_empty();
    let why = waits.then(|| {
        let code = held.refused.unwrap_or(Code::StepUpRequired);
        let words = "What you typed is kept on this page and comes back as it was.";
        notice(code, words)
    });
    let refused = held.refused.filter(|_| !waits).map(|code| notice(code, ""));
    let fields = held.fields.into_iter().map(|(name, value)| {
        view! { <input type="hidden" name=format!("{PREFIX}{name}") value=value/> }
    });
    let factor = match held.factor {
        FactorField::Code => code_field(),
        FactorField::Password => password_field(),
        FactorField::Provider(name, place) => provider_link(&name, place),
    };
    let back = held.page.clone();
    view! {
        <div>
            <h1 class="outside-title">"Prove that it is you"</h1>
            <p class="outside-words">
                "So that nobody decides at a desk that you have left. It counts for a few minutes."
            </p>
        </div>
        {why}
        {refused}
        <form class="form" method="post" action="/step-up">
            <input type="hidden" name="page" value=held.page/>
            {fields.collect_view()}
            {factor}
            <button class="button button--primary">"Go on"</button>
        </form>
        <p><a href=back>"Back without doing it"</a></p>
    }
    .into_any()
}

fn notice(code: Code, words: &'static str) -> AnyView {
    view! {
        <Notice tone=Tone::Bad title=code.title() code=code>
            <p>{code.advice()} " " {words}</p>
        </Notice>
    }
    .into_any()
}

/// The provider's page opens beside this one, so that what was typed stays here meanwhile.
fn provider_link(name: &str, place: String) -> AnyView {
    view! {
        <p>
            <a class="button" href=place target="_blank" rel="noopener">
                {format!("Sign in again with {name}")}
            </a>
        </p>
        <p class="field-help">"It opens beside this page. Then come back here and go on."</p>
    }
    .into_any()
}

fn password_field() -> AnyView {
    view! {
        <div class="field">
            <label class="field-label" for="factor">"Password"</label>
            <input
                class="input"
                id="factor"
                name="factor"
                type="password"
                autocomplete="current-password"
                required
                autofocus
                maxlength="1024"
            />
        </div>
    }
    .into_any()
}
