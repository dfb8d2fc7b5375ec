//! A row of a list of operations: one link over the whole row, its cells in the order of what
//! people look for.

use chrono::{DateTime, Utc};
use domain::{
    ids::OperationId,
    lease::{LeaseState, LeaseView},
    money::Money,
    record::RecordType,
    view::{AttentionRow, Cause, OperationRow, RecordRef},
};
use leptos::prelude::*;

use crate::{
    components::{
        amount::Amount,
        data_table::Column,
        key::Key,
        record_state::{record_label, record_state},
        row::Row,
        state_badge::{PersonDot, StateBadge, cause_flag, flags, status_word},
        timestamp::Ago,
    },
    text,
};

/// The columns of `/operations`.
pub const LIST_COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Operation", "col-operation"),
    ("Key", "col-key"),
    ("Reference", "col-reference"),
    ("Calls", "col-attempt num"),
    ("Lease", "col-lease"),
    ("Amount", "col-amount num"),
    ("Updated", "col-updated num"),
    ("Flags", "col-flags"),
];

/// The columns of the merged queue on the first page.
pub const ATTENTION_COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Why", "col-cause"),
    ("Operation", "col-operation"),
    ("Key", "col-key"),
    ("Reference", "col-reference"),
    ("Amount", "col-amount num"),
    ("Waiting", "col-updated num"),
    ("Taken by", "col-taken"),
];

/// A row of `/operations`.
pub fn list_row(row: OperationRow, as_of: DateTime<Utc>) -> AnyView {
    let flags = flags(&row);
    let (id, status) = (row.id.to_string(), status_word(row.status, row.tombstoned));
    view! {
        <Row record=RecordType::Operation id status named=row.key.clone()>
            <td role="cell" class="col-status">
                {row.needs_manual.then(|| view! { <PersonDot/> })}
                <StateBadge status=row.status tombstoned=row.tombstoned/>
            </td>
            <td role="cell" class="col-operation cell-sub">{row.operation}</td>
            {key_cell(row.id, row.key)}
            {reference_cell(row.external_reference)}
            <td role="cell" class="col-attempt num cell-sub">{row.attempt}</td>
            <td role="cell" class="col-lease">{lease(&row.lease, as_of)}</td>
            <td role="cell" class="col-amount num"><Amount amount=row.amount/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.updated_at as_of/></td>
            <td role="cell" class="col-flags">{flags}</td>
        </Row>
    }
    .into_any()
}

/// A row of the merged queue.
pub fn attention_row(row: AttentionRow, as_of: DateTime<Utc>) -> AnyView {
    let dot = row.needs_person().then(|| view! { <PersonDot/> });
    let AttentionRow { cause, record, at_stake, operation, since } = row;
    let Some(row) = operation else { return other_row(cause, record, at_stake, since, as_of) };
    view! {
        <Row record=RecordType::Operation id=row.id.to_string() status=status_word(row.status, row.tombstoned)>
            <td role="cell" class="col-status">
                {dot}
                <StateBadge status=row.status tombstoned=row.tombstoned/>
            </td>
            <td role="cell" class="col-cause">{cause_flag(cause)}</td>
            <td role="cell" class="col-operation cell-sub">{row.operation}</td>
            {key_cell(row.id, row.key)}
            {reference_cell(row.external_reference)}
            <td role="cell" class="col-amount num">{amounts(at_stake)}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=since as_of/></td>
            <td role="cell" class="col-taken cell-sub">{row.taken_by.map(taken)}</td>
        </Row>
    }
    .into_any()
}

/// A row about another record than an operation.
fn other_row(
    cause: Cause,
    record: RecordRef,
    at_stake: Vec<Money>,
    since: DateTime<Utc>,
    as_of: DateTime<Utc>,
) -> AnyView {
    let href = record.record.href(&record.page_id);
    let label = record_label(record.record, &record.label);
    let state = record_state(record.record, &record.status, false);
    view! {
        <Row record=record.record id=record.id>
            <td role="cell" class="col-status"><PersonDot/> {state}</td>
            <td role="cell" class="col-cause">{cause_flag(cause)}</td>
            <td role="cell" class="col-operation cell-sub">{label}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=href><Key text=record.key/></a>
            </td>
            <td role="cell" class="col-reference cell-sub"></td>
            <td role="cell" class="col-amount num">{amounts(at_stake)}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=since as_of/></td>
            <td role="cell" class="col-taken cell-sub"></td>
        </Row>
    }
    .into_any()
}

/// A sum per currency, or a dash.
fn amounts(sums: Vec<Money>) -> AnyView {
    if sums.is_empty() {
        return view! { <Amount amount=None/> }.into_any();
    }
    sums.into_iter().map(|sum| view! { <Amount amount=Some(sum)/> " " }).collect_view().into_any()
}

fn taken(who: String) -> impl IntoView {
    view! {
        <span class="visually-hidden">"taken by "</span>
        {who}
    }
}

fn key_cell(id: OperationId, key: String) -> AnyView {
    view! {
        <td role="cell" class="col-key">
            <a class="row-link" href=format!("/operations/{id}")>
                <Key text=key/>
            </a>
        </td>
    }
    .into_any()
}

fn reference_cell(reference: Option<String>) -> AnyView {
    view! {
        <td role="cell" class="col-reference cell-sub">
            {reference.map(|reference| view! { <Key text=reference/> })}
        </td>
    }
    .into_any()
}

/// That it is held and by whom: `beat 4 s ago, w-3`, or since when its lease is over.
fn lease(lease: &LeaseView, as_of: DateTime<Utc>) -> AnyView {
    let owner = lease.owner.clone().unwrap_or_default();
    match lease.state {
        LeaseState::None => ().into_any(),
        LeaseState::Live => {
            let beat = lease.beat_at.map(|at| format!("beat {}, ", text::ago(at, as_of)));
            let whole = owner.clone();
            view! { <span class="lease-live" title=whole>{beat} {owner}</span> }.into_any()
        }
        LeaseState::Stale => {
            let since = lease.lease_until.map_or_else(String::new, |until| {
                let ms = as_of.signed_duration_since(until).num_milliseconds();
                format!("stale {}", text::span(ms))
            });
            view! { <span class="lease-stale" title=owner>{since}</span> }.into_any()
        }
    }
}
