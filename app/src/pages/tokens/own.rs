//! The part of `/me` about one's own tokens in this tenant.

use domain::view::TokenView;
use leptos::prelude::*;

use super::{
    detail::mark,
    form::make_own,
    list::{UNTIL_REVOKED, covered, instant},
};
use crate::{
    api::{reading::Reading, tokens::own_tokens},
    components::{
        data_table::{Column, DataTable},
        mark::MarkBadge,
        notice::FailedPart,
        part::Part,
    },
    error::ConsoleError,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Name", "col-key"),
    ("May", "col-words"),
    ("Expires", "col-instant"),
    ("Last used", "col-instant"),
];

/// The list of the reader's tokens, and the way to a new one.
#[component]
pub fn OwnTokens() -> impl IntoView {
    let tokens = Reading::new(own_tokens);
    view! {
        <Part id="tokens" title="Your tokens for the JSON API">
            {Suspend::new(async move { listed(tokens.await) })}
        </Part>
    }
    .into_any()
}

fn listed(tokens: Result<Vec<TokenView>, ConsoleError>) -> AnyView {
    let tokens = match tokens {
        Ok(tokens) => tokens,
        Err(error) => return view! { <FailedPart error again="/me"/> }.into_any(),
    };
    let table = if tokens.is_empty() {
        view! { <p class="prose">"You have no token in this tenant."</p> }.into_any()
    } else {
        let rows = tokens.into_iter().map(row).collect();
        let caption = "Your tokens in this tenant, those that work first";
        view! { <DataTable caption columns=COLUMNS rows/> }.into_any()
    };
    view! { {table} {make_own()} }.into_any()
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
            <td role="cell" class="col-words cell-sub" data-label="may">{covers}</td>
            <td role="cell" class="col-instant" data-label="expires">{instant(token.expires_at, UNTIL_REVOKED)}</td>
            <td role="cell" class="col-instant" data-label="last used">{instant(token.last_used_at, "not yet")}</td>
        </tr>
    }
    .into_any()
}
