//! A record that a search found, in a row that looks the same for every type.

use chrono::{DateTime, Utc};
use domain::{
    approval::ApprovalStatus, compensation::CompensationState, inbox::InboxState,
    listing::IncidentState, operation::Status, outbox::EventStatus, record::RecordType,
    view::FoundRow, workflow::WorkflowState,
};
use leptos::prelude::*;

use crate::{
    components::{
        amount::Amount,
        data_table::Column,
        key::Key,
        mark::{Mark, MarkBadge},
        row::Row,
        state_badge::StateBadge,
        timestamp::Ago,
    },
    pages::incidents::cause,
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
    let label = match record {
        RecordType::Incident => cause(&row.label),
        RecordType::Approval => row.label.replace('_', " "),
        _ => row.label.clone(),
    };
    let exact = row.exact.then(|| view! { <span class="visually-hidden">"exact: "</span> });
    view! {
        <Row record id=row.id.clone()>
            <td role="cell" class="col-status">{state(record, &row)}</td>
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

/// Where it stands, in the words and colours of its own machine.
fn state(record: RecordType, row: &FoundRow) -> AnyView {
    let mark: Option<Mark> = match record {
        RecordType::Operation => {
            return match row.status.parse::<Status>() {
                Ok(status) => view! { <StateBadge status tombstoned=row.tombstoned/> }.into_any(),
                Err(_) => row.status.clone().into_any(),
            };
        }
        RecordType::Workflow => row.status.parse::<WorkflowState>().ok().map(Mark::from),
        RecordType::Compensation => row.status.parse::<CompensationState>().ok().map(Mark::from),
        RecordType::Event => row.status.parse::<EventStatus>().ok().map(Mark::from),
        RecordType::Message => row.status.parse::<InboxState>().ok().map(Mark::from),
        RecordType::Approval => row.status.parse::<ApprovalStatus>().ok().map(Mark::from),
        RecordType::Incident => row.status.parse::<IncidentState>().ok().map(Mark::from),
        RecordType::Conflict => None,
    };
    match mark {
        Some(mark) => view! { <MarkBadge mark/> }.into_any(),
        None => view! { <span>{row.status.replace('_', " ")}</span> }.into_any(),
    }
}
