//! The frame of every signed-in page: rail, breadcrumb, search, tenant, content.

use domain::{action::Verb, view::Me};
use leptos::prelude::*;
use leptos_router::{components::Outlet, hooks::use_location};

use super::{
    icon::{Icon, IconName},
    nav::Nav,
    page_age::page_age,
};
use crate::{
    api::{reading::Reading, session},
    cookie::single_keys,
    islands::{Keys, Palette, SearchKey},
    location, text,
};

/// The frame around the route that is shown.
#[component]
pub fn Layout() -> impl IntoView {
    let place = use_location();
    let (path, query) = (place.pathname.get_untracked(), place.search.get_untracked());
    let here = location::here(&path, &query);
    let single = single_keys();
    // Begun before the page's own reading, and read by every page, so that the count of what needs a
    // person does not age.
    let me = Reading::new(session::me);
    let tenant = {
        let here = here.clone();
        Suspend::new(async move { me.await.ok().map(|me| tenant(me, here)) })
    };
    let age = {
        let (path, query) = (path.clone(), query.clone());
        Suspend::new(async move {
            me.await.ok().map(|me| page_age(me.as_of, &me.tenant_slug, &path, &query))
        })
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
                    <Search path query single/>
                    <div class="tenant">{tenant}</div>
                </header>
                <main class="main" id="main" tabindex="-1">
                    {age}
                    <Outlet/>
                </main>
            </div>
        </div>
        {single.then(|| view! { <Keys/> })}
        <Palette/>
    }
    .into_any()
}

/// The pages of the console by the first part of their address, as breadcrumb and rail call them.
const PLACES: [(&str, &str); 18] = [
    ("operations", "Operations"),
    ("workflows", "Workflows"),
    ("compensations", "Undos"),
    ("outbox", "Outbox"),
    ("inbox", "Inbox"),
    ("conflicts", "Conflicts"),
    ("leases", "Leases"),
    ("approvals", "Approvals"),
    ("incidents", "Incidents"),
    ("bulks", "Bulks"),
    ("audit", "Audit"),
    ("admin", "Administration"),
    ("receipts", "Receipt"),
    ("reveals", "Revealed fields"),
    ("tokens", "Tokens"),
    ("search", "Search"),
    ("views", "Views of lists"),
    ("help", "Help"),
];

/// First parts that are no pages themselves: what stands below them is.
const NO_PAGES: [&str; 5] = ["compensations", "admin", "receipts", "reveals", "tokens"];

/// The way to a page: each step but the last is a link, where it has a page of its own.
fn crumbs(path: &str) -> Vec<AnyView> {
    let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
    let place = parts.first().and_then(|first| PLACES.iter().find(|(known, _)| known == first));
    let steps: Vec<(String, Option<String>)> = match (place, parts.as_slice()) {
        (None, []) => vec![("Attention".into(), None)],
        (None, ["me"]) => vec![("You".into(), None)],
        (None, ["me", form]) => vec![("You".into(), Some("/me".into())), (step_word(form), None)],
        (Some((first, word)), [_, rest @ ..]) => {
            let mut way = format!("/{first}");
            let own = (!NO_PAGES.contains(first)).then(|| way.clone());
            let mut steps = vec![((*word).to_owned(), own)];
            for part in rest {
                way = format!("{way}/{part}");
                steps.extend(list_above(part).map(|(word, list)| (word.into(), Some(list.into()))));
                steps.push((step_word(part), Some(way.clone())));
            }
            steps
        }
        _ => vec![("Not found".into(), None)],
    };
    let last = steps.len() - 1;
    steps
        .into_iter()
        .enumerate()
        .map(|(index, (word, href))| match href {
            _ if index == last => view! { <li aria-current="page">{word}</li> }.into_any(),
            Some(href) => view! { <li><a href=href>{word}</a></li> }.into_any(),
            None => view! { <li>{word}</li> }.into_any(),
        })
        .collect()
}

/// The list that a form for a new one belongs to, where its address does not name it.
fn list_above(part: &str) -> Option<(&'static str, &'static str)> {
    match part {
        "new-kind" => Some(("Kinds", "/admin/kinds")),
        "new-token" => Some(("Tokens", "/admin/tokens")),
        _ => None,
    }
}

/// What a part of an address below the first is called: an action, a page, or an id that is cut.
fn step_word(part: &str) -> String {
    match part {
        "kinds" => "Kinds".into(),
        "new-kind" => "Add a kind".into(),
        "put_kind" => "Change the policy".into(),
        "staff" => "Staff".into(),
        "tokens" => "Tokens".into(),
        "new-token" => "Make a token".into(),
        "second-factor" => "Second factor".into(),
        "made" => "The new token".into(),
        "report" => "Report".into(),
        "gather" => "Gather".into(),
        "evidence" => "Evidence".into(),
        "reveal" => "Reveal".into(),
        "compensate" => "Undo".into(),
        _ if part.parse::<Verb>().is_ok() => text::capitalised(&part.replace('_', " ")),
        _ => text::cut_middle(part, 9),
    }
}

/// The one search box, over all records. `/` is a hint only where single keys are commands.
#[component]
fn Search(path: String, query: String, single: bool) -> impl IntoView {
    let asked = if path == "/search" { location::value(&query, "q") } else { None };
    let value = asked.unwrap_or_default();
    view! {
        <form class="search" role="search" method="get" action="/search">
            <label class="visually-hidden" for="search">
                "Search by key, invoice, recipient, reference, id, workflow key, or amount with currency"
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
            {single.then(|| view! { <SearchKey field="search"/> })}
        </form>
    }
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
