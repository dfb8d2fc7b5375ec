//! `/me/second-factor`: a secret or recovery codes, shown once to whoever just asked for them, and the code
//! that makes the factor count.

use domain::{problem::Code, view::AccountView};
use leptos::prelude::*;
use leptos_meta::Title;

use super::{address::query, sign_in_code::code_field};
use crate::{
    api::{account::account, reading::Reading},
    components::{
        icon::{Icon, IconName},
        notice::{FailedPart, Notice, Tone},
        qr::qr,
    },
    error::ConsoleError,
    held::ShownOnce,
    islands::CopyButton,
    location,
};

/// The page.
#[component]
pub fn SecondFactorPage() -> impl IntoView {
    let shown = ShownOnce::of_request();
    let refused = location::value(&query(), "refused").and_then(|code| code.parse().ok());
    let account = Reading::new(account);
    view! {
        <Title text="Second factor · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Second factor"</h1></header>
        {Suspend::new(async move { content(account.await, shown, refused) })}
    }
    .into_any()
}

fn content(
    account: Result<AccountView, ConsoleError>,
    shown: Option<ShownOnce>,
    refused: Option<Code>,
) -> AnyView {
    let refused = refused.map(|code| {
        view! {
            <Notice tone=Tone::Bad title=code.title() code=code>
                <p>{code.advice()}</p>
            </Notice>
        }
    });
    let body = match (account, shown) {
        (Err(error), _) => view! { <FailedPart error again="/me/second-factor"/> }.into_any(),
        (Ok(_), Some(ShownOnce::RecoveryCodes(codes))) => recovery(codes),
        (Ok(_), Some(ShownOnce::Secret { text, link })) => secret(text, link),
        (Ok(account), None) if account.second_factor => view! {
            <p class="prose">"It is on. " <a href="/me#second-factor">"To your account"</a></p>
        }
        .into_any(),
        (Ok(_), None) => view! {
            <p class="prose">
                "The secret was shown once. If your authenticator has it, give its code; if not, begin again."
            </p>
            {confirm()}
            {begin("Begin again with a new secret")}
        }
        .into_any(),
    };
    view! { <div class="stack">{refused} {body}</div> }.into_any()
}

fn secret(text: String, link: String) -> AnyView {
    let picture = qr(&link, "The secret as a QR code");
    view! {
        <p class="prose">
            "Take this secret into an authenticator: scan the picture, open the link on the device that has \
             one, or type it. It is shown once, now."
        </p>
        {picture}
        <dl class="facts prose">
            <div class="fact">
                <dt>"Secret"</dt>
                <dd><code>{text.clone()}</code> <CopyButton text=text what="the secret" link=false><Icon name=IconName::Copy/></CopyButton></dd>
            </div>
            <div class="fact"><dt>"Link"</dt><dd><a href=link rel="noreferrer">"Open in an authenticator"</a></dd></div>
        </dl>
        {confirm()}
    }
    .into_any()
}

fn confirm() -> AnyView {
    view! {
        <form class="form" method="post" action="/me/second-factor/confirm" aria-label="Confirm the second factor">
            {code_field()}
            <div class="form-actions">
                <button class="button button--primary">"Turn it on"</button>
                <a class="button" href="/me#second-factor">"Back without it"</a>
            </div>
        </form>
    }
    .into_any()
}

/// The button that begins one.
fn begin(words: &'static str) -> AnyView {
    view! {
        <form class="form" method="post" action="/me/second-factor/begin">
            <div class="form-actions"><button class="button">{words}</button></div>
        </form>
    }
    .into_any()
}

fn recovery(codes: Vec<String>) -> AnyView {
    let codes = codes.into_iter().map(|code| view! { <li><code>{code}</code></li> });
    view! {
        <Notice tone=Tone::Good title="Your second factor is on.">
            <p>
                "Keep these recovery codes where you find them without your device. Each opens once; they are \
                 shown once, now."
            </p>
        </Notice>
        <ol class="recovery-codes">{codes.collect_view()}</ol>
        <p><a class="button" href="/me#second-factor">"I have kept them"</a></p>
    }
    .into_any()
}
