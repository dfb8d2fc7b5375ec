//! `/admin/tokens`: every token of the tenant, those that work first.

use domain::{token::TokenVerb, view::TokenView};
use leptos::prelude::*;
use leptos_meta::Title;

use super::detail::mark;
use crate::{
    api::{
        reading::Reading,
        tokens::{NEW_SERVICE, tokens},
    },
    components::{
        data_table::{Column, DataTable},
        empty_state::EmptyState,
        mark::MarkBadge,
        notice::FailedPart,
        timestamp::Timestamp,
    },
    error::ConsoleError,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Name", "col-key"),
    ("Whose", "col-who"),
    ("May", "col-words"),
    ("Expires", "col-instant"),
    ("Last used", "col-instant"),
    ("Made by", "col-maker"),
];

/// The list of tokens.
#[component]
pub fn TokensPage() -> impl IntoView {
    let tokens = Reading::new(tokens);
    view! {
        <Title text="Tokens · Onceover"/>
        <header class="page-head">
            <h1 class="page-title">"Tokens"</h1>
            <a class="button" href=NEW_SERVICE>"Make a token"</a>
        </header>
        {Suspend::new(async move { listed(tokens.await) })}
    }
    .into_any()
}

fn listed(tokens: Result<Vec<TokenView>, ConsoleError>) -> AnyView {
    match tokens {
        Ok(tokens) if tokens.is_empty() => view! {
            <EmptyState title="This tenant has no token yet.">
                <p>
                    "A token lets a service call the JSON API, for the calls and the kinds that it is made "
                    "for. People make their own on their page."
                </p>
            </EmptyState>
        }
        .into_any(),
        Ok(tokens) => {
            let rows = tokens.into_iter().map(row).collect();
            let caption = "Tokens of this tenant, those that work first";
            view! { <DataTable caption columns=COLUMNS rows/> }.into_any()
        }
        Err(error) => view! { <FailedPart error again="/admin/tokens"/> }.into_any(),
    }
}

fn row(token: TokenView) -> AnyView {
    let mark = mark(token.state);
    let covers = covered(&token);
    view! {
        <tr class="row row--tall" role="row">
            <td role="cell" class="col-status"><MarkBadge mark/></td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/admin/tokens/{}", token.id)>{token.name}</a>
            </td>
            <td role="cell" class="col-who" data-label="whose">{token.person.unwrap_or_else(|| "a service".to_owned())}</td>
            <td role="cell" class="col-words cell-sub" data-label="may">{covers}</td>
            <td role="cell" class="col-instant" data-label="expires">{instant(token.expires_at, UNTIL_REVOKED)}</td>
            <td role="cell" class="col-instant" data-label="last used">{instant(token.last_used_at, "not yet")}</td>
            <td role="cell" class="col-maker" data-label="made by">{token.made_by}</td>
        </tr>
    }
    .into_any()
}

/// An instant, or what is said where there is none.
pub(super) fn instant(at: Option<chrono::DateTime<chrono::Utc>>, without: &'static str) -> AnyView {
    match at {
        Some(at) => view! { <Timestamp at/> }.into_any(),
        None => view! { <span class="cell-sub">{without}</span> }.into_any(),
    }
}

/// When a token without an end expires.
pub(super) const UNTIL_REVOKED: &str = "never; until it is revoked";

/// The calls and kinds of a token, short.
pub(super) fn covered(token: &TokenView) -> String {
    let verbs: Vec<_> = token.verbs.iter().copied().map(TokenVerb::as_str).collect();
    let verbs =
        if verbs.is_empty() { "every call its bearer may".to_owned() } else { verbs.join(", ") };
    match token.kinds.as_slice() {
        [] => verbs,
        kinds => format!("{verbs}; of {}", kinds.join(", ")),
    }
}
