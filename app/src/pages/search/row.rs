//! A record that a search found, in a row that looks the same for every type.

use chrono::{DateTime, Utc};
use domain::{record::RecordType, view::FoundRow};
use leptos::prelude::*;

use crate::components::{
    amount::Amount,
    data_table::Column,
    key::Key,
    record_state::{record_label, record_state},
    row::Row,
    timestamp::Ago,
};

/// The columns of what was found.
pub const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("What", "col-topic"),
    ("Key", "col-key"),
    ("Reference", "col-reference"),
    ("Amount", "col-amount num"),
    ("Since", "col-updated num"),
];

/// One record.
pub fn found(record: RecordType, row: FoundRow, as_of: DateTime<Utc>) -> AnyView {
    let href = record.page(&row.id);
    let label = record_label(record, &row.label);
    let state = record_state(record, &row.status, row.tombstoned);
    let exact = row.exact.then(|| view! { <span class="visually-hidden">"exact: "</span> });
    view! {
        <Row record id=row.id.clone()>
            <td role="cell" class="col-status">{state}</td>
            <td role="cell" class="col-topic cell-sub">{label}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=href>{exact} <Key text=row.key/></a>
            </td>
            <td role="cell" class="col-reference cell-sub">
                {row.reference.map(|reference| view! { <Key text=reference/> })}
            </td>
            <td role="cell" class="col-amount num"><Amount amount=row.amount/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.at as_of/></td>
        </Row>
    }
    .into_any()
}
