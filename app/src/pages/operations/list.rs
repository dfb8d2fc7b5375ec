//! `/operations`: filters, search and keyset pages, all of it in the address.

use domain::{
    listing::{OperationFilter, Page},
    view::OperationRow,
};
use leptos::prelude::*;
use leptos_meta::Title;

use super::row::{LIST_COLUMNS, list_row};
use crate::{
    api::{
        operations::{kind_names, list_operations},
        reading::Reading,
    },
    components::{
        data_table::DataTable,
        empty_state::EmptyState,
        filter_form::{FilterChips, FilterForm},
        notice::{FailedPart, Notice, Tone},
        pager::Pager,
    },
    error::ConsoleError,
    location,
    pages::address::query,
};

/// The list of operations.
#[component]
pub fn ListPage() -> impl IntoView {
    let query = query();
    let kinds = Reading::new(kind_names);
    let page = {
        let query = query.clone();
        Reading::new(move || {
            let query = query.clone();
            async move { list_operations(&query).await }
        })
    };
    let filter = location::parse_operations(&query).unwrap_or_default();
    view! {
        <Title text="Operations · Onceover"/>
        <header class="page-head">
            <h1 class="page-title">"Operations"</h1>
        </header>
        {Suspend::new(async move { filters(filter, kinds.await.unwrap_or_default()) })}
        {Suspend::new(async move { rows(&query, page.await) })}
    }
    .into_any()
}

fn filters(filter: OperationFilter, kinds: Vec<String>) -> AnyView {
    view! {
        <FilterForm filter=filter.clone() kinds/>
        <FilterChips filter/>
    }
    .into_any()
}

fn rows(query: &str, page: Result<Page<OperationRow>, ConsoleError>) -> AnyView {
    let page = match page {
        Ok(page) => page,
        Err(error) => {
            let again = location::here("/operations", query);
            return view! { <FailedPart error again/> }.into_any();
        }
    };
    let filter = location::parse_operations(query).unwrap_or_default();
    let at = |cursor: Option<String>| {
        let to = |cursor| OperationFilter { cursor: Some(cursor), ..filter.clone() };
        cursor.map(|cursor| location::operations_href(&to(cursor)))
    };
    let (previous, next) = (at(page.previous), at(page.next));
    if page.items.is_empty() && previous.is_none() && next.is_none() {
        return empty(&filter);
    }
    let narrow = page.narrow.then(|| {
        view! {
            <Notice tone=Tone::Neutral title="More operations match than are looked through.">
                <p>"Type more of the key or reference: a longer beginning finds the rest."</p>
            </Notice>
        }
    });
    let (as_of, count) = (page.as_of, page.items.len());
    let rows = page.items.into_iter().map(|row| list_row(row, as_of)).collect();
    view! {
        {narrow}
        <DataTable caption="Operations, newest first" columns=LIST_COLUMNS rows/>
        <Pager rows=count as_of previous next/>
    }
    .into_any()
}

fn empty(filter: &OperationFilter) -> AnyView {
    let narrowed = *filter != OperationFilter { limit: filter.limit, ..OperationFilter::default() };
    if narrowed {
        view! {
            <EmptyState title="No operation matches.">
                <p>
                    "The search is exact or by prefix over key, invoice, recipient, reference, "
                    "workflow key and id; an amount needs its currency, such as 129.00 EUR. "
                    "Operations that have ended are looked for in the last 90 days, "
                    "unless a day is given."
                </p>
                <p><a href="/operations">"Show all operations"</a></p>
            </EmptyState>
        }
        .into_any()
    } else {
        view! {
            <EmptyState title="No operation has been reserved yet.">
                <p>"A service reserves its first one with its token and a key of its own:"</p>
                <pre tabindex="0" role="region" aria-label="Example request">
                    <code>
                        "POST /api/v1/operations\nAuthorization: Bearer …\nIdempotency-Key: invoice-1042\n\n"
                        "{\"operation\": \"invoice.charge\", \"amount_minor\": 12900, \"currency\": \"EUR\",\n"
                        " \"payload\": {\"invoice_id\": \"INV-1042\", \"amount_minor\": 12900, \"currency\": \"EUR\"}}"
                    </code>
                </pre>
            </EmptyState>
        }
        .into_any()
    }
}
