//! The states of a workflow and of its steps, and every move between them (docs/workflows.md).
//!
//! Guards against the step that is done again: a step follows its operation, by [`follow`] alone,
//! and what is finished has no move that leads back to running.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    machine::{Machine, Rule},
    operation::{Status, UnknownWord},
};

macro_rules! states {
    ($(#[$doc:meta])* $name:ident, $machine:literal,
     { $($(#[$state_doc:meta])* $state:ident = $word:literal, $label:literal;)* },
     { $($rule:literal: $($from:ident)? => $to:ident;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum $name { $($(#[$state_doc])* $state,)* }

        impl $name {
            /// The words that people read.
            #[must_use]
            pub const fn label(self) -> &'static str {
                match self { $(Self::$state => $label,)* }
            }
        }

        impl Machine for $name {
            const NAME: &'static str = $machine;
            const ALL: &'static [Self] = &[$(Self::$state,)*];
            const RULES: &'static [Rule<Self>] = &[
                $(Rule { rule: $rule, from: states!(@from $($from)?), to: Self::$to },)*
            ];

            fn as_str(self) -> &'static str {
                match self { $(Self::$state => $word,)* }
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(self.as_str())
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                Self::parse(text)
            }
        }
    };
    (@from) => { None };
    (@from $from:ident) => { Some(Self::$from) };
}

states! {
    /// Where a workflow stands.
    WorkflowState, "workflow",
    {
        /// Steps start as soon as their predecessors are over. Left by every other state.
        Running = "running", "running";
        /// A step's outcome is unknown; no other starts before it is resolved.
        Waiting = "waiting", "waiting";
        /// Its definition no longer says what it said: left by a person alone (W6).
        Blocked = "blocked", "blocked";
        /// What happened is being undone; no step starts.
        Compensating = "compensating", "undoing";
        /// An undo failed or is unknown and needs a person.
        CompensationStuck = "compensation_stuck", "undoing, stuck";
        /// Every step is over and none failed. Final.
        Completed = "completed", "completed";
        /// Everything that happened was undone. Final.
        Compensated = "compensated", "undone";
        /// Some of what happened stays done, by a person's decision. Final.
        ClosedPartial = "closed_partial", "closed, partly done";
        /// A step failed and nothing had happened. Final.
        Failed = "failed", "failed";
        /// Cancelled before anything happened. Final.
        Cancelled = "cancelled", "cancelled";
    },
    {
        "W1": => Running;
        "W2": Running => Running;
        "W2": Waiting => Waiting;
        "W2": Compensating => Compensating;
        "W3": Running => Waiting;
        "W4": Waiting => Running;
        "W5": Running => Blocked;
        "W5": Waiting => Blocked;
        "W6": Blocked => Running;
        "W6": Blocked => Compensating;
        "W7": Running => Completed;
        "W8": Running => Compensating;
        "W8": Waiting => Compensating;
        "W9": Running => Failed;
        "W9": Running => Cancelled;
        "W9": Waiting => Failed;
        "W9": Waiting => Cancelled;
        "W10": Compensating => Compensated;
        "W11": Compensating => CompensationStuck;
        "W12": CompensationStuck => Compensating;
        "W12": CompensationStuck => ClosedPartial;
        "W13": CompensationStuck => Compensating;
        "W14": Compensating => ClosedPartial;
    }
}

states! {
    /// Where a step stands.
    StepState, "step",
    {
        /// Its predecessors are not over.
        Pending = "pending", "pending";
        /// Its operation is reserved or under way.
        Running = "running", "running";
        /// Its operation failed this time and will be tried again.
        WaitingRetry = "waiting_retry", "failed, will retry";
        /// Nobody knows whether its operation took effect.
        BlockedUnknown = "blocked_unknown", "unknown";
        /// It happened. Final; what is undone later stands in its compensation.
        Succeeded = "succeeded", "succeeded";
        /// It did not happen and will not. Final.
        Failed = "failed", "failed";
        /// The branch was not taken. Final.
        Skipped = "skipped", "skipped";
        /// The workflow ended before it began. Final.
        Cancelled = "cancelled", "cancelled";
    },
    {
        "S0": => Pending;
        "S1": Pending => Running;
        "S2": Running => Succeeded;
        "S3": Running => WaitingRetry;
        "S4": WaitingRetry => Running;
        "S5": Running => BlockedUnknown;
        "S5": WaitingRetry => BlockedUnknown;
        "S6": BlockedUnknown => Succeeded;
        "S6": BlockedUnknown => Failed;
        "S6": BlockedUnknown => WaitingRetry;
        "S7": Running => Failed;
        "S7": WaitingRetry => Failed;
        "S8": Pending => Skipped;
        "S9": Pending => Cancelled;
        "S9": Running => Cancelled;
        "S9": WaitingRetry => Cancelled;
    }
}

impl WorkflowState {
    /// Whether what happened is being undone: no step may start (the guard of S1).
    #[must_use]
    pub const fn is_unwinding(self) -> bool {
        matches!(self, Self::Compensating | Self::CompensationStuck)
    }
}

impl StepState {
    /// Whether its operation may still do something.
    #[must_use]
    pub const fn is_open(self) -> bool {
        matches!(self, Self::Running | Self::WaitingRetry | Self::BlockedUnknown)
    }

    /// Whether its successors may start (S1).
    #[must_use]
    pub const fn lets_successors_start(self) -> bool {
        matches!(self, Self::Succeeded | Self::Skipped)
    }
}

/// Where a step goes when its operation has moved (S2 to S7, S9), and by which rule; `None` where
/// it stays. `cancelled`: the operation was ended because its workflow is being undone (O3, O14).
#[must_use]
pub const fn follow(
    step: StepState,
    operation: Status,
    cancelled: bool,
) -> Option<(&'static str, StepState)> {
    use StepState as S;
    Some(match (step, operation) {
        (S::Running, Status::Succeeded) => ("S2", S::Succeeded),
        (S::Running, Status::FailedRetryable) => ("S3", S::WaitingRetry),
        (S::WaitingRetry, Status::Reserved) => ("S4", S::Running),
        (S::Running | S::WaitingRetry, Status::Unknown) => ("S5", S::BlockedUnknown),
        (S::BlockedUnknown, Status::Succeeded) => ("S6", S::Succeeded),
        (S::BlockedUnknown, Status::FailedTerminal) => ("S6", S::Failed),
        (S::BlockedUnknown, Status::FailedRetryable) => ("S6", S::WaitingRetry),
        (S::Running | S::WaitingRetry, Status::FailedTerminal) if cancelled => ("S9", S::Cancelled),
        (S::Running | S::WaitingRetry, Status::FailedTerminal) => ("S7", S::Failed),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_follows_its_operation_by_legal_moves_alone() {
        for &step in StepState::ALL {
            for operation in Status::ALL {
                for cancelled in [false, true] {
                    if let Some((rule, to)) = follow(step, operation, cancelled) {
                        assert!(StepState::permits(rule, Some(step), to), "{rule} {step} {to}");
                    }
                }
            }
        }
    }

    #[test]
    fn what_is_finished_is_never_done_again() {
        for &step in StepState::ALL {
            if step.is_final() {
                for operation in Status::ALL {
                    assert_eq!(follow(step, operation, false), None, "{step} {operation}");
                }
            }
        }
        let finals: Vec<_> = StepState::ALL.iter().filter(|step| step.is_final()).collect();
        assert_eq!(finals.len(), 4);
        let finals: Vec<_> = WorkflowState::ALL.iter().filter(|state| state.is_final()).collect();
        assert_eq!(finals.len(), 5);
    }

    #[test]
    fn an_open_step_hears_of_every_end() {
        for &step in StepState::ALL {
            for end in [Status::Succeeded, Status::FailedTerminal] {
                // A step that waits for its retry cannot succeed before the retry, or doubt, begins.
                let waits = step == StepState::WaitingRetry && end == Status::Succeeded;
                let moved = follow(step, end, false).is_some();
                assert_eq!(moved, step.is_open() && !waits, "{step} {end}");
            }
        }
    }

    #[test]
    fn a_step_moves_with_its_operation_as_the_table_says() {
        use StepState as S;
        for (step, operation, cancelled, moved) in [
            (S::Running, Status::Succeeded, false, Some(("S2", S::Succeeded))),
            (S::Running, Status::FailedRetryable, false, Some(("S3", S::WaitingRetry))),
            (S::WaitingRetry, Status::Reserved, false, Some(("S4", S::Running))),
            (S::Running, Status::Unknown, false, Some(("S5", S::BlockedUnknown))),
            (S::WaitingRetry, Status::Unknown, false, Some(("S5", S::BlockedUnknown))),
            (S::BlockedUnknown, Status::Succeeded, false, Some(("S6", S::Succeeded))),
            (S::BlockedUnknown, Status::FailedTerminal, false, Some(("S6", S::Failed))),
            (S::BlockedUnknown, Status::FailedRetryable, false, Some(("S6", S::WaitingRetry))),
            (S::Running, Status::FailedTerminal, false, Some(("S7", S::Failed))),
            (S::WaitingRetry, Status::FailedTerminal, false, Some(("S7", S::Failed))),
            (S::Running, Status::FailedTerminal, true, Some(("S9", S::Cancelled))),
            (S::WaitingRetry, Status::FailedTerminal, true, Some(("S9", S::Cancelled))),
            (S::Running, Status::Executing, false, None),
            (S::BlockedUnknown, Status::Unknown, false, None),
            (S::Pending, Status::Succeeded, false, None),
        ] {
            assert_eq!(follow(step, operation, cancelled), moved, "{step} {operation}");
        }
    }

    #[test]
    fn a_successor_starts_after_success_or_a_branch_not_taken_alone() {
        for &step in StepState::ALL {
            let over = [StepState::Succeeded, StepState::Skipped].contains(&step);
            assert_eq!(step.lets_successors_start(), over, "{step}");
        }
    }

    #[test]
    fn no_step_starts_while_what_happened_is_being_undone() {
        for &state in WorkflowState::ALL {
            let undoing = [WorkflowState::Compensating, WorkflowState::CompensationStuck];
            assert_eq!(state.is_unwinding(), undoing.contains(&state), "{state}");
        }
    }
}
