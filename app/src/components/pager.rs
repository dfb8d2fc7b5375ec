//! Newer and older by keyset cursors, and since when the page is right. No page numbers: nothing
//! counts a table.

use chrono::{DateTime, Utc};
use leptos::prelude::*;

use super::{
    icon::{Icon, IconName},
    timestamp::Timestamp,
};

/// The foot of a list.
#[component]
pub fn Pager(
    /// How many rows the page has.
    rows: usize,
    /// When they were read.
    as_of: DateTime<Utc>,
    /// The address of the page before, where there is one.
    previous: Option<String>,
    /// The address of the page after, where there is one.
    next: Option<String>,
) -> impl IntoView {
    let noun = if rows == 1 { " row, read " } else { " rows, read " };
    view! {
        <nav class="pager" aria-label="Pages">
            <p class="pager-words">{rows.to_string()} {noun} <Timestamp at=as_of/></p>
            {previous.map(|href| view! {
                <a class="button" rel="prev" href=href>
                    <Icon name=IconName::Left/>
                    "Newer"
                </a>
            })}
            {next.map(|href| view! {
                <a class="button" rel="next" href=href>
                    "Older"
                    <Icon name=IconName::Right/>
                </a>
            })}
        </nav>
    }
    .into_any()
}
