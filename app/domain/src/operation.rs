//! The states of an operation and every move between them (section O of docs/operations.md).
//!
//! Guards against the family of bugs where a sweep rewrites a row that has moved on: what is not
//! in [`MOVES`] is forbidden, here and in the database's own copy of the table, which a test holds
//! together with this one.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// Where an operation stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Accepted; the call has not begun. Left by start, cancel, or too many claims.
    Reserved,
    /// The call may have reached the provider. Left by its answer, or by the loss of its lease.
    Executing,
    /// The effect happened. Final.
    Succeeded,
    /// The effect did not happen this time; the same operation tries again.
    FailedRetryable,
    /// The effect did not happen and will not. Final.
    FailedTerminal,
    /// Nobody here knows whether it happened. Left only with proof, or by a named person (D12).
    Unknown,
}

impl Status {
    /// All states, in the order that lists offer them.
    pub const ALL: [Self; 6] = [
        Self::Unknown,
        Self::Executing,
        Self::Reserved,
        Self::FailedRetryable,
        Self::FailedTerminal,
        Self::Succeeded,
    ];

    /// The word that the database and the JSON API use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Executing => "executing",
            Self::Succeeded => "succeeded",
            Self::FailedRetryable => "failed_retryable",
            Self::FailedTerminal => "failed_terminal",
            Self::Unknown => "unknown",
        }
    }

    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reserved => "reserved",
            Self::Executing => "executing",
            Self::Succeeded => "succeeded",
            Self::FailedRetryable => "failed, will retry",
            Self::FailedTerminal => "failed",
            Self::Unknown => "unknown",
        }
    }

    /// Whether nothing leaves this state.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::FailedTerminal)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A word that names no state or move.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not known: {0}")]
pub struct UnknownWord(pub String);

impl FromStr for Status {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|status| status.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// How a move leaves the flag *needs a person*.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ManualFlag {
    /// As it was.
    Keep,
    /// Raised.
    Set,
    /// Lowered.
    Clear,
}

/// One line of the table of moves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoveRule {
    /// What happened.
    pub event: Event,
    /// From which state; `None` for the insert.
    pub from: Option<Status>,
    /// To which state.
    pub to: Status,
    /// Whether the version grows by one: it does with all that a person can see.
    pub version: bool,
    /// Whether the fence grows by one: it does with ownership.
    pub fence: bool,
    /// What becomes of the flag *needs a person*.
    pub manual: ManualFlag,
}

macro_rules! events {
    ($($(#[$doc:meta])* $name:ident = $rule:literal, $sentence:literal;)*) => {
        /// What can happen to an operation; the number is the rule's in docs/operations.md.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum Event { $($(#[$doc])* $name,)* }

        impl Event {
            /// All events, in the order of their numbers.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The rule's number, as the database stores it.
            #[must_use]
            pub const fn rule(self) -> &'static str {
                match self { $(Self::$name => $rule,)* }
            }

            /// What happened, in a sentence for the timeline.
            #[must_use]
            pub const fn sentence(self) -> &'static str {
                match self { $(Self::$name => $sentence,)* }
            }
        }
    };
}

