//! The tools in the heading of a list: its columns, its views, and the whole of it as a file. All work
//! without scripts.

use domain::{listing::List, preferences::Density};
use leptos::prelude::*;

use super::{
    data_table::Column,
    icon::{Icon, IconName},
    list_columns::columns_form,
    list_views::views_form,
};
use crate::{
    api::views::ListViews,
    error::ConsoleError,
    location::{self, Asked},
    look::Look,
};

/// The tools of a list.
#[must_use]
pub fn list_tools(
    list: List,
    columns: &[Column],
    asked: &Asked,
    views: &Result<ListViews, ConsoleError>,
) -> AnyView {
    view! {
        <div class="list-tools">
            {tool("Columns", view! { {columns_form(columns, asked)} {density(asked)} }.into_any())}
            {tool("Views", views_form(list, asked, views))}
            {export(list, asked, "csv", "CSV")}
            {export(list, asked, "json", "JSON")}
        </div>
    }
    .into_any()
}

fn tool(word: &'static str, body: AnyView) -> AnyView {
    view! {
        <details class="menu tool">
            <summary class="button button--quiet">
                {word}
                <Icon name=IconName::Down/>
            </summary>
            <div class="menu-list tool-body">{body}</div>
        </details>
    }
    .into_any()
}

/// The height of rows, for all lists: kept with the account.
fn density(asked: &Asked) -> AnyView {
    let now = Look::in_force().chosen.density;
    let other = match now {
        Density::Dense => Density::Comfortable,
        Density::Comfortable => Density::Dense,
    };
    view! {
        <form class="tool-form" method="post" action="/preferences">
            <input type="hidden" name="return_to" value=asked.href()/>
            <p class="field-help">{format!("Rows are {}, in all lists.", now.label())}</p>
            <div class="tool-buttons">
                <button class="button" name="density" value=other.as_str()>
                    {format!("Make them {}", other.label())}
                </button>
            </div>
        </form>
    }
    .into_any()
}

/// The whole list as a file: the filter goes along, the page does not.
fn export(list: List, asked: &Asked, format: &'static str, word: &'static str) -> AnyView {
    let path = format!("/export/{list}");
    let parts = location::pairs(&asked.whole());
    let parts = parts.iter().filter(|(name, _)| name != location::COLUMNS && name != "format");
    let parts = parts.map(|(name, value)| (name.as_str(), value.as_str()));
    let href = location::href(&path, parts.chain([("format", format)]));
    view! {
        <a class="button button--quiet" href=href rel="external nofollow">
            <span class="visually-hidden">"The whole list as "</span>
            {word}
        </a>
    }
    .into_any()
}
