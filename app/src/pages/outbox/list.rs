//! `/outbox`: the list of events.

use chrono::{DateTime, Utc};
use domain::{machine::Machine as _, outbox::EventStatus, record::RecordType, view::EventRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::events,
    components::{
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        mark::MarkBadge,
        pager::Ways,
        row::Row,
        state_badge::PersonDot,
        timestamp::Ago,
    },
    pages::address::asked,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Topic", "col-topic"),
    ("Aggregate", "col-key"),
    ("Place", "col-count num"),
    ("Destination", "col-name"),
    ("Refused", "col-count num"),
    ("Order", "col-name"),
    ("Written", "col-updated num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Outbox",
    caption: "Events, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of events.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { events(&asked).await };
    view! {
        <Title text="Outbox · Onceover"/>
        {list_page(&SPEC, asked("/outbox"), async { fields() }, load, row, empty)}
    }
}

fn fields() -> Vec<FilterField> {
    let states = EventStatus::ALL.iter();
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|state| (state.as_str().to_owned(), state.label().to_owned())),
        ),
        FilterField::text("q", "Search", "id, aggregate, topic, operation"),
        FilterField::text("topic", "Topic", "invoice.paid"),
        FilterField::text("aggregate", "Aggregate", "invoice:INV-1042"),
        FilterField::day("from", "Written from"),
        FilterField::day("to", "Written before"),
    ]
}

fn row(row: EventRow, as_of: DateTime<Utc>) -> AnyView {
    let order = match (row.behind_dead, row.at_head, row.status) {
        (true, ..) => "behind a dead one",
        (false, true, EventStatus::Dead) => "blocks the rest",
        (false, true, _) => "next",
        (false, false, _) => "",
    };
    let destination = row.destination.map(|name| view! { <Key text=name/> });
    view! {
        <Row record=RecordType::Event id=row.id.to_string() named=format!("{} {}", row.aggregate, row.seq)>
            <td role="cell" class="col-status">
                {(row.status == EventStatus::Dead).then(|| view! { <PersonDot/> })}
                <MarkBadge mark=row.status/>
            </td>
            <td role="cell" class="col-topic cell-sub">{row.topic}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/outbox/{}", row.id)>
                    <Key text=row.aggregate/>
                </a>
            </td>
            <td role="cell" class="col-count num cell-sub">{row.seq}</td>
            <td role="cell" class="col-name cell-sub" data-label="to">{destination}</td>
            <td role="cell" class="col-count num cell-sub">{row.attempts}</td>
            <td role="cell" class="col-name cell-sub">{order}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.created_at as_of/></td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No event matches.">
                <p>
                    "The search is exact or by prefix over id, aggregate, topic and the operation's id. "
                    "Events that are over are looked for in the last 90 days, unless a day is given."
                </p>
                <p><a href="/outbox">"Show all events"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No event has been written yet.">
            <p>
                "An event is written in the transaction of the change that it tells of: by the engine when "
                "an operation moves, and by a service beside its answer (the field " <code>"events"</code>
                " of " <code>"POST /operations/{id}/finish"</code> "). Each aggregate is told in its order."
            </p>
        </EmptyState>
    }
    .into_any()
}
