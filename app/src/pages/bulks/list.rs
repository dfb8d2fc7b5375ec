//! `/bulks`: the sets that were frozen; and, after a refusal, why one was not.

use chrono::{DateTime, Utc};
use domain::{bulk::BulkList, problem::Code, view::BulkRow};
use leptos::prelude::*;
use leptos_meta::Title;

use super::words::{grouped, list_word, what};
use crate::{
    api::{bulks::bulks, refused::RefusedForm},
    components::{
        data_table::Column,
        empty_state::EmptyState,
        list::{ListSpec, list_page},
        mark::MarkBadge,
        notice::{Notice, Tone, right},
        pager::Ways,
        timestamp::Ago,
    },
    error::Field,
    location::value,
    pages::address::{asked, query},
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("What", "col-key"),
    ("From", "col-name"),
    ("Records", "col-count num"),
    ("Done", "col-count num"),
    ("Refused", "col-count num"),
    ("Frozen by", "col-who"),
    ("Frozen", "col-updated num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Bulks",
    caption: "Frozen sets, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of bulks.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { bulks(&asked).await };
    view! {
        <Title text="Bulks · Onceover"/>
        {refused(&query())}
        {list_page(&SPEC, asked("/bulks"), async { Vec::new() }, load, row, empty)}
    }
}

/// Why nothing was frozen, and the way back to the list that it was tried from.
fn refused(query: &str) -> Option<AnyView> {
    let refusal = RefusedForm::from_query(query)?.refusal;
    let list: Option<BulkList> = value(query, "list").and_then(|list| list.parse().ok());
    let back = list.map(|list| {
        let words = format!("Back to {}", list_word(list));
        view! { <p><a href=list.path()>{words}</a></p> }
    });
    let field =
        refusal.field.filter(|_| matches!(refusal.code, Code::Unprocessable | Code::FilterInvalid));
    let field = field.map(|field| match field {
        Field::Verb => view! {
            <p>
                "This is no bulk verb here: what became of an unknown outcome, what pays back and what puts a \
                 decision right is decided record by record."
            </p>
        }
        .into_any(),
        Field::Records => view! {
            <p>"Pick at least one row and at most 1,000, or tick that all which match are meant."</p>
        }
        .into_any(),
        field => view! { <p>{format!("{}: {}", field.label(), field.mend())}</p> }.into_any(),
    });
    Some(
        view! {
            <Notice tone=Tone::Bad title=refusal.code.title() code=refusal.code>
                <p>{refusal.code.advice()} " No set was frozen."</p>
                {field}
                {refusal.missing.map(right)}
                {back}
            </Notice>
        }
        .into_any(),
    )
}

fn row(row: BulkRow, as_of: DateTime<Utc>) -> AnyView {
    let words = what(row.verb, row.target_type, row.total);
    view! {
        <tr class="row" role="row" data-record=format!("bulk/{}", row.id)>
            <td role="cell" class="col-status"><MarkBadge mark=row.status/></td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/bulks/{}", row.id)>{words}</a>
            </td>
            <td role="cell" class="col-name cell-sub">{list_word(row.list)}</td>
            <td role="cell" class="col-count num cell-sub">{grouped(row.total)}</td>
            <td role="cell" class="col-count num cell-sub">{grouped(row.done)}</td>
            <td role="cell" class="col-count num cell-sub">{grouped(row.refused)}</td>
            <td role="cell" class="col-who cell-sub">{row.frozen_by}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.frozen_at as_of/></td>
        </tr>
    }
    .into_any()
}

fn empty(_: bool) -> AnyView {
    view! {
        <EmptyState title="No set has been frozen yet.">
            <p>
                "Pick rows in the lists of operations, leases, events, messages or workflows, or narrow a list \
                 and take all that match, and choose what is to be done. The set is frozen and each record \
                 looked at; nothing happens before you start it with a reason."
            </p>
        </EmptyState>
    }
    .into_any()
}
