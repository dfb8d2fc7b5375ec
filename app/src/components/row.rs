//! One record's row in a list: the one place that learns what all rows carry.

use domain::record::RecordType;
use leptos::prelude::*;

use super::selection::{may_pick, pick};

/// A row about a record, which says in its markup which one: what changes while the list is read,
/// and what a person picks, is found by it.
#[component]
pub fn Row(
    /// What the row is about.
    record: RecordType,
    /// Its id.
    #[prop(into)]
    id: String,
    /// The word of its state, for the tint.
    #[prop(optional)]
    status: Option<&'static str>,
    /// What it is called, where it stands in a list whose rows can be picked by those who may.
    #[prop(optional, into)]
    named: Option<String>,
    children: Children,
) -> impl IntoView {
    let record = [record.label().to_owned(), id].join("/");
    let picked = named.filter(|_| may_pick()).map(|name| pick(&record, &name));
    view! {
        <tr class="row" role="row" data-record=record data-status=status>
            {picked}
            {children()}
        </tr>
    }
    .into_any()
}
