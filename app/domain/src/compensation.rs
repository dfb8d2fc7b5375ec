//! Undoing: the states of a compensation link, and which step of a workflow is undone next (C1 to
//! C10, D34 to D37).
//!
//! Guards against the undo that comes before its do, and against the order of a plan that was drawn
//! up before the last step was over: [`next`] looks at the steps as they are now, every time.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    machine::{Machine, Rule},
    operation::{Status, UnknownWord},
};

/// Where the undoing of one operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CompensationState {
    /// Asked for. Left at once, by what the forward operation turns out to be.
    Requested,
    /// The forward operation may yet happen: nothing is undone before that is known.
    WaitingForward,
    /// The undo is an operation that is under way, or whose outcome is unknown.
    Running,
    /// The undo happened. Final; stays in the unique index for ever.
    Compensated,
    /// The undo failed for good: what it should undo stays done. Left by a person alone.
    Failed,
    /// The forward operation did not happen. Final.
    NotNeeded,
    /// A person accepted that it stays done. Final.
    AcceptedUndoneNot,
}

impl CompensationState {
    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::WaitingForward => "waiting for the operation's outcome",
            Self::Running => "being undone",
            Self::Compensated => "undone",
            Self::Failed => "undo failed",
            Self::NotNeeded => "nothing to undo",
            Self::AcceptedUndoneNot => "accepted as not undone",
        }
    }
}

const fn rule(
    rule: &'static str,
    from: CompensationState,
    to: CompensationState,
) -> Rule<CompensationState> {
    Rule { rule, from: Some(from), to }
}

impl Machine for CompensationState {
    const NAME: &'static str = "compensation";
    const ALL: &'static [Self] = &[
        Self::Failed,
        Self::Running,
        Self::WaitingForward,
        Self::Requested,
        Self::AcceptedUndoneNot,
        Self::Compensated,
        Self::NotNeeded,
    ];
    const RULES: &'static [Rule<Self>] = &[
        Rule { rule: "C1", from: None, to: Self::Requested },
        rule("C2", Self::Requested, Self::NotNeeded),
        rule("C2", Self::WaitingForward, Self::NotNeeded),
        rule("C3", Self::Requested, Self::WaitingForward),
        rule("C4", Self::Requested, Self::NotNeeded),
        rule("C4", Self::WaitingForward, Self::NotNeeded),
        rule("C5", Self::Requested, Self::Running),
        rule("C5", Self::WaitingForward, Self::Running),
        rule("C6", Self::Running, Self::Compensated),
        rule("C7", Self::Running, Self::Failed),
        rule("C8", Self::Running, Self::Running),
        rule("C9", Self::Failed, Self::Running),
        rule("C10", Self::Failed, Self::AcceptedUndoneNot),
        rule("CP", Self::Failed, Self::Failed),
        rule("CP", Self::Running, Self::Running),
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Requested => "requested",
            Self::WaitingForward => "waiting_forward",
            Self::Running => "running",
            Self::Compensated => "compensated",
            Self::Failed => "failed",
            Self::NotNeeded => "not_needed",
            Self::AcceptedUndoneNot => "accepted_undone_not",
        }
    }
}

impl fmt::Display for CompensationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for CompensationState {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::parse(text)
    }
}

/// The rule by which an undo's own state moves its link (C6 to C8).
#[must_use]
pub const fn follows(undo: Status) -> Option<(&'static str, CompensationState)> {
    match undo {
        Status::Succeeded => Some(("C6", CompensationState::Compensated)),
        Status::FailedTerminal => Some(("C7", CompensationState::Failed)),
        Status::Unknown => Some(("C8", CompensationState::Running)),
        Status::Reserved | Status::Executing | Status::FailedRetryable => None,
    }
}

/// What is known of an effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// It did not happen and will not.
    None,
    /// It may yet happen, or may have happened.
    Open,
    /// It happened.
    Happened,
}

