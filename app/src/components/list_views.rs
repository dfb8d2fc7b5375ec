//! The views of a list: those that come with it, those that people keep, and the forms to keep one and to
//! look after the own ones.

use domain::{access::Permission, listing::List, view::SavedView};
use leptos::prelude::*;

use crate::{
    api::views::{ListView, ListViews},
    error::ConsoleError,
    location::{self, Asked},
};

/// A view that comes with its list: what it is called, and the part of the address that chooses it.
pub type BuiltIn = (&'static str, Option<&'static str>);

/// The views as links. Which one is shown, the address alone says.
#[must_use]
pub fn view_tabs(
    built_in: &[BuiltIn],
    asked: &Asked,
    saved: &Result<ListViews, ConsoleError>,
) -> AnyView {
    let saved: &[ListView] = match saved {
        Ok(saved) => &saved.views,
        // What the list itself says about the same fault is enough.
        Err(_) => &[],
    };
    if built_in.is_empty() && saved.is_empty() {
        return ().into_any();
    }
    let here = asked.whole();
    let is_here = |view: &ListView| Asked::read(asked.path(), &view.view.query).whole() == here;
    let is_saved = saved.iter().any(is_here);
    let all: &[BuiltIn] = if built_in.is_empty() { &[("All", None)] } else { built_in };
    let chosen = |part: &&str| asked.value(part) == Some("true");
    let chosen = built_in.iter().find_map(|(_, part)| part.filter(chosen));
    let bare = !built_in.is_empty() || !asked.narrows();
    let built_in = all
        .iter()
        .map(|(word, part)| {
            let href = location::href(asked.path(), part.map(|part| (part, "true")));
            let current = (*part == chosen && bare && !is_saved).then_some("page");
            view! { <li><a class="tab" href=href aria-current=current>{*word}</a></li> }
        })
        .collect_view();
    let saved = saved
        .iter()
        .map(|view| {
            let current = is_here(view).then_some("page");
            let href = location::here(asked.path(), &view.view.query);
            let whose = whose(view);
            view! {
                <li>
                    <a class="tab" href=href aria-current=current>
                        <bdi>{view.view.name.clone()}</bdi>
                        {whose}
                    </a>
                </li>
            }
        })
        .collect_view();
    view! { <nav class="tabs" aria-label="Views"><ul>{built_in}{saved}</ul></nav> }.into_any()
}

/// Whose a view is, and whether it still fits its list.
fn whose(view: &ListView) -> AnyView {
    let words = match (&view.view.owner, view.view.shared) {
        (Some(owner), _) => Some(format!("by {owner}")),
        (None, true) => Some("shared".to_owned()),
        (None, false) => None,
    };
    let unfit = (!view.fits).then_some("no longer valid");
    let words: Vec<_> = words.into_iter().chain(unfit.map(str::to_owned)).collect();
    let words = (!words.is_empty()).then(|| {
        view! { " " <span class="tab-whose"><bdi>{words.join(", ")}</bdi></span> }
    });
    words.into_any()
}

/// The form that keeps what is shown now, and those of the reader's own views.
#[must_use]
pub fn views_form(list: List, asked: &Asked, saved: &Result<ListViews, ConsoleError>) -> AnyView {
    let Ok(saved) = saved else {
        return view! { <p class="prose">"The views did not come. The list is not touched by that."</p> }
            .into_any();
    };
    let (may_share, here) = (saved.may_share, asked.href());
    let own: Vec<_> = saved.views.iter().filter(|view| view.view.owner.is_none()).collect();
    let own = (!own.is_empty()).then(|| {
        let forms =
            own.into_iter().map(|view| own_form(&view.view, may_share, &here)).collect_view();
        view! {
            <div>
                <h2 class="tool-title">"Your views of this list"</h2>
                <ul class="tool-views">{forms}</ul>
            </div>
        }
    });
    let keep = keep_form(list, &asked.whole(), "", may_share, false, None);
    view! { {keep} {own} }.into_any()
}

/// What the form calls a view's name.
pub const KEEP_AS: &str = "Keep this view as";

/// The form that keeps a view of a list under a name; `wrong` is why the name was refused.
#[must_use]
pub fn keep_form(
    list: List,
    query: &str,
    name: &str,
    may_share: bool,
    shared: bool,
    wrong: Option<&'static str>,
) -> AnyView {
    let error = wrong.map(|why| view! { <p class="field-error" id="view-name-error">{why}</p> });
    let described = if wrong.is_some() { "view-name-error view-help" } else { "view-help" };
    let invalid = wrong.map(|_| "true");
    view! {
        <form class="tool-form" method="post" action="/views">
            <input type="hidden" name="list" value=list.as_str()/>
            <input type="hidden" name="query" value=query.to_owned()/>
            <div class="field" data-invalid=invalid>
                <label class="field-label" for="view-name">{KEEP_AS}</label>
                <input
                    class="input"
                    id="view-name"
                    name="name"
                    required
                    maxlength="80"
                    autocomplete="off"
                    aria-describedby=described
                    aria-invalid=invalid
                    value=name.to_owned()
                />
                {error}
                <p class="field-help" id="view-help">
                    "Filters and columns, not the rows. A view of yours with that name is replaced."
                </p>
            </div>
            {sharing(may_share, shared && may_share)}
            <div class="tool-buttons"><button class="button">"Keep the view"</button></div>
        </form>
    }
    .into_any()
}

/// One of the reader's own views: another name, shared or not, or gone.
fn own_form(view: &SavedView, may_share: bool, here: &str) -> AnyView {
    let label = format!("Name of the view {}", view.name);
    view! {
        <li>
            <form class="tool-form" method="post" action=format!("/views/{}", view.id)>
                <input type="hidden" name="return_to" value=here.to_owned()/>
                <input class="input" name="name" required maxlength="80" autocomplete="off"
                    aria-label=label value=view.name.clone()/>
                {sharing(may_share || view.shared, view.shared)}
                <div class="tool-buttons">
                    <button class="button" name="do" value="change">"Change"</button>
                    <button class="button button--quiet" name="do" value="delete">"Delete the view"</button>
                </div>
            </form>
        </li>
    }
    .into_any()
}

fn sharing(may_share: bool, shared: bool) -> AnyView {
    let why = (!may_share).then(|| {
        let holders = Permission::ShareViews.holders();
        let holders: Vec<_> = holders.into_iter().map(|role| role.as_str()).collect();
        view! { <span class="menu-why">{format!("Not you: {}.", holders.join(", "))}</span> }
    });
    view! {
        <label class="filter-check">
            <input type="checkbox" name="shared" value="true" checked=shared disabled=!may_share/>
            "Share with the team"
        </label>
        {why}
    }
    .into_any()
}
