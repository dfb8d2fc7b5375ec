//! `/workflows`: the list of workflows.

use chrono::{DateTime, Utc};
use domain::{
    machine::Machine as _, record::RecordType, view::WorkflowRow, workflow::WorkflowState,
};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::records::workflows,
    components::{
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
};

const COLUMNS: &[Column] = &[
    ("State", "col-status"),
    ("Workflow", "col-topic"),
    ("Key", "col-key"),
    ("Cause", "col-name"),
    ("Steps over", "col-count num"),
    ("Definition", "col-count num"),
    ("Started", "col-updated num"),
    ("Updated", "col-updated num"),
];

const SPEC: ListSpec = ListSpec {
    title: "Workflows",
    caption: "Workflows, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The list of workflows.
#[component]
pub fn ListPage() -> impl IntoView {
    let load = |asked| async move { workflows(&asked).await };
    view! {
        <Title text="Workflows · Onceover"/>
        {list_page(&SPEC, asked("/workflows"), async { fields() }, load, row, empty)}
    }
}

fn fields() -> Vec<FilterField> {
    let states = WorkflowState::ALL.iter();
    vec![
        FilterField::choice(
            "status",
            "State",
            "any state",
            states.map(|state| (state.as_str().to_owned(), state.label().to_owned())),
        ),
        FilterField::text("kind", "Workflow", "campaign.agent"),
        FilterField::text("q", "Search", "key or id"),
    ]
}

fn row(row: WorkflowRow, as_of: DateTime<Utc>) -> AnyView {
    let mark = Mark::from(row.status);
    view! {
        <Row record=RecordType::Workflow id=row.id.to_string() named=row.key.clone()>
            <td role="cell" class="col-status">
                {mark.person.then(|| view! { <PersonDot/> })}
                <MarkBadge mark/>
            </td>
            <td role="cell" class="col-topic cell-sub">{row.kind}</td>
            <td role="cell" class="col-key">
                <a class="row-link" href=format!("/workflows/{}", row.id)>
                    <Key text=row.key/>
                </a>
            </td>
            <td role="cell" class="col-name cell-sub">
                {row.cause.map(|cause| cause.replace('_', " "))}
            </td>
            <td role="cell" class="col-count num cell-sub">
                {format!("{} of {}", row.steps_over, row.steps)}
            </td>
            <td role="cell" class="col-count num cell-sub">{format!("v{}", row.definition_version)}</td>
            <td role="cell" class="col-updated num cell-sub" data-label="started"><Ago at=row.created_at as_of/></td>
            <td role="cell" class="col-updated num cell-sub"><Ago at=row.updated_at as_of/></td>
        </Row>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    if narrowed {
        return view! {
            <EmptyState title="No workflow matches.">
                <p>"The search is exact or by prefix over key and id."</p>
                <p><a href="/workflows">"Show all workflows"</a></p>
            </EmptyState>
        }
        .into_any();
    }
    view! {
        <EmptyState title="No workflow has been started yet.">
            <p>
                "A workflow is a definition in Rust, started by a service: "
                <code>"POST /api/v1/workflows"</code>
                ". Each of its steps is an operation of its own, so that a crash repeats none."
            </p>
        </EmptyState>
    }
    .into_any()
}
