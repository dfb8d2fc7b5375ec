//! The frame of every signed-in page: rail, breadcrumb, search, tenant, content.
//!
//! The content stands outside every suspended part: an outlet inside one would get other ids in
//! the browser than on the server, and the page would not come to life.

use domain::{listing::OperationFilter, view::Me};
use leptos::{ev, prelude::*};
use leptos_router::{components::Outlet, hooks::use_location};

use super::{
    icon::{Icon, IconName},
    nav::Nav,
};
use crate::{
    api::{page_data::page_data, session},
    location, text,
};

/// The frame around the route that is shown.
#[component]
pub fn Layout() -> impl IntoView {
    let place = use_location();
    let (path, query) = (place.pathname, place.search);
    let here = Signal::derive(move || location::here(&path.get(), &query.get()));
    // Read again with every page, so that the count of what needs a person does not age.
    let me = page_data(move || path.get(), |_| session::me());
    view! {
        <a class="skip-link" href="#main" rel="external">"Skip to the content"</a>
        <div class="frame">
            <Nav me here/>
            <div class="frame-body">
                <header class="topbar">
                    <button type="button" class="button button--quiet topbar-menu" popovertarget="rail">
                        <Icon name=IconName::Menu/>
                        "Menu"
                    </button>
                    <Breadcrumb path/>
                    <Search path query/>
                    <div class="tenant">
                        <Transition>
                            {move || Suspend::new(async move { me.await.ok().map(|me| tenant(me, here)) })}
                        </Transition>
                    </div>
                </header>
                <main class="main" id="main" tabindex="-1">
                    <Outlet/>
                </main>
            </div>
        </div>
    }
    .into_any()
}

#[component]
fn Breadcrumb(path: Memo<String>) -> impl IntoView {
    view! {
        <nav aria-label="Breadcrumb">
            <ol class="breadcrumb">{move || crumbs(&path.get())}</ol>
        </nav>
    }
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

/// The one search box. Its value is an attribute alone: a property would overwrite what somebody
/// typed before the page came to life. On the list it keeps the filters in force; elsewhere it searches all.
#[component]
fn Search(path: Memo<String>, query: Memo<String>) -> impl IntoView {
    let filter = Memo::new(move |_| {
        if path.get() == "/operations" {
            location::parse_operations(&query.get()).unwrap_or_default()
        } else {
            OperationFilter::default()
        }
    });
    let field = NodeRef::<leptos::html::Input>::new();
    focus_on_slash(field);
    let value = move || filter.with(|filter| filter.q.clone().unwrap_or_default());
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
                node_ref=field
            />
            {move || kept(&filter.read())}
            <kbd class="search-key" aria-hidden="true">"/"</kbd>
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

/// `/` puts the caret into the search, unless one is writing somewhere already.
fn focus_on_slash(field: NodeRef<leptos::html::Input>) {
    Effect::new(move || {
        let handle = window_event_listener(ev::keydown, move |event| {
            let writing = document().active_element().is_some_and(|on| {
                matches!(on.tag_name().as_str(), "INPUT" | "TEXTAREA" | "SELECT")
            });
            let plain = !(event.ctrl_key() || event.meta_key() || event.alt_key());
            if event.key() == "/"
                && plain
                && !writing
                && let Some(field) = field.get_untracked()
            {
                event.prevent_default();
                // Fails only for an element that is gone.
                drop(field.focus());
                field.select();
            }
        });
        on_cleanup(move || handle.remove());
    });
}

/// The session's tenant; a switcher where the person has more than one.
fn tenant(me: Me, here: Signal<String>) -> AnyView {
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
                <input type="hidden" name="return_to" value=move || here.get()/>
                <ul class="menu-list">{others}</ul>
            </form>
        </details>
    }
    .into_any()
}
