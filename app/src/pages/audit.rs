//! `/audit`: every action and refusal of a person, for auditors and administrators.

use chrono::{DateTime, Utc};
use domain::{action::TargetType, ids::OperationId, problem::Code, told::refusal, view::AuditRow};
use leptos::prelude::*;
use leptos_meta::Title;

use crate::{
    api::{audit::chain, reading::Reading, records::audit},
    components::{
        chain::chain_part,
        data_table::Column,
        empty_state::EmptyState,
        filter_form::FilterField,
        icon::{Icon, IconName},
        key::Key,
        list::{ListSpec, list_page},
        pager::Ways,
        timestamp::Timestamp,
    },
    pages::address::{asked, query},
};

const COLUMNS: &[Column] = &[
    ("Number", "col-count num"),
    ("When", "col-instant"),
    ("Who", "col-who"),
    ("What", "col-verb"),
    ("On", "col-topic"),
    ("Why, and what changed", "col-words"),
    ("Receipt", "col-taken"),
];

const SPEC: ListSpec = ListSpec {
    title: "Audit",
    caption: "What people did and what was refused, newest first",
    columns: COLUMNS,
    ways: Ways::BY_AGE,
    views: &[],
};

/// The audit log.
#[component]
pub fn AuditPage() -> impl IntoView {
    let load = |asked| async move { audit(&asked).await };
    let (chain, query) = (Reading::new(chain), query());
    view! {
        <Title text="Audit · Onceover"/>
        {list_page(&SPEC, asked("/audit"), async { fields() }, load, row, empty)}
        {Suspend::new(async move { chain_part(chain.await, &query) })}
    }
}

fn fields() -> Vec<FilterField> {
    vec![
        FilterField::text("actor", "Who", "ann@acme.test"),
        FilterField::text("verb", "What", "confirm"),
        FilterField::text("target", "Record", "its id, whole"),
        FilterField::day("from", "From"),
        FilterField::day("to", "Before"),
        FilterField::check("denied", "only what was refused"),
    ]
}

fn row(row: AuditRow, _: DateTime<Utc>) -> AnyView {
    // The command line names people and tokens by their names, which lead nowhere.
    let place = row.target_type.parse::<TargetType>().ok().filter(|kind| {
        *kind == TargetType::OperationKind || row.target.parse::<OperationId>().is_ok()
    });
    let place = place.map(|kind| format!("{}/{}", kind.pages(), row.target));
    let (kind, target) = (row.target_type.replace('_', " "), row.target.clone());
    let on = match place {
        Some(href) => view! { <a href=href><Key text=target/></a> }.into_any(),
        None => view! { <Key text=target/> }.into_any(),
    };
    let refused = row.denied.then(|| {
        let why = row.code.map(refusal);
        let why = why.map(|why| format!(": {why}")).unwrap_or_default();
        view! {
            <span class="flag flag--words" title=row.code.map(Code::as_str)>
                <Icon name=IconName::Cross/>
                <span>{format!("refused{why}")}</span>
            </span>
        }
    });
    let reason = row.reason.filter(|reason| !reason.is_empty()).map(|reason| {
        view! { <span>{format!("\u{201c}{reason}\u{201d}")}</span> }
    });
    let changed = (row.before.is_some() || row.after.is_some()).then(|| {
        let (before, after) = (row.before.unwrap_or_default(), row.after.unwrap_or_default());
        view! {
            <div><dt>"before"</dt><dd>{before}</dd></div>
            <div><dt>"after"</dt><dd>{after}</dd></div>
        }
    });
    let from = row.client.map(|client| view! { <div><dt>"from"</dt><dd>{client}</dd></div> });
    // What changed nothing, such as a refusal, still came from somewhere.
    let details = (changed.is_some() || from.is_some()).then(|| {
        let summary = if changed.is_some() { "Before and after" } else { "Request" };
        view! {
            <details class="fold">
                <summary>{summary}</summary>
                <dl class="timeline-detail">
                    {changed}
                    <div><dt>"request"</dt><dd>{row.request_id}</dd></div>
                    {from}
                </dl>
            </details>
        }
    });
    let receipt = row.receipt.map(|id| view! { <a href=format!("/receipts/{id}")>"Receipt"</a> });
    let bulk = row.bulk.map(|id| view! { " " <a href=format!("/bulks/{id}")>"Bulk"</a> });
    // Most are people, and the command line calls itself so.
    let kind_of_actor = (row.actor_kind != "staff" && row.actor_kind != row.actor)
        .then(|| view! { <span class="cell-sub">{row.actor_kind}</span> });
    view! {
        <tr class="row row--tall" role="row" id=format!("a{}", row.id)>
            <td role="cell" class="col-count num cell-sub">{row.id}</td>
            <td role="cell" class="col-instant cell-sub">
                <Timestamp at=row.at/> <span class="entry-number">{format!("entry {}", row.id)}</span>
            </td>
            <td role="cell" class="col-who">{row.actor} " " {kind_of_actor}</td>
            <td role="cell" class="col-verb">{row.verb.replace('_', " ")} " " {refused}</td>
            <td role="cell" class="col-topic cell-sub">{kind} " " {on}</td>
            <td role="cell" class="col-words">{reason} {details}</td>
            <td role="cell" class="col-taken">{receipt} {bulk}</td>
        </tr>
    }
    .into_any()
}

fn empty(narrowed: bool) -> AnyView {
    let title = if narrowed { "No entry matches." } else { "Nobody has done anything yet." };
    view! {
        <EmptyState title>
            <p>
                "Every decision of a person and every refusal stands here, in the transaction of what it was "
                "about. Entries of the last 90 days are shown, unless a day is given."
            </p>
            <p><a href="/audit">"Show the whole log"</a></p>
        </EmptyState>
    }
    .into_any()
}