impl Effect {
    /// What an operation's state says; the latest correction says it better.
    #[must_use]
    pub const fn of(status: Status, corrected: Option<bool>) -> Self {
        match (corrected, status) {
            (Some(true), _) | (None, Status::Succeeded) => Self::Happened,
            (Some(false), _) | (None, Status::FailedTerminal) => Self::None,
            _ => Self::Open,
        }
    }
}

/// The undo of one step, as far as it has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct UndoRecord {
    /// Where the link stands.
    pub status: CompensationState,
    /// A person let the steps before it be undone without it.
    pub passed: bool,
    /// Its outcome is unknown, and machines have given up finding out.
    pub needs_person: bool,
}

/// One step of a workflow, as far as undoing is concerned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StepRecord {
    /// The step's key.
    pub step_key: String,
    /// Its place in the order of completion; `None` where it was not seen to complete.
    pub completed_seq: Option<i64>,
    /// What became of its effect.
    pub effect: Effect,
    /// Whether anything can undo it.
    pub can_be_undone: bool,
    /// Its undo.
    pub undo: Option<UndoRecord>,
}

impl StepRecord {
    /// Whether it happened, was not undone, and will not be undone any more.
    #[must_use]
    pub fn stays_done(&self) -> bool {
        use CompensationState as C;
        self.effect == Effect::Happened
            && match self.undo {
                None => !self.can_be_undone,
                Some(undo) => {
                    undo.status == C::AcceptedUndoneNot
                        || (undo.passed && matches!(undo.status, C::Failed | C::Running))
                }
            }
    }
}