events! {
    /// The unique insert won.
    Reserve = "O1", "Reserved: the key was claimed and the request stored.";
    /// The only way into executing.
    Start = "O2", "The call to the provider began.";
    /// Nobody started it.
    Cancel = "O3", "Cancelled before the call began.";
    /// A new owner of a call that has not begun.
    TakeOver = "O4", "Taken by a worker; the call has not begun.";
    /// Claimed too often without a start.
    ClaimBound = "O4b", "Given up: it was claimed too often without a call beginning.";
    /// A beat; moves the lease row alone.
    Beat = "O5", "The worker's lease was renewed.";
    /// The provider did it.
    Done = "O6", "The provider answered: done.";
    /// Definite, and pointless to repeat.
    Rejected = "O7", "The provider answered: rejected.";
    /// Definitely no effect; will be tried again.
    NotDone = "O8", "The provider did not take the request; it will be tried again.";
    /// Definitely no effect; no attempt left.
    NotDoneLast = "O9", "The provider did not take the request, and no attempt is left.";
    /// It may have happened.
    Ambiguous = "O10", "The answer does not tell whether it happened.";
    /// The owner of a running call is gone.
    LeaseLost = "O11", "The worker stopped beating while the call may have been under way.";
    /// A person released an executing operation.
    Release = "O12", "Released by a person: the outcome is unknown until proven.";
    /// No attempt may start before its time.
    Retry = "O13", "Free to be tried again.";
    /// No more attempts.
    GiveUp = "O14", "Given up: no further attempt will be made.";
    /// A reconciler takes its turn.
    ClaimReconcile = "O15", "Reconciliation began.";
    /// Proof that it happened.
    ProofDone = "O16", "Proof: it happened.";
    /// Proof that it was refused.
    ProofRejected = "O17", "Proof: the provider rejected it.";
    /// Proof that it never arrived.
    ProofAbsent = "O18", "Proof: the provider never received it; it will be tried again.";
    /// No proof yet.
    NoProof = "O19", "No proof yet; reconciliation will ask again.";
    /// No way left to find out by machine.
    NoneLeft = "O20", "No way is left to find out by machine: a person must decide.";
    /// A person says it happened.
    ConfirmHappened = "O21", "A person confirmed: it happened.";
    /// A person says it did not; try again.
    ConfirmRetry = "O22", "A person confirmed: it did not happen; it will be tried again.";
    /// A person says it did not; stop.
    ConfirmStop = "O23", "A person confirmed: it did not happen; no further attempt.";
    /// Something about a running or unknown call, from an old owner or the provider.
    LateEvidence = "O24", "Evidence arrived and was kept; the state did not change.";
    /// Evidence that agrees with a final state.
    EvidenceAgrees = "O25", "Evidence arrived that agrees with the outcome.";
    /// Evidence that contradicts a final state.
    EvidenceDiffers = "O26", "Evidence arrived that contradicts the outcome.";
    /// The row is old enough to lose its contents.
    Expire = "O27", "Expired: contents removed, the key stays closed.";
    /// Somebody asked a tombstone.
    TombstoneReplay = "O28", "The key was sent again after expiry; nothing ran.";
    /// The row itself goes.
    Purge = "O29", "Removed by policy.";
    /// *Definitely not done* is contradicted by evidence.
    EvidenceContradicts = "O30", "Evidence says it did happen: the retry was halted.";
    /// A person released a reserved operation.
    ReleaseReserved = "O31", "Released by a person: the call had not begun, it can be claimed again.";
    /// A person wants reconciliation now.
    ReconcileNow = "O32", "A person asked to reconcile now.";
    /// A person wants another attempt.
    StaffRetry = "O33", "A person asked for another attempt.";
    /// The kind states that a repeat does no harm.
    HarmlessRepeat = "O34", "The kind states that a repeat is harmless; it will be tried again.";
    /// A decision of a person, written as an operation of its own.
    ConsoleAction = "O35", "A decision was carried out.";
    /// *Evidence of Done*: the move that was asked gives way to the evidence on record.
    DoneOnRecord = "OE", "Evidence on record says it happened: the move was halted, a person must decide.";
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.rule())
    }
}

