//! What a record of any kind is called among its like and where it stands, from the words that the
//! database keeps: one table, so that a queue, a search and an incident say the same of it.

use domain::{
    approval::ApprovalStatus, compensation::CompensationState, inbox::InboxState,
    listing::IncidentState, operation::Status, outbox::EventStatus, record::RecordType,
    workflow::WorkflowState,
};
use leptos::prelude::*;

use super::{
    icon::IconName,
    mark::{Mark, MarkBadge},
    state_badge::StateBadge,
};
use crate::text;

/// The one state of a payload conflict.
const REFUSED: &str = "refused";

/// Causes of incidents, as the database and as people call them.
pub const CAUSES: [(&str, &str); 8] = [
    ("opened_by_person", "Opened by a person"),
    ("double_effect_suspected", "It may have happened twice"),
    ("confirmation_contradicted", "A confirmation is contradicted"),
    ("answer_differs", "The provider did something else"),
    ("done_after_not_done", "It happened after all"),
    ("done_on_record", "Evidence of it was on record"),
    ("outcome_contradicted", "The recorded outcome is contradicted"),
    ("undo_impossible", "It cannot be undone"),
];

/// A cause in words; one that is not known here reads like its name.
#[must_use]
pub fn cause(word: &str) -> String {
    let known = CAUSES.iter().find(|(known, _)| *known == word);
    known.map_or_else(
        || text::capitalised(&word.replace('_', " ")),
        |(_, words)| (*words).to_owned(),
    )
}

/// What a record is called among its like.
#[must_use]
pub fn record_label(record: RecordType, label: &str) -> String {
    match record {
        RecordType::Incident => cause(label),
        RecordType::Approval => label.replace('_', " "),
        _ => label.to_owned(),
    }
}

/// Where a record stands, in the words and colours of its own machine. A word that the machine does
/// not have is shown as it is.
#[must_use]
pub fn record_state(record: RecordType, status: &str, tombstoned: bool) -> AnyView {
    let mark: Option<Mark> = match record {
        // Of a conflict: the state of the operation that holds the key, or its own.
        RecordType::Operation | RecordType::Conflict => {
            if let Ok(status) = status.parse::<Status>() {
                return view! { <StateBadge status tombstoned/> }.into_any();
            }
            (status == REFUSED).then_some(Mark {
                word: REFUSED,
                icon: IconName::Conflict,
                like: Status::Reserved,
                person: false,
            })
        }
        RecordType::Workflow => status.parse::<WorkflowState>().ok().map(Mark::from),
        RecordType::Compensation => status.parse::<CompensationState>().ok().map(Mark::from),
        RecordType::Event => status.parse::<EventStatus>().ok().map(Mark::from),
        RecordType::Message => status.parse::<InboxState>().ok().map(Mark::from),
        RecordType::Approval => status.parse::<ApprovalStatus>().ok().map(Mark::from),
        RecordType::Incident => status.parse::<IncidentState>().ok().map(Mark::from),
    };
    match mark {
        Some(mark) => view! { <MarkBadge mark/> }.into_any(),
        None => view! { <span>{status.replace('_', " ")}</span> }.into_any(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_reads_a_name_of_the_database() {
        for (name, words) in CAUSES {
            assert_eq!(record_label(RecordType::Incident, name), words);
        }
        assert_eq!(cause("not_known_here"), "Not known here");
        assert_eq!(
            record_label(RecordType::Approval, "retry of dead_event"),
            "retry of dead event"
        );
        assert_eq!(record_label(RecordType::Event, "invoice.receipt_due"), "invoice.receipt_due");
    }
}
