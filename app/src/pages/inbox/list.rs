//! `/inbox`: the list of messages.

use chrono::{DateTime, Utc};
use domain::{inbox::InboxState, machine::Machine as _, record::RecordType, view::MessageRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::messages,
    components::{
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        icon::{Icon, IconName},
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
    ("Consumer", "col-name"),
    ("Message", "col-key"),
    ("Source", "col-name"),
    ("Came", "col-count num"),
    ("Failed", "col-count num"),
    ("Received", "col-updated num"),
    ("Flags", "col-flags"),
];

const SPEC: ListSpec = ListSpec {
    title: "Inbox",
    caption: "Messages, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of messages.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { messages(&asked).await };
    view! {
        <Title text="Inbox · Onceover"/>
        {list_page(&SPEC, asked("/inbox"), async { fields() }, load, row, empty)}
    }
}

fn fields() -> Vec<FilterField> {
    let states = InboxState::ALL.iter().filter(|state| **state != InboxState::Processing);
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|state| (state.as_str().to_owned(), state.label().to_owned())),
        ),
        FilterField::text("q", "Search", "message id, id, operation"),
        FilterField::text("consumer", "Consumer", "billing"),
        FilterField::text("source", "Source", "nats:orders"),
        FilterField::day("from", "Received from"),
        FilterField::day("to", "Received before"),
    ]
}

fn row(row: MessageRow, as_of: DateTime<Utc>) -> AnyView {
    let conflict = row.conflict.then(|| {
        view! { <span class="flag"><Icon name=IconName::Conflict/> "other content"</span> }
    });
    view! {
        <Row record=RecordType::Message id=row.id.to_string() named=row.message_id.clone()>
            <td role="cell" class="col-status">
                {row.status.needs_person().then(|| view! { <PersonDot/> })}
                <MarkBadge mark=row.status/>
            </td>
            <td role="cell" class="col-name cell-sub" data-label="for">{row.consumer}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/inbox/{}", row.id)>
                    <Key text=row.message_id/>
                </a>
            </td>
            <td role="cell" class="col-name cell-sub" data-label="from"><Key text=row.source/></td>
            <td role="cell" class="col-count num cell-sub">{format!("{}\u{d7}", row.deliveries)}</td>
            <td role="cell" class="col-count num cell-sub">{row.failures}</td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.received_at as_of/></td>
            <td role="cell" class="col-flags"><span class="flags">{conflict}</span></td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No message matches.">
                <p>
                    "The search is exact or by prefix over the producer's id, the id here and the "
                    "operation's id. Messages that are over are looked for in the last 90 days, unless "
                    "a day is given."
                </p>
                <p><a href="/inbox">"Show all messages"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No message has come in yet.">
            <p>
                "Messages come from services (" <code>"POST /api/v1/inbox"</code>
                "), from providers' signed webhooks and from a broker's stream. Each is taken in once, "
                "however often it comes."
            </p>
        </EmptyState>
    }
    .into_any()
}