impl FromStr for Event {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .iter()
            .copied()
            .find(|event| event.rule() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

const fn line(
    event: Event,
    from: Option<Status>,
    to: Status,
    version: bool,
    fence: bool,
    manual: ManualFlag,
) -> MoveRule {
    MoveRule { event, from, to, version, fence, manual }
}

/// Every legal move. A beat (O5) writes the lease row alone and a purge (O29) removes the row, so
/// neither is an update of the operation.
pub const MOVES: &[MoveRule] = {
    use Event as E;
    use ManualFlag::{Clear, Keep, Set};
    use Status::{Executing, FailedRetryable, FailedTerminal, Reserved, Succeeded, Unknown};
    &[
        line(E::Reserve, None, Reserved, true, true, Keep),
        line(E::ConsoleAction, None, Succeeded, true, true, Keep),
        line(E::Start, Some(Reserved), Executing, true, false, Keep),
        line(E::Cancel, Some(Reserved), FailedTerminal, true, true, Keep),
        line(E::TakeOver, Some(Reserved), Reserved, true, true, Keep),
        line(E::ClaimBound, Some(Reserved), FailedTerminal, true, true, Keep),
        line(E::Done, Some(Executing), Succeeded, true, false, Keep),
        line(E::Rejected, Some(Executing), FailedTerminal, true, false, Keep),
        line(E::NotDone, Some(Executing), FailedRetryable, true, false, Keep),
        line(E::NotDoneLast, Some(Executing), FailedTerminal, true, false, Keep),
        line(E::Ambiguous, Some(Executing), Unknown, true, false, Keep),
        line(E::LeaseLost, Some(Executing), Unknown, true, true, Keep),
        line(E::Release, Some(Executing), Unknown, true, true, Keep),
        line(E::ReleaseReserved, Some(Reserved), Reserved, true, true, Keep),
        line(E::Retry, Some(FailedRetryable), Reserved, true, true, Keep),
        line(E::GiveUp, Some(FailedRetryable), FailedTerminal, true, false, Keep),
        line(E::ClaimReconcile, Some(Unknown), Unknown, false, true, Keep),
        line(E::ProofDone, Some(Unknown), Succeeded, true, false, Clear),
        line(E::ProofRejected, Some(Unknown), FailedTerminal, true, false, Clear),
        line(E::ProofAbsent, Some(Unknown), FailedRetryable, true, false, Clear),
        line(E::NoProof, Some(Unknown), Unknown, false, false, Keep),
        line(E::NoneLeft, Some(Unknown), Unknown, true, false, Set),
        line(E::ConfirmHappened, Some(Unknown), Succeeded, true, true, Clear),
        line(E::ConfirmRetry, Some(Unknown), FailedRetryable, true, true, Clear),
        line(E::ConfirmStop, Some(Unknown), FailedTerminal, true, true, Clear),
        line(E::LateEvidence, Some(Reserved), Reserved, true, false, Keep),
        line(E::LateEvidence, Some(Executing), Executing, true, false, Keep),
        line(E::LateEvidence, Some(Unknown), Unknown, true, false, Clear),
        line(E::EvidenceAgrees, Some(Succeeded), Succeeded, false, false, Keep),
        line(E::EvidenceAgrees, Some(FailedTerminal), FailedTerminal, false, false, Keep),
        line(E::EvidenceDiffers, Some(Succeeded), Succeeded, true, false, Keep),
        line(E::EvidenceDiffers, Some(FailedTerminal), FailedTerminal, true, false, Keep),
        line(E::Expire, Some(Succeeded), Succeeded, true, false, Keep),
        line(E::Expire, Some(FailedTerminal), FailedTerminal, true, false, Keep),
        line(E::TombstoneReplay, Some(Succeeded), Succeeded, false, false, Keep),
        line(E::TombstoneReplay, Some(FailedTerminal), FailedTerminal, false, false, Keep),
        line(E::EvidenceContradicts, Some(FailedRetryable), Unknown, true, true, Keep),
        line(E::EvidenceContradicts, Some(Reserved), Unknown, true, true, Keep),
        line(E::ReconcileNow, Some(Unknown), Unknown, true, false, Clear),
        line(E::StaffRetry, Some(FailedRetryable), FailedRetryable, true, false, Keep),
        line(E::HarmlessRepeat, Some(Unknown), FailedRetryable, true, false, Clear),
        line(E::DoneOnRecord, Some(Reserved), Unknown, true, true, Set),
        line(E::DoneOnRecord, Some(Executing), Unknown, true, true, Set),
        line(E::DoneOnRecord, Some(FailedRetryable), Unknown, true, true, Set),
        line(E::DoneOnRecord, Some(Unknown), Unknown, true, true, Set),
    ]
};

/// A move that is not in the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{event} is not allowed from {}", from.map_or("nothing", Status::as_str))]
pub struct IllegalTransition {
    /// Where the operation stood.
    pub from: Option<Status>,
    /// What was asked.
    pub event: Event,
}

/// The rule under which an event moves an operation on.
///
/// # Errors
/// [`IllegalTransition`] for everything that [`MOVES`] does not list.
pub fn next(from: Option<Status>, event: Event) -> Result<&'static MoveRule, IllegalTransition> {
    MOVES
        .iter()
        .find(|rule| rule.event == event && rule.from == from)
        .ok_or(IllegalTransition { from, event })
}

/// Whether a move is told to others: it gets an outbox event (⊕ in the table).
#[must_use]
pub const fn is_told(event: Event) -> bool {
    use Event as E;
    matches!(
        event,
        E::Cancel
            | E::ClaimBound
            | E::Done
            | E::Rejected
            | E::NotDoneLast
            | E::Ambiguous
            | E::LeaseLost
            | E::Release
            | E::GiveUp
            | E::ProofDone
            | E::ProofRejected
            | E::NoneLeft
            | E::ConfirmHappened
            | E::ConfirmStop
            | E::EvidenceDiffers
            | E::EvidenceContradicts
            | E::DoneOnRecord
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forbidden_on_purpose() {
        for rule in MOVES {
            match rule.from {
                Some(Status::Unknown) => {
                    assert!(!matches!(rule.to, Status::Reserved | Status::Executing), "{rule:?}");
                }
                Some(Status::Executing) => assert_ne!(rule.to, Status::Reserved, "{rule:?}"),
                Some(from) if from.is_final() => assert_eq!(from, rule.to, "{rule:?}"),
                _ => {}
            }
        }
    }

    #[test]
    fn executing_is_entered_by_start_alone() {
        let ways: Vec<_> = MOVES
            .iter()
            .filter(|r| r.to == Status::Executing && r.from != Some(Status::Executing))
            .collect();
        assert_eq!(ways.len(), 1);
        assert_eq!(ways[0].event, Event::Start);
    }

    #[test]
    fn the_version_moves_unless_the_table_exempts_it() {
        let exempt: Vec<_> = MOVES.iter().filter(|r| !r.version).map(|r| r.event.rule()).collect();
        assert_eq!(exempt, ["O15", "O19", "O25", "O25", "O28", "O28"]);
    }

    #[test]
    fn an_event_has_at_most_one_rule_per_state() {
        for (index, rule) in MOVES.iter().enumerate() {
            assert!(!MOVES[..index].iter().any(|r| r.event == rule.event && r.from == rule.from));
            assert_eq!(next(rule.from, rule.event), Ok(rule));
        }
        assert!(next(Some(Status::Succeeded), Event::Retry).is_err());
    }

    #[test]
    fn others_are_told_of_every_end_and_of_every_doubt() {
        let told: Vec<_> =
            Event::ALL.iter().filter(|event| is_told(**event)).map(|e| e.rule()).collect();
        assert_eq!(
            told,
            [
                "O3", "O4b", "O6", "O7", "O9", "O10", "O11", "O12", "O14", "O16", "O17", "O20",
                "O21", "O23", "O26", "O30", "OE"
            ]
        );
        for rule in MOVES {
            let ends = rule.to.is_final() || rule.to == Status::Unknown;
            // A decision of a person tells of itself.
            if ends && rule.from != Some(rule.to) && rule.event != Event::ConsoleAction {
                assert!(is_told(rule.event), "{rule:?}");
            }
        }
    }
}
