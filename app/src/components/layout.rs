//! The frame of every signed-in page: rail, breadcrumb, search, tenant, content.

use domain::{listing::OperationFilter, view::Me};
use leptos::prelude::*;
use leptos_router::{components::Outlet, hooks::use_location};

use super::{
    icon::{Icon, IconName},
    nav::Nav,
};
use crate::{
    api::{reading::Reading, session},
    islands::SearchKey,
    location, text,
};

/// The frame around the route that is shown.
#[component]
pub fn Layout() -> impl IntoView {
    let place = use_location();
    let (path, query) = (place.pathname.get_untracked(), place.search.get_untracked());
    let here = location::here(&path, &query);
    // Begun before the page's own reading, and read by every page, so that the count of what needs a
    // person does not age.
    let me = Reading::new(session::me);
    let tenant = {
        let here = here.clone();
        Suspend::new(async move { me.await.ok().map(|me| tenant(me, here)) })
    };
    view! {
        <a class="skip-link" href="#main">"Skip to the content"</a>
        <div class="frame">
            <Nav me here/>
            <div class="frame-body">
                <header class="topbar">
                    <button type="button" class="button button--quiet topbar-menu" popovertarget="rail">
                        <Icon name=IconName::Menu/>
                        "Menu"
                    </button>
                    <nav aria-label="Breadcrumb">
                        <ol class="breadcrumb">{crumbs(&path)}</ol>
                    </nav>
                    <Search path query/>
                    <div class="tenant">{tenant}</div>
                </header>
                <main class="main" id="main" tabindex="-1">
                    <Outlet/>
                </main>
            </div>
        </div>
    }
    .into_any()
}

/// The way to a page: each step but the last is a link, where it has a page of its own.
fn crumbs(path: &str) -> Vec<AnyView> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let steps: Vec<(String, Option<String>)> = match parts.as_slice() {
        [] => vec![("Attention".into(), None)],
        ["operations"] => vec![("Operations".into(), None)],
        ["operations", id] => {
            vec![("Operations".into(), Some("/operations".into())), (text::cut_middle(id, 9), None)]
        }
        ["operations", id, verb] => vec![
            ("Operations".into(), Some("/operations".into())),
            (text::cut_middle(id, 9), Some(format!("/operations/{id}"))),
            (verb_word(verb).into(), None),
        ],
        ["receipts", id] => vec![("Receipt".into(), None), (text::cut_middle(id, 9), None)],
        ["me"] => vec![("You".into(), None)],
        _ => vec![("Not found".into(), None)],
    };
    let last = steps.len() - 1;
    steps
        .into_iter()
        .enumerate()
        .map(|(index, (word, href))| match href {
            Some(href) => view! { <li><a href=href>{word}</a></li> }.into_any(),
            None if index == last => view! { <li aria-current="page">{word}</li> }.into_any(),
            None => view! { <li>{word}</li> }.into_any(),
        })
        .collect()
}

fn verb_word(verb: &str) -> &'static str {
    match verb {
        "confirm" => "Confirm",
        "release" => "Release",
        "reconcile" => "Reconcile",
        "retry" => "Retry",
        "cancel" => "Cancel",
        _ => "Action",
    }
}

/// The one search box. On the list it keeps the filters in force; elsewhere it searches all.
#[component]
fn Search(path: String, query: String) -> impl IntoView {
    let filter = match path.as_str() {
        "/operations" => location::parse_operations(&query).unwrap_or_default(),
        _ => OperationFilter::default(),
    };
    let value = filter.q.clone().unwrap_or_default();
    view! {
        <form class="search" role="search" method="get" action="/operations">
            <label class="visually-hidden" for="search">
                "Search operations by key, invoice, recipient, reference, id, or amount with currency"
            </label>
            <Icon name=IconName::Search/>
            <input
                class="search-input"
                id="search"
                type="search"
                name="q"
                maxlength="512"
                autocomplete="off"
                spellcheck="false"
                placeholder="Key, invoice, reference, id, 129.00 EUR"
                value=value
            />
            {kept(&filter)}
            <SearchKey field="search"/>
        </form>
    }
}

/// Filters that the search keeps, as hidden fields. The cursor goes: it belongs to another list.
fn kept(filter: &OperationFilter) -> Vec<AnyView> {
    let kept = OperationFilter { q: None, cursor: None, ..filter.clone() };
    location::pairs(&location::operations_query(&kept))
        .into_iter()
        .map(|(name, value)| view! { <input type="hidden" name=name value=value/> }.into_any())
        .collect()
}

/// The session's tenant; a switcher where the person has more than one.
fn tenant(me: Me, here: String) -> AnyView {
    if me.tenants.len() < 2 {
        return view! {
            <span class="visually-hidden">"Tenant: "</span>
            <span class="tenant-name">{me.tenant}</span>
        }
        .into_any();
    }
    let current = me.tenant_slug;
    let others = me
        .tenants
        .into_iter()
        .map(|(slug, name)| {
            let here_now = slug == current;
            view! {
                <li>
                    <button
                        class="menu-item"
                        name="tenant"
                        value=slug
                        disabled=here_now
                        aria-current=here_now.then_some("true")
                    >
                        {name}
                    </button>
                </li>
            }
        })
        .collect_view();
    view! {
        <details class="menu">
            <summary class="button button--quiet">
                <span class="visually-hidden">"Tenant: "</span>
                <span class="tenant-name">{me.tenant}</span>
                <Icon name=IconName::Down/>
            </summary>
            <form method="post" action="/session/tenant">
                <input type="hidden" name="return_to" value=here/>
                <ul class="menu-list">{others}</ul>
            </form>
        </details>
    }
    .into_any()
}
