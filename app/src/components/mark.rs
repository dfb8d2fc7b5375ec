//! The states of all machines but the operation's, as icon and word, always both: one table, so that a
//! state looks the same in a list, on a page and in a story.
//!
//! Guards against a colour that lies: violet is for what nobody knows, green for what happened.

use domain::{
    approval::ApprovalStatus,
    bulk::{BulkState, Standing},
    compensation::CompensationState,
    inbox::InboxState,
    listing::IncidentState,
    operation::Status,
    outbox::EventStatus,
    workflow::StepState,
    workflow::WorkflowState,
};
use leptos::prelude::*;

use super::icon::{Icon, IconName};

/// A state as people see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mark {
    /// Its word.
    pub word: &'static str,
    /// Its icon.
    pub icon: IconName,
    /// Whose colour it has: the state of an operation that is like it.
    pub like: Status,
    /// Whether a person must look.
    pub person: bool,
}

impl Mark {
    const fn new(word: &'static str, icon: IconName, like: Status) -> Self {
        Self { word, icon, like, person: false }
    }

    const fn for_person(self) -> Self {
        Self { person: true, ..self }
    }
}

impl From<EventStatus> for Mark {
    fn from(state: EventStatus) -> Self {
        let word = state.label();
        match state {
            EventStatus::Pending => Self::new(word, IconName::Reserved, Status::Reserved),
            EventStatus::Publishing => Self::new(word, IconName::Executing, Status::Executing),
            EventStatus::Published => Self::new(word, IconName::Check, Status::Succeeded),
            EventStatus::Dead => {
                Self::new(word, IconName::Cross, Status::FailedTerminal).for_person()
            }
            EventStatus::Skipped => Self::new(word, IconName::Tombstone, Status::Reserved),
        }
    }
}

impl From<InboxState> for Mark {
    fn from(state: InboxState) -> Self {
        let word = state.label();
        match state {
            InboxState::Processing => Self::new(word, IconName::Executing, Status::Executing),
            InboxState::Processed => Self::new(word, IconName::Check, Status::Succeeded),
            InboxState::Quarantined => {
                Self::new(word, IconName::Warning, Status::FailedRetryable).for_person()
            }
            InboxState::Dead => {
                Self::new(word, IconName::Cross, Status::FailedTerminal).for_person()
            }
            InboxState::Dropped => Self::new(word, IconName::Tombstone, Status::Reserved),
        }
    }
}

impl From<WorkflowState> for Mark {
    fn from(state: WorkflowState) -> Self {
        let word = state.label();
        match state {
            WorkflowState::Running => Self::new(word, IconName::Executing, Status::Executing),
            WorkflowState::Waiting => {
                Self::new("waits: outcome unknown", IconName::Unknown, Status::Unknown)
            }
            WorkflowState::Blocked => {
                Self::new(word, IconName::Warning, Status::FailedRetryable).for_person()
            }
            WorkflowState::Compensating => {
                Self::new(word, IconName::Retry, Status::FailedRetryable)
            }
            WorkflowState::CompensationStuck => {
                Self::new(word, IconName::Warning, Status::FailedTerminal).for_person()
            }
            WorkflowState::Completed => Self::new(word, IconName::Check, Status::Succeeded),
            WorkflowState::Compensated => Self::new(word, IconName::Check, Status::Reserved),
            WorkflowState::ClosedPartial => {
                Self::new(word, IconName::Warning, Status::FailedRetryable)
            }
            WorkflowState::Failed => Self::new(word, IconName::Cross, Status::FailedTerminal),
            WorkflowState::Cancelled => Self::new(word, IconName::Tombstone, Status::Reserved),
        }
    }
}

impl From<StepState> for Mark {
    fn from(state: StepState) -> Self {
        let word = state.label();
        match state {
            StepState::Pending => Self::new(word, IconName::Reserved, Status::Reserved),
            StepState::Running => Self::new(word, IconName::Executing, Status::Executing),
            StepState::WaitingRetry => Self::new(word, IconName::Retry, Status::FailedRetryable),
            StepState::BlockedUnknown => Self::new(word, IconName::Unknown, Status::Unknown),
            StepState::Succeeded => Self::new(word, IconName::Check, Status::Succeeded),
            StepState::Failed => Self::new(word, IconName::Cross, Status::FailedTerminal),
            StepState::Skipped | StepState::Cancelled => {
                Self::new(word, IconName::Tombstone, Status::Reserved)
            }
        }
    }
}

