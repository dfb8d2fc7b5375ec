//! `/admin/kinds`: the kinds of operation that this tenant has.

use leptos::prelude::*;
use leptos_meta::Title;

use super::policy::place;
use crate::{
    api::{operations::kind_names, reading::Reading},
    components::{
        data_table::{Column, DataTable},
        empty_state::EmptyState,
        key::Key,
        notice::FailedPart,
    },
    error::ConsoleError,
    location::href,
};

const COLUMNS: &[Column] = &[("Kind", "col-key"), ("Its operations", "col-taken")];

/// The list of kinds.
#[component]
pub fn KindsPage() -> impl IntoView {
    let names = Reading::new(kind_names);
    view! {
        <Title text="Kinds · Onceover"/>
        <header class="page-head"><h1 class="page-title">"Kinds"</h1></header>
        {Suspend::new(async move { listed(names.await) })}
    }
    .into_any()
}

fn listed(names: Result<Vec<String>, ConsoleError>) -> AnyView {
    let names = match names {
        Ok(names) => names,
        Err(error) => return view! { <FailedPart error again="/admin/kinds"/> }.into_any(),
    };
    if names.is_empty() {
        return view! {
            <EmptyState title="This tenant has no kind yet.">
                <p>
                    "A kind says what may be done with the operations of one sort: how often they are tried, "
                    "whose word is proof, from which amount on a second person decides. Nothing can be "
                    "reserved before its kind is there."
                </p>
            </EmptyState>
        }
        .into_any();
    }
    let rows = names.into_iter().map(row).collect();
    view! { <DataTable caption="Kinds of operation, by name" columns=COLUMNS rows/> }.into_any()
}

fn row(name: String) -> AnyView {
    let place = place(&name);
    let operations = href("/operations", [("operation", name.as_str())]);
    view! {
        <tr class="row" role="row">
            <td role="cell" class="col-key">
                <a class="row-link" href=place><Key text=name/></a>
            </td>
            <td role="cell" class="col-taken"><a href=operations>"Show them"</a></td>
        </tr>
    }
    .into_any()
}
