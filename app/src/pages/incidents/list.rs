//! `/incidents`: the list of incidents.

use chrono::{DateTime, Utc};
use domain::{listing::IncidentState, record::RecordType, view::IncidentRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::incidents,
    components::{
        amount::Amount,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        mark::MarkBadge,
        pager::Ways,
        record_state::{CAUSES, cause},
        row::Row,
        state_badge::PersonDot,
        timestamp::Ago,
    },
    pages::address::asked,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Cause", "col-topic"),
    ("What is the matter", "col-words"),
    ("About", "col-name"),
    ("Amount", "col-amount num"),
    ("Opened", "col-updated num"),
    ("Closed by", "col-taken"),
];

const SPEC: ListSpec = ListSpec {
    title: "Incidents",
    caption: "Incidents, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of incidents.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { incidents(&asked).await };
    view! {
        <Title text="Incidents · Onceover"/>
        {list_page(&SPEC, asked("/incidents"), async { fields() }, load, row, empty)}
    }
}

fn fields() -> Vec<FilterField> {
    let states = [IncidentState::Open, IncidentState::Closed];
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|state| (state.as_str().to_owned(), state.as_str().to_owned())),
        ),
        FilterField::choice(
            "cause",
            "Cause",
            "any cause",
            CAUSES.map(|(word, words)| (word.to_owned(), words.to_owned())),
        ),
        FilterField::text("q", "Search", "key, invoice, reference, id"),
        FilterField::day("from", "Opened from"),
        FilterField::day("to", "Opened before"),
    ]
}

fn row(row: IncidentRow, as_of: DateTime<Utc>) -> AnyView {
    let (about, amount) = row.about.map(|about| (about.key, about.amount)).unzip();
    view! {
        <Row record=RecordType::Incident id=row.id.to_string()>
            <td role="cell" class="col-status">
                {(row.status == IncidentState::Open).then(|| view! { <PersonDot/> })}
                <MarkBadge mark=row.status/>
            </td>
            <td role="cell" class="col-topic cell-sub">{cause(&row.cause)}</td>
            <td role="cell" class="col-words">
                <a class="row-link" href=format!("/incidents/{}", row.id)>{row.summary}</a>
            </td>
            <td role="cell" class="col-name cell-sub">{about.map(|about| view! { <Key text=about/> })}</td>
            <td role="cell" class="col-amount num"><Amount amount=amount.flatten()/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.opened_at as_of/></td>
            <td role="cell" class="col-taken cell-sub" data-label="closed by">{row.closed_by}</td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No incident matches.">
                <p>
                    "The search finds what finds the operation. Closed ones are looked for in the last 90 "
                    "days, unless a day is given."
                </p>
                <p><a href="/incidents">"Show all incidents"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No incident has been opened.">
            <p>
                "The engine opens one where it may have happened twice, where evidence contradicts what a "
                "person confirmed, or where a provider did something else than was asked. People open one "
                "from the page of any record."
            </p>
        </EmptyState>
    }
    .into_any()
}
