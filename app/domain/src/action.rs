//! What a person may decide about an operation, and the key under which a decision is taken once
//! (D41).
//!
//! Guards against two clicks that become two decisions: the key is derived from the target and
//! the version that the page showed, never minted per render.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    access::Permission,
    ids::OperationId,
    operation::{Status, UnknownWord},
};

/// The longest reason of a decision, in characters: on the page, in the API and on the record.
pub const MAX_REASON_CHARS: usize = 2_000;

/// An action on an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Verb {
    /// Say what became of an unknown outcome (O21 to O23).
    Confirm,
    /// Take a lease away from a worker that is gone (O12, O31).
    Release,
    /// Ask the provider again now (O32).
    Reconcile,
    /// Grant another attempt (O33).
    Retry,
    /// Stop what has not begun or would retry (O3, O14).
    Cancel,
    /// Put a wrong confirmation right; always with a second person.
    Correct,
}

impl Verb {
    /// All verbs.
    pub const ALL: [Self; 6] =
        [Self::Confirm, Self::Release, Self::Reconcile, Self::Retry, Self::Cancel, Self::Correct];

    /// The word in URLs, keys and the audit log.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Confirm => "confirm",
            Self::Release => "release",
            Self::Reconcile => "reconcile",
            Self::Retry => "retry",
            Self::Cancel => "cancel",
            Self::Correct => "correct",
        }
    }

    /// The right that it needs.
    #[must_use]
    pub const fn permission(self) -> Permission {
        match self {
            Self::Confirm => Permission::Confirm,
            Self::Release => Permission::Release,
            Self::Reconcile => Permission::Reconcile,
            Self::Retry => Permission::Retry,
            Self::Cancel => Permission::Cancel,
            Self::Correct => Permission::Correct,
        }
    }

    /// Whether the table of moves knows this verb from the given state.
    #[must_use]
    pub const fn fits(self, status: Status) -> bool {
        match self {
            Self::Confirm | Self::Reconcile => matches!(status, Status::Unknown),
            Self::Release => matches!(status, Status::Executing | Status::Reserved),
            Self::Retry => matches!(status, Status::FailedRetryable),
            Self::Cancel => matches!(status, Status::Reserved | Status::FailedRetryable),
            Self::Correct => status.is_final(),
        }
    }

    /// The idempotency key of this decision on what the page showed.
    #[must_use]
    pub fn key(self, target: OperationId, version: i64) -> String {
        format!("{target}@{version}")
    }

    /// The name of the console operation that records the decision.
    #[must_use]
    pub fn operation(self) -> String {
        format!("console.{}", self.as_str())
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Verb {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|verb| verb.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// What a person found out about an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The effect is there (O21).
    Happened,
    /// It is not; try again (O22).
    NotHappenedRetry,
    /// It is not; stop (O23).
    NotHappenedStop,
}

impl Outcome {
    /// All outcomes.
    pub const ALL: [Self; 3] = [Self::Happened, Self::NotHappenedRetry, Self::NotHappenedStop];

    /// The word that forms and the JSON API use.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Happened => "happened",
            Self::NotHappenedRetry => "not_happened_retry",
            Self::NotHappenedStop => "not_happened_stop",
        }
    }

    /// The words that a receipt uses.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Happened => "it happened",
            Self::NotHappenedRetry => "it did not happen: try again",
            Self::NotHappenedStop => "it did not happen: stop",
        }
    }
}

impl FromStr for Outcome {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::operation::{Event, next};

    #[test]
    fn a_verb_fits_exactly_where_its_moves_are_in_the_table() {
        let moves = |verb| match verb {
            Verb::Confirm => vec![Event::ConfirmHappened, Event::ConfirmRetry, Event::ConfirmStop],
            Verb::Release => vec![Event::Release, Event::ReleaseReserved],
            Verb::Reconcile => vec![Event::ReconcileNow],
            Verb::Retry => vec![Event::StaffRetry],
            Verb::Cancel => vec![Event::Cancel, Event::GiveUp],
            Verb::Correct => vec![],
        };
        for verb in Verb::ALL.into_iter().filter(|verb| *verb != Verb::Correct) {
            for status in Status::ALL {
                let legal = moves(verb).into_iter().any(|event| next(Some(status), event).is_ok());
                assert_eq!(verb.fits(status), legal, "{verb} from {status}");
            }
        }
    }
}
