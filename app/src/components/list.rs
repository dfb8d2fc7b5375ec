//! What every list has in common: heading, filters, chips, rows, the way to newer and older ones, and
//! words for a list that is empty or did not come.
//!
//! A list gives its words and a row; whatever all lists learn, they learn here. The address is the
//! state: filters work without scripts, Back works, a link shows a colleague the same list.

use std::future::Future;

use chrono::{DateTime, Utc};
use domain::listing::{List, Page};
use leptos::prelude::*;

use super::{
    data_table::{Column, DataTable},
    filter_form::{FilterChips, FilterField, FilterForm},
    list_columns::left_out,
    list_tools::list_tools,
    list_views::{BuiltIn, view_tabs},
    notice::{FailedPart, Notice, Tone},
    pager::{Pager, Ways},
    selection::{Selection, may_pick, pickable},
};
use crate::{
    api::{
        reading::Reading,
        views::{ListViews, views},
    },
    error::ConsoleError,
    location::Asked,
};

/// The words of a list.
#[derive(Debug, Clone, Copy)]
pub struct ListSpec {
    /// Its heading.
    pub title: &'static str,
    /// What the rows are, for screen readers, and after a comma in which order, for all.
    pub caption: &'static str,
    /// Its columns.
    pub columns: &'static [Column],
    /// What the pages before and after are called.
    pub ways: Ways,
    /// The views that come with the list.
    pub views: &'static [BuiltIn],
}

/// The heading of a list's page, with the tools of its list.
fn list_heading(
    spec: &ListSpec,
    list: Option<List>,
    asked: &Asked,
    views: &Result<ListViews, ConsoleError>,
) -> AnyView {
    let tools = list.map(|list| list_tools(list, spec.columns, asked, views));
    view! {
        <header class="page-head">
            <h1 class="page-title">{spec.title}</h1>
            {tools}
        </header>
    }
    .into_any()
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
    let picks = pickable(asked.path());
    let order = spec.caption.split_once(", ").map(|(_, order)| order);
    let picked = picks.is_some() && may_pick();
    let selection = picks.map(|picks| view! { <Selection picks asked/> });
    let rows = page.items.into_iter().map(|item| row(item, as_of)).collect();
    view! {
        {narrow}
        {selection}
        <DataTable
            caption=spec.caption
            columns=spec.columns
            left_out=left_out(spec.columns, asked)
            rows
            picked
        />
        <Pager rows=count order as_of previous next ways=spec.ways/>
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
    let list = List::at(asked.path());
    let views = Reading::new(move || async move {
        match list {
            Some(list) => views(list).await,
            None => Ok(ListViews { views: Vec::new(), may_share: false }),
        }
    });
    let (filtered, headed) = (asked.clone(), asked.clone());
    let heading = async move {
        let views = views.await;
        view! {
            {list_heading(spec, list, &headed, &views)}
            {view_tabs(spec.views, &headed, &views)}
        }
    };
    view! {
        {Suspend::new(heading)}
        {Suspend::new(async move { list_filters(&filtered, &fields.await) })}
        {Suspend::new(async move { list_rows(spec, &asked, page.await, row, empty) })}
    }
    .into_any()
}