impl From<CompensationState> for Mark {
    fn from(state: CompensationState) -> Self {
        let word = state.label();
        match state {
            CompensationState::Requested => Self::new(word, IconName::Reserved, Status::Reserved),
            CompensationState::WaitingForward => Self::new(word, IconName::Clock, Status::Unknown),
            CompensationState::Running => Self::new(word, IconName::Executing, Status::Executing),
            CompensationState::Compensated => Self::new(word, IconName::Check, Status::Succeeded),
            CompensationState::Failed => {
                Self::new(word, IconName::Cross, Status::FailedTerminal).for_person()
            }
            CompensationState::NotNeeded => Self::new(word, IconName::Tombstone, Status::Reserved),
            CompensationState::AcceptedUndoneNot => {
                Self::new(word, IconName::Warning, Status::FailedRetryable)
            }
        }
    }
}

impl From<ApprovalStatus> for Mark {
    fn from(state: ApprovalStatus) -> Self {
        match state {
            ApprovalStatus::Pending => {
                Self::new("waits", IconName::Clock, Status::FailedRetryable).for_person()
            }
            ApprovalStatus::Approved => Self::new("approved", IconName::Check, Status::Succeeded),
            ApprovalStatus::Rejected => {
                Self::new("rejected", IconName::Cross, Status::FailedTerminal)
            }
            ApprovalStatus::Withdrawn => {
                Self::new("withdrawn", IconName::Tombstone, Status::Reserved)
            }
            ApprovalStatus::Stale => {
                Self::new("void: the record moved on", IconName::Tombstone, Status::Reserved)
            }
            ApprovalStatus::Expired => Self::new("expired", IconName::Tombstone, Status::Reserved),
        }
    }
}

impl From<IncidentState> for Mark {
    fn from(state: IncidentState) -> Self {
        match state {
            IncidentState::Open => {
                Self::new("open", IconName::Warning, Status::FailedRetryable).for_person()
            }
            IncidentState::Closed => Self::new("closed", IconName::Check, Status::Reserved),
        }
    }
}

impl From<BulkState> for Mark {
    fn from(state: BulkState) -> Self {
        let word = state.label();
        match state {
            BulkState::Freezing | BulkState::Checking => {
                Self::new(word, IconName::Clock, Status::Reserved)
            }
            BulkState::Ready | BulkState::Paused => {
                Self::new(word, IconName::Person, Status::FailedRetryable).for_person()
            }
            BulkState::Running => Self::new(word, IconName::Executing, Status::Executing),
            BulkState::Over => Self::new(word, IconName::Check, Status::Reserved),
            BulkState::Abandoned | BulkState::Expired => {
                Self::new(word, IconName::Tombstone, Status::Reserved)
            }
        }
    }
}

impl From<Standing> for Mark {
    fn from(standing: Standing) -> Self {
        let word = standing.label();
        match standing {
            Standing::Frozen => Self::new(word, IconName::Clock, Status::Reserved),
            Standing::Eligible => Self::new(word, IconName::Check, Status::Reserved),
            Standing::Ineligible => Self::new(word, IconName::Tombstone, Status::Reserved),
            Standing::Done => Self::new(word, IconName::Check, Status::Succeeded),
            Standing::Refused => Self::new(word, IconName::Cross, Status::FailedTerminal),
        }
    }
}

/// A state as icon and word.
#[component]
pub fn MarkBadge(
    /// The state.
    #[prop(into)]
    mark: Mark,
) -> impl IntoView {
    view! {
        <span class="badge" data-status=mark.like.as_str()>
            <Icon name=mark.icon/>
            <span class="badge-word">{mark.word}</span>
        </span>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use domain::machine::Machine as _;

    use super::*;

    #[test]
    fn what_nobody_knows_is_violet_and_what_is_not_known_to_have_happened_is_not_green() {
        assert_eq!(Mark::from(StepState::BlockedUnknown).like, Status::Unknown);
        assert_eq!(Mark::from(WorkflowState::Waiting).like, Status::Unknown);
        // Set apart is no outcome: violet is for outcomes alone.
        assert_ne!(Mark::from(InboxState::Quarantined).like, Status::Unknown);
        let green: Vec<_> = WorkflowState::ALL
            .iter()
            .filter(|state| Mark::from(**state).like == Status::Succeeded)
            .collect();
        assert_eq!(green, [&WorkflowState::Completed]);
    }
}
