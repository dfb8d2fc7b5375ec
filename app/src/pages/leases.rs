//! `/leases`: who holds what, stuck first. A lease is released on the page of what it holds.

use chrono::{DateTime, Utc};
use domain::{lease::LeaseState, record::RecordType, view::LeaseRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{operations::kind_names, reading::Reading, records::leases},
    components::{
        amount::Amount,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        pager::Ways,
        row::Row,
        state_badge::{PersonDot, StateBadge},
        timestamp::Ago,
    },
    pages::address::asked,
    text,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Operation", "col-operation"),
    ("Key", "col-key"),
    ("Holder", "col-name"),
    ("Last beat", "col-updated num"),
    ("Lease", "col-lease col-stays"),
    ("Fence", "col-count num"),
    ("Taken over", "col-count num"),
    ("Amount", "col-amount num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Leases",
    caption: "Leases, those that ended first",
    columns: COLUMNS,
    ways: Ways("Ended earlier", "Ends later"),
    views: &[],
};

/// The list of leases.
#[component]
pub fn LeasesPage() -> impl IntoView {
    let kinds = Reading::new(kind_names);
    let fields = async move { fields(kinds.await.unwrap_or_default()) };
    let load = |asked| async move { leases(&asked).await };
    view! {
        <Title text="Leases · Onceover"/>
        {list_page(&SPEC, asked("/leases"), fields, load, row, empty)}
    }
}

fn fields(kinds: Vec<String>) -> Vec<FilterField> {
    let states = [("stale", "stuck: the lease has ended"), ("live", "live: the holder beats")];
    vec![
        FilterField::choice(
            "status",
            "Lease",
            "any",
            states.map(|(value, word)| (value.to_owned(), word.to_owned())),
        ),
        FilterField::kind(kinds),
        FilterField::text("holder", "Holder", "w-3"),
        FilterField::text("q", "Search", "key, invoice, reference, id"),
    ]
}

fn row(row: LeaseRow, as_of: DateTime<Utc>) -> AnyView {
    let stale = row.lease.state == LeaseState::Stale;
    let lease = match (row.stale_since, row.lease.lease_until) {
        (Some(since), _) => {
            let ms = as_of.signed_duration_since(since).num_milliseconds();
            view! { <span class="lease-stale">{format!("stuck for {}", text::span(ms))}</span> }
                .into_any()
        }
        (None, Some(until)) => {
            view! { <span class="lease-live">"ends " <Ago at=until as_of/></span> }.into_any()
        }
        (None, None) => ().into_any(),
    };
    let beat = row.lease.beat_at.map(|at| view! { <Ago at as_of/> });
    view! {
        <Row record=RecordType::Operation id=row.id.to_string() status=row.status.as_str() named=row.key.clone()>
            <td role="cell" class="col-status">
                {stale.then(|| view! { <PersonDot/> })}
                <StateBadge status=row.status/>
            </td>
            <td role="cell" class="col-operation cell-sub">{row.operation}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/operations/{}", row.id)>
                    <Key text=row.key/>
                </a>
            </td>
            <td role="cell" class="col-name cell-sub" data-label="held by">{row.lease.owner.map(|owner| view! { <Key text=owner/> })}</td>
            <td role="cell" class="col-updated num cell-sub">{beat}</td>
            <td role="cell" class="col-lease col-stays">{lease}</td>
            <td role="cell" class="col-count num cell-sub">{row.lease.fence}</td>
            <td role="cell" class="col-count num cell-sub">{format!("{}\u{d7}", row.takeovers)}</td>
            <td role="cell" class="col-amount num"><Amount amount=row.amount/></td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No lease matches.">
                <p>
                    "A lease stands only while something is held: what has ended or was released has none."
                </p>
                <p><a href="/leases">"Show all leases"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="Nothing is held now.">
            <p>
                "While a worker carries out an operation it holds it by a lease, which its beats renew. A "
                "lease that ends without a word stands here until another worker takes over."
            </p>
        </EmptyState>
    }
    .into_any()
}
