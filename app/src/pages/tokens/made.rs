//! `/tokens/made`: the answer to the form that makes a token, and the only page that ever shows a token's
//! text. Opened by itself it shows nothing.

use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::tokens::{JustMade, just_made},
    components::{
        empty_state::EmptyState,
        icon::{Icon, IconName},
        key::Key,
        notice::{Notice, Tone},
    },
    islands::CopyButton,
};

/// The page.
#[component]
pub fn MadePage() -> impl IntoView {
    view! {
        <Title text="Token · Onceover"/>
        <header class="page-head"><h1 class="page-title">"The token"</h1></header>
        {match just_made() {
            Some(made) => told(made),
            None => nothing(),
        }}
    }
    .into_any()
}

fn told(made: JustMade) -> AnyView {
    let JustMade { name, id, secret, receipt } = made;
    let token = format!("/admin/tokens/{id}");
    let receipt = format!("/receipts/{receipt}");
    let notice = match secret {
        Some(secret) => view! {
            <Notice tone=Tone::Good title="It is made. Copy its text now: it is shown this once.">
                <p>{name}</p>
                <p data-secret="">
                    <Key text=secret.clone() whole=true/>
                    <CopyButton text=secret what="the token" link=false>
                        <Icon name=IconName::Copy/>
                    </CopyButton>
                </p>
                <p>"Keep it where your program reads its secrets, and in no file that is shared."</p>
            </Notice>
        }
        .into_any(),
        None => view! {
            <Notice tone=Tone::Caution title="This form made the token before. Its text is not shown again.">
                <p>{name}</p>
                <p>"Nothing was made now. If nobody kept the text, revoke the token and make another one."</p>
            </Notice>
        }
        .into_any(),
    };
    view! {
        <div class="stack">
            {notice}
            <p class="form-actions">
                <a class="button" href=token>"Open the token"</a>
                <a class="button" href=receipt>"Its receipt"</a>
            </p>
        </div>
    }
    .into_any()
}

fn nothing() -> AnyView {
    view! {
        <EmptyState title="Nothing is shown here.">
            <p>
                "A token\u{2019}s text is shown once, in answer to the form that makes it. "
                <a href="/me#tokens">"Your tokens"</a> " · " <a href="/admin/tokens">"The tenant\u{2019}s tokens"</a>
            </p>
        </EmptyState>
    }
    .into_any()
}