/// What unwinding does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next<'a> {
    /// Wait: what this step did is not known yet, and it may have to be undone first (D37).
    AwaitStep(&'a str),
    /// Undo this step now.
    Undo(&'a str),
    /// Wait: this step's undo is under way (D35: one at a time).
    AwaitUndo(&'a str),
    /// Stop: this step's undo failed, or nobody knows whether it happened (W11).
    Stuck(&'a str),
    /// Nothing is left to do: all undone (W10), or something stays done (W14).
    Over {
        /// Whether something stays done.
        partial: bool,
    },
}

/// The steps whose effects happened, in the order in which they are undone: the strict reverse of
/// completion (D35). One that was only later found to have happened is undone first.
#[must_use]
pub fn undo_order(steps: &[StepRecord]) -> Vec<&StepRecord> {
    let mut stack: Vec<_> = steps.iter().filter(|step| step.effect == Effect::Happened).collect();
    stack.sort_by_key(|step| std::cmp::Reverse(step.completed_seq.unwrap_or(i64::MAX)));
    stack
}

/// Which step is undone next. Pure: the history alone decides, and it is read anew each time (D37).
#[must_use]
pub fn next(steps: &[StepRecord]) -> Next<'_> {
    use CompensationState as C;
    if let Some(open) = steps.iter().find(|step| step.effect == Effect::Open) {
        return Next::AwaitStep(&open.step_key);
    }
    let stack = undo_order(steps);
    for step in &stack {
        if step.stays_done() {
            continue;
        }
        let Some(undo) = step.undo else { return Next::Undo(&step.step_key) };
        match undo.status {
            C::Compensated | C::AcceptedUndoneNot => {}
            // Not needed then, but it did happen after all.
            C::Requested | C::WaitingForward | C::NotNeeded => return Next::Undo(&step.step_key),
            C::Failed => return Next::Stuck(&step.step_key),
            C::Running if undo.needs_person => return Next::Stuck(&step.step_key),
            C::Running => return Next::AwaitUndo(&step.step_key),
        }
    }
    Next::Over { partial: stack.iter().any(|step| step.stays_done()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(key: &str, seq: i64) -> StepRecord {
        StepRecord {
            step_key: key.into(),
            completed_seq: Some(seq),
            effect: Effect::Happened,
            can_be_undone: true,
            undo: None,
        }
    }

    fn undo(status: CompensationState) -> Option<UndoRecord> {
        Some(UndoRecord { status, passed: false, needs_person: false })
    }

    #[test]
    fn steps_are_undone_in_strict_reverse_of_completion_one_at_a_time() {
        // Declared in another order than they completed in.
        let mut steps = vec![step("b", 2), step("c", 3), step("a", 1)];
        let mut undone = Vec::new();
        while let Next::Undo(key) = next(&steps) {
            let key = key.to_owned();
            let at = steps.iter().position(|step| step.step_key == key).unwrap();
            steps[at].undo = undo(CompensationState::Running);
            assert_eq!(next(&steps), Next::AwaitUndo(&key));
            steps[at].undo = undo(CompensationState::Compensated);
            undone.push(key);
        }
        assert_eq!(undone, ["c", "b", "a"]);
        assert_eq!(next(&steps), Next::Over { partial: false });
    }

    #[test]
    fn nothing_is_undone_while_a_step_may_still_happen() {
        let mut steps = vec![step("a", 1), StepRecord { effect: Effect::Open, ..step("b", 0) }];
        assert_eq!(next(&steps), Next::AwaitStep("b"));
        steps[1] = step("b", 2);
        assert_eq!(next(&steps), Next::Undo("b"), "the late success is undone first");
        steps[1].effect = Effect::None;
        assert_eq!(next(&steps), Next::Undo("a"));
    }

    #[test]
    fn a_failed_or_unknowable_undo_stops_all_before_it_until_a_person_decides() {
        let mut steps = vec![step("a", 1), step("b", 2)];
        steps[1].undo = undo(CompensationState::Failed);
        assert_eq!(next(&steps), Next::Stuck("b"));
        steps[1].undo =
            Some(UndoRecord { needs_person: true, ..undo(CompensationState::Running).unwrap() });
        assert_eq!(next(&steps), Next::Stuck("b"));
        for way_out in [
            undo(CompensationState::AcceptedUndoneNot),
            Some(UndoRecord { passed: true, ..undo(CompensationState::Failed).unwrap() }),
            Some(UndoRecord { passed: true, ..undo(CompensationState::Running).unwrap() }),
        ] {
            steps[0].undo = None;
            steps[1].undo = way_out;
            assert_eq!(next(&steps), Next::Undo("a"));
            steps[0].undo = undo(CompensationState::Compensated);
            assert_eq!(next(&steps), Next::Over { partial: true });
        }
    }

    #[test]
    fn what_nothing_can_undo_stays_done_and_is_never_called_undone() {
        let mut steps = vec![StepRecord { can_be_undone: false, ..step("mail", 2) }, step("a", 1)];
        assert_eq!(next(&steps), Next::Undo("a"));
        steps[1].undo = undo(CompensationState::Compensated);
        assert_eq!(next(&steps), Next::Over { partial: true });
        assert_eq!(next(&[]), Next::Over { partial: false });
    }

    #[test]
    fn a_correction_says_better_than_the_state_what_happened() {
        assert_eq!(Effect::of(Status::Succeeded, None), Effect::Happened);
        assert_eq!(Effect::of(Status::Succeeded, Some(false)), Effect::None);
        assert_eq!(Effect::of(Status::FailedTerminal, Some(true)), Effect::Happened);
        for status in
            [Status::Reserved, Status::Executing, Status::FailedRetryable, Status::Unknown]
        {
            assert_eq!(Effect::of(status, None), Effect::Open);
        }
    }

    #[test]
    fn a_link_follows_its_undo_once_that_has_ended_or_nobody_knows() {
        use CompensationState as C;
        for (undo, moved) in [
            (Status::Succeeded, Some(("C6", C::Compensated))),
            (Status::FailedTerminal, Some(("C7", C::Failed))),
            (Status::Unknown, Some(("C8", C::Running))),
            (Status::Reserved, None),
            (Status::Executing, None),
            (Status::FailedRetryable, None),
        ] {
            assert_eq!(follows(undo), moved, "{undo}");
            if let Some((rule, to)) = moved {
                assert!(C::permits(rule, Some(C::Running), to), "{rule}");
            }
        }
    }
}
