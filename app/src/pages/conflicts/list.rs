//! `/conflicts`: the list of payloads that were refused under a key that was taken.

use chrono::{DateTime, Utc};
use domain::{record::RecordType, view::ConflictRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{operations::kind_names, reading::Reading, records::conflicts},
    components::{
        amount::Amount,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        pager::Ways,
        row::Row,
        state_badge::StateBadge,
        timestamp::Ago,
    },
    pages::address::asked,
};

const COLUMNS: &[Column] = &[
    ("First one", "col-status"),
    ("Operation", "col-operation"),
    ("Key", "col-key"),
    ("Sent again by", "col-name"),
    ("Times", "col-count num"),
    ("Amount of the first", "col-amount num"),
    ("Of the other", "col-amount num"),
    ("Last", "col-updated num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Payload conflicts",
    caption: "Refused payloads under keys that were taken, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of conflicts.
#[component]
pub fn ListPage() -> impl IntoView {
    let kinds = Reading::new(kind_names);
    let fields = async move { fields(kinds.await.unwrap_or_default()) };
    let load = |asked| async move { conflicts(&asked).await };
    view! {
        <Title text="Payload conflicts · Onceover"/>
        {list_page(&SPEC, asked("/conflicts"), fields, load, row, empty)}
    }
}

fn fields(kinds: Vec<String>) -> Vec<FilterField> {
    vec![
        FilterField::kind(kinds),
        FilterField::text("q", "Search", "key, invoice, reference, id"),
        FilterField::day("from", "First seen from"),
        FilterField::day("to", "First seen before"),
    ]
}

fn row(row: ConflictRow, as_of: DateTime<Utc>) -> AnyView {
    let key = if row.counted_only { format!("{} (and more)", row.key) } else { row.key };
    view! {
        <Row record=RecordType::Conflict id=row.id.to_string() named=key.clone()>
            <td role="cell" class="col-status">
                <StateBadge status=row.status tombstoned=row.tombstoned/>
            </td>
            <td role="cell" class="col-operation cell-sub">{row.operation}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/conflicts/{}", row.id)>
                    <Key text=key/>
                </a>
            </td>
            <td role="cell" class="col-name cell-sub" data-label="sent again by"><Key text=row.callers.join(", ")/></td>
            <td role="cell" class="col-count num cell-sub">{row.count}</td>
            <td role="cell" class="col-amount num" data-label="the first"><Amount amount=row.amount/></td>
            <td role="cell" class="col-amount num" data-label="the other"><Amount amount=row.other_amount/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.last_at as_of/></td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No conflict matches.">
                <p>"The search finds what finds the operation: key, invoice, reference, id."</p>
                <p><a href="/conflicts">"Show all conflicts"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No key has come back with another payload.">
            <p>
                "A request under a key that was taken, with another payload, is refused (422 "
                <code>"key_reused"</code> ") and kept here beside the first one."
            </p>
        </EmptyState>
    }
    .into_any()
}
