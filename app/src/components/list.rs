//! What every list has in common: heading, filters, chips, rows, the way to newer and older ones, and
//! words for a list that is empty or did not come.
//!
//! A list gives its words and a row; whatever all lists learn, they learn here. The address is the
//! state: filters work without scripts, Back works, a link shows a colleague the same list.

use std::future::Future;

use chrono::{DateTime, Utc};
use domain::listing::Page;
use leptos::prelude::*;

use super::{
    data_table::{Column, DataTable},
    filter_form::{FilterChips, FilterField, FilterForm},
    notice::{FailedPart, Notice, Tone},
    pager::{Pager, Ways},
};
use crate::{
    api::reading::Reading,
    error::ConsoleError,
    location::{self, Asked},
};

/// The words of a list.
#[derive(Debug, Clone, Copy)]
pub struct ListSpec {
    /// Its heading.
    pub title: &'static str,
    /// What the rows are and in which order, for screen readers.
    pub caption: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// What the pages before and after are called.
    pub ways: Ways,
    /// Views of the list: what each is called, and the part of the address that chooses it.
    pub views: &'static [(&'static str, Option<&'static str>)],
}

/// The heading of a list's page.
fn list_heading(spec: &ListSpec) -> AnyView {
    view! {
        <header class="page-head">
            <h1 class="page-title">{spec.title}</h1>
        </header>
    }
    .into_any()
}

/// The views of a list, as links.
fn list_views(spec: &ListSpec, asked: &Asked) -> Option<AnyView> {
    if spec.views.is_empty() {
        return None;
    }
    let chosen = |part: &&str| asked.value(part) == Some("true");
    let current = spec.views.iter().find_map(|(_, part)| part.filter(chosen));
    let tabs = spec
        .views
        .iter()
        .map(|(word, part)| {
            let href = location::href(asked.path(), part.map(|part| (part, "true")));
            let current = (*part == current).then_some("page");
            view! { <li><a class="tab" href=href aria-current=current>{*word}</a></li> }
        })
        .collect_view();
    Some(view! { <nav class="tabs" aria-label="Views"><ul>{tabs}</ul></nav> }.into_any())
}

/// The filters of a list and what is in force.
fn list_filters(asked: &Asked, fields: &[FilterField]) -> AnyView {
    if fields.is_empty() {
        return ().into_any();
    }
    view! {
        <FilterForm asked fields/>
        <FilterChips asked fields/>
    }
    .into_any()
}

/// The rows of a list, or why there are none. `empty` says what an empty list teaches; it is told
/// whether anything narrows the list.
fn list_rows<R>(
    spec: &ListSpec,
    asked: &Asked,
    page: Result<Page<R>, ConsoleError>,
    row: impl Fn(R, DateTime<Utc>) -> AnyView,
    empty: impl FnOnce(bool) -> AnyView,
) -> AnyView {
    let page = match page {
        Ok(page) => page,
        Err(error) => return view! { <FailedPart error again=asked.href()/> }.into_any(),
    };
    let at = |cursor: Option<String>| cursor.map(|cursor| asked.at(&cursor));
    let (previous, next) = (at(page.previous), at(page.next));
    if page.items.is_empty() && previous.is_none() && next.is_none() {
        return empty(asked.narrows());
    }
    let narrow = page.narrow.then(|| {
        view! {
            <Notice tone=Tone::Neutral title="More match than are looked through.">
                <p>"Type more of what you search: a longer beginning finds the rest."</p>
            </Notice>
        }
    });
    let (as_of, count) = (page.as_of, page.items.len());
    let rows = page.items.into_iter().map(|item| row(item, as_of)).collect();
    view! {
        {narrow}
        <DataTable caption=spec.caption columns=spec.columns rows/>
        <Pager rows=count as_of previous next ways=spec.ways/>
    }
    .into_any()
}

/// A list's whole page: what the address asks for, its filters and its rows.
pub fn list_page<R, F, L>(
    spec: &'static ListSpec,
    asked: Asked,
    fields: impl Future<Output = Vec<FilterField>> + Send + 'static,
    load: impl Fn(Asked) -> L + Send + Sync + 'static,
    row: F,
    empty: fn(bool) -> AnyView,
) -> AnyView
where
    R: Clone + Send + Sync + 'static,
    F: Fn(R, DateTime<Utc>) -> AnyView + Send + 'static,
    L: Future<Output = Result<Page<R>, ConsoleError>> + Send + 'static,
{
    let page = {
        let asked = asked.clone();
        Reading::new(move || load(asked.clone()))
    };
    let (filtered, views) = (asked.clone(), list_views(spec, &asked));
    view! {
        {list_heading(spec)}
        {views}
        {Suspend::new(async move { list_filters(&filtered, &fields.await) })}
        {Suspend::new(async move { list_rows(spec, &asked, page.await, row, empty) })}
    }
    .into_any()
}
