//! `/admin/kinds`: the kinds of operation that this tenant has, by name, in pages.

use domain::access::Permission;
use leptos::prelude::*;
use leptos_meta::Title;

use super::policy::place;
use crate::{
    api::{operations::kinds_from, reading::Reading, records::permits},
    components::{
        data_table::{Column, DataTable},
        empty_state::EmptyState,
        key::Key,
        notice::FailedPart,
    },
    error::ConsoleError,
    location::{href, value},
    pages::address::query,
};

const COLUMNS: &[Column] = &[("Kind", "col-key"), ("Its operations", "col-taken")];
/// Kinds of one page.
const MAX_SHOWN: usize = 100;

/// The list of kinds.
#[component]
pub fn KindsPage() -> impl IntoView {
    let query = query();
    let asked = |name| value(&query, name).unwrap_or_default().trim().to_owned();
    let (prefix, from) = (asked("q"), asked("from"));
    let searched = prefix.clone();
    let names = Reading::new(move || {
        let (prefix, from) = (prefix.clone(), from.clone());
        let more = i64::try_from(MAX_SHOWN + 1).unwrap_or(i64::MAX);
        async move { kinds_from(&prefix, &from, more).await }
    });
    let may = permits(Permission::ManageKinds).unwrap_or_default();
    let first = asked("from").is_empty();
    view! {
        <Title text="Kinds · Onceover"/>
        <header class="page-head">
            <h1 class="page-title">"Kinds"</h1>
            {may.then(|| view! { <a class="button" href="/admin/new-kind">"Add a kind"</a> })}
        </header>
        {Suspend::new(async move { listed(names.await, &searched, first) })}
    }
    .into_any()
}

/// The search and what it found: by the beginning of the name.
fn listed(names: Result<Vec<String>, ConsoleError>, prefix: &str, first: bool) -> AnyView {
    let mut names = match names {
        Ok(names) => names,
        Err(error) => return view! { <FailedPart error again="/admin/kinds"/> }.into_any(),
    };
    if names.is_empty() && prefix.is_empty() && first {
        return view! {
            <EmptyState title="This tenant has no kind yet.">
                <p>
                    "A kind says what may be done with the operations of one sort: how often they are tried, "
                    "whose word is proof, from which amount on a second person decides. Nothing can be "
                    "reserved before its kind is there."
                </p>
            </EmptyState>
        }
        .into_any();
    }
    let next = (names.len() > MAX_SHOWN)
        .then(|| names.split_off(MAX_SHOWN))
        .and_then(|mut rest| rest.pop());
    let at = |from: Option<&str>| {
        let q = (!prefix.is_empty()).then_some(("q", prefix));
        href("/admin/kinds", q.into_iter().chain(from.map(|from| ("from", from))))
    };
    let searched = !prefix.is_empty() || !first || next.is_some();
    let search = searched.then(|| {
        view! {
            <form class="filter-form" method="get" action="/admin/kinds" aria-label="Filter">
                <div class="filter-field">
                    <label class="filter-label" for="kinds-q">"Begins with"</label>
                    <input
                        class="filter-input"
                        id="kinds-q"
                        type="text"
                        name="q"
                        maxlength="128"
                        autocomplete="off"
                        spellcheck="false"
                        value=prefix.to_owned()
                    />
                </div>
                <button class="button">"Apply"</button>
            </form>
        }
    });
    let none = names.is_empty().then(|| {
        view! { <EmptyState title="No kind begins so."><p><a href="/admin/kinds">"Show all kinds"</a></p></EmptyState> }
    });
    let begin = (!first).then(|| view! { <a class="button" href=at(None)>"From the first"</a> });
    let next = next.map(|from| {
        view! { <a class="button" rel="next" href=at(Some(&from))>"Further kinds"</a> }
    });
    let rows = names.into_iter().map(row).collect();
    view! {
        {search}
        <DataTable caption="Kinds of operation, by name" columns=COLUMNS rows/>
        {none}
        <nav class="pager" aria-label="Pages">{begin} {next}</nav>
    }
    .into_any()
}

fn row(name: String) -> AnyView {
    let place = place(&name);
    let operations = href("/operations", [("operation", name.as_str())]);
    view! {
        <tr class="row" role="row">
            <td role="cell" class="col-key">
                <a class="row-link" href=place><Key text=name/></a>
            </td>
            <td role="cell" class="col-taken" data-label="its operations"><a href=operations>"Show them"</a></td>
        </tr>
    }
    .into_any()
}
