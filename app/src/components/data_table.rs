//! The frame of a list: caption, header, rows. Roles stand in the markup because below 720 px the
//! rows are laid out as cards, and a browser then forgets that they were a table.

use leptos::prelude::*;

/// A column: its heading, and the class that its cells share.
pub type Column = (&'static str, &'static str);

/// A table of records.
#[component]
pub fn DataTable(
    /// What the table holds, for screen readers.
    caption: &'static str,
    /// The columns, in order.
    columns: &'static [Column],
    /// The places of columns that are left out, from one.
    #[prop(optional_no_strip)]
    left_out: Option<String>,
    /// One row (`super::row::Row`) per record.
    rows: Vec<AnyView>,
    /// Whether its rows can be picked, by a cell of their own.
    #[prop(optional)]
    picked: bool,
) -> impl IntoView {
    let heads = columns
        .iter()
        .map(|(heading, class)| {
            view! { <th role="columnheader" scope="col" class=*class>{*heading}</th> }
        })
        .collect_view();
    let picks = picked.then(|| {
        view! { <th role="columnheader" scope="col" class="pick-cell"><span class="visually-hidden">"Pick"</span></th> }
    });
    view! {
        <table class="table table--bleed" role="table" data-left-out=left_out>
            <caption class="visually-hidden">{caption}</caption>
            <thead role="rowgroup">
                <tr role="row">{picks} {heads}</tr>
            </thead>
            <tbody role="rowgroup">{rows}</tbody>
        </table>
    }
    .into_any()
}
