//! `/operations`: filters, search and keyset pages, all of it in the address.

use domain::{listing::StatusFilter, operation::Status};
use leptos::prelude::*;
use leptos_meta::Title;

use super::row::{LIST_COLUMNS, list_row};
use crate::{
    api::{
        operations::{kind_names, list_operations},
        reading::Reading,
    },
    components::{
        empty_state::EmptyState,
        filter_form::FilterField,
        list::{ListSpec, list_page},
        pager::Ways,
    },
    pages::address::asked,
};

const SPEC: ListSpec = ListSpec {
    title: "Operations",
    caption: "Operations, newest first by reservation",
    columns: LIST_COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of operations.
#[component]
pub fn ListPage() -> impl IntoView {
    let kinds = Reading::new(kind_names);
    let fields = async move { fields(kinds.await.unwrap_or_default()) };
    let load = |asked| async move { list_operations(&asked).await };
    view! {
        <Title text="Operations · Onceover"/>
        {list_page(&SPEC, asked("/operations"), fields, load, list_row, empty)}
    }
}

fn fields(kinds: Vec<String>) -> Vec<FilterField> {
    let states = Status::ALL.into_iter().map(|status| (StatusFilter::Is(status), status.label()));
    let states = states.chain([(StatusFilter::Tombstone, "tombstone")]);
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|(value, word)| (value.as_str().to_owned(), word.to_owned())),
        ),
        FilterField::kind(kinds),
        FilterField::text("q", "Search", "key, invoice, reference, id"),
        FilterField::day("from", "Reserved from"),
        FilterField::day("to", "Reserved before"),
        FilterField::check("needs_manual", "needs a person"),
        FilterField::check("conflict", "payload conflict"),
    ]
}

fn empty(narrowed: bool) -> AnyView {
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
