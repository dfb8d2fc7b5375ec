//! The pages before and after by keyset cursors, and since when the page is right. No page numbers:
//! nothing counts a table.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{
    icon::{Icon, IconName},
    timestamp::Timestamp,
};

/// What the pages of a list are called: before and after.
#[derive(Debug, Clone, Copy)]
pub struct Ways(
    /// The page before.
    pub &'static str,
    /// The page after.
    pub &'static str,
);

impl Ways {
    /// Newest first.
    pub const BY_AGE: Self = Self("Newer", "Older");
}

/// The foot of a list.
#[component]
pub fn Pager(
    /// How many rows the page has.
    rows: usize,
    /// In which order they stand, where the page does not say it elsewhere.
    #[prop(optional_no_strip)]
    order: Option<&'static str>,
    /// When they were read.
    as_of: DateTime<Utc>,
    /// The address of the page before, where there is one.
    previous: Option<String>,
    /// The address of the page after, where there is one.
    next: Option<String>,
    /// What the two are called.
    ways: Ways,
) -> impl IntoView {
    let noun = if rows == 1 { "row" } else { "rows" };
    let words = match order {
        Some(order) => format!("{rows} {noun}, {order}, read "),
        None => format!("{rows} {noun}, read "),
    };
    let Ways(before, after) = ways;
    view! {
        <nav class="pager" aria-label="Pages">
            <p class="pager-words">{words} <Timestamp at=as_of/></p>
            {previous.map(|href| view! {
                <a class="button" rel="prev" href=href>
                    <Icon name=IconName::Left/>
                    {before}
                </a>
            })}
            {next.map(|href| view! {
                <a class="button" rel="next" href=href>
                    {after}
                    <Icon name=IconName::Right/>
                </a>
            })}
        </nav>
    }
    .into_any()
}
