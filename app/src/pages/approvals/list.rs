//! `/approvals`: what waits for me, what I asked for, what is decided.

use chrono::{DateTime, Utc};
use domain::{
    action::{Outcome, Verb},
    approval::ApprovalStatus,
    machine::Machine as _,
    record::RecordType,
    view::ApprovalView,
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::approvals,
    components::{
        amount::Amount,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        key::Key,
        list::{ListSpec, list_page},
        mark::{Mark, MarkBadge},
        pager::Ways,
        row::Row,
        state_badge::PersonDot,
        timestamp::Ago,
    },
    pages::address::asked,
    text,
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Decision", "col-topic"),
    ("Record", "col-key"),
    ("Asked by", "col-name"),
    ("Amount", "col-amount num"),
    ("Asked", "col-updated num"),
    ("Expires", "col-updated num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Approvals",
    caption: "Requests for a second person, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[
        ("All that wait", None),
        ("Waiting for me", Some("waiting")),
        ("Asked by others", Some("others")),
        ("Asked by me", Some("mine")),
        ("Decided", Some("decided")),
    ],
};

/// The list of requests.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { approvals(&asked).await };
    let fields = async { fields() };
    view! {
        <Title text="Approvals · Onceover"/>
        {list_page(&SPEC, asked("/approvals"), fields, load, row, empty)}
    }
}

/// The views choose whose requests; these narrow them.
fn fields() -> Vec<FilterField> {
    let states = ApprovalStatus::ALL
        .iter()
        .map(|state| (state.as_str().to_owned(), Mark::from(*state).word.to_owned()));
    vec![
        FilterField::choice("status", "State", "any state", states),
        FilterField::day("from", "Asked from"),
        FilterField::day("to", "Asked before"),
    ]
}

/// What is asked for, in words.
#[must_use]
pub fn what(request: &ApprovalView) -> String {
    let verb = match request.verb {
        Verb::Compensate => "Undo".to_owned(),
        verb => text::capitalised(&verb.as_str().replace('_', " ")),
    };
    match request.outcome {
        Some(outcome) => format!("{verb}: {}", Outcome::label(outcome)),
        None => format!("{verb} {}", request.target_type.label()),
    }
}

fn row(row: ApprovalView, as_of: DateTime<Utc>) -> AnyView {
    let mark = Mark::from(row.status);
    let expires = match row.decided_at {
        Some(at) => view! { "decided " <Ago at as_of/> }.into_any(),
        None => view! { <Ago at=row.expires_at as_of/> }.into_any(),
    };
    let label = if row.decided_at.is_none() { "expires" } else { "" };
    let who = if row.mine { format!("{} (you)", row.requester) } else { row.requester.clone() };
    let named = format!("{} {}", what(&row), row.target_key);
    view! {
        <Row record=RecordType::Approval id=row.id.to_string() named=named>
            <td role="cell" class="col-status">
                {(mark.person && !row.mine).then(|| view! { <PersonDot/> })}
                <MarkBadge mark/>
            </td>
            <td role="cell" class="col-topic">{what(&row)}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/approvals/{}", row.id)>
                    <Key text=row.target_key/>
                </a>
            </td>
            <td role="cell" class="col-name cell-sub" data-label="asked by">{who}</td>
            <td role="cell" class="col-amount num"><Amount amount=row.amount/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.requested_at as_of/></td>
            <td role="cell" class="col-updated num cell-sub" data-label=label>{expires}</td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    let title =
        if narrowed { "There is no such request." } else { "Nothing waits for a second person." };
    view! {
        <EmptyState title>
            <p>
                "A decision that moves much money, goes against a provider\u{2019}s word, or loosens a rule is "
                "asked for by one person and approved by another. Nothing happens in between."
            </p>
        </EmptyState>
    }
    .into_any()
}
