//! Whether an audit log is as it was written: what a walk along its chain found, for the page and the
//! command line alike.

use std::fmt;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// What is wrong with a chain, and at which places of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChainFault {
    /// Entries that do not follow from those before them: changed after they were written.
    Altered {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// Two entries stand in each other's place.
    Swapped {
        /// One.
        one: i64,
        /// The other.
        other: i64,
    },
    /// Entries between others are gone.
    Missing {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// An entry that begins a chain of its own.
    SecondBeginning {
        /// Which.
        at: i64,
    },
    /// An entry before the first.
    BeforeBeginning {
        /// Which.
        at: i64,
    },
    /// The newest entries are gone.
    TailMissing {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// Entries after the newest that the log knows of.
    BeyondHead {
        /// The first.
        from: i64,
        /// The last.
        to: i64,
    },
    /// The newest entry is not the one that was written last.
    HeadAltered {
        /// Which.
        at: i64,
    },
    /// There are entries, and no record of the newest.
    HeadMissing,
    /// An entry that was anchored outside is gone.
    AnchoredMissing {
        /// Which.
        at: i64,
    },
    /// An entry is not the one that was anchored outside: what came before it was written anew.
    AnchoredOtherwise {
        /// Which.
        at: i64,
    },
}

impl fmt::Display for ChainFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Altered { from, to } if from == to => {
                write!(f, "entry {from} was altered after it was written")
            }
            Self::Altered { from, to } => {
                write!(f, "entries {from} to {to} were altered after they were written")
            }
            Self::Swapped { one, other } => {
                write!(f, "entries {one} and {other} stand in each other's place")
            }
            Self::Missing { from, to } if from == to => write!(f, "entry {from} is missing"),
            Self::Missing { from, to } => write!(f, "entries {from} to {to} are missing"),
            Self::SecondBeginning { at } => write!(f, "entry {at} begins a chain of its own"),
            Self::BeforeBeginning { at } => write!(f, "entry {at} stands before the first"),
            Self::TailMissing { from, to } if from == to => {
                write!(f, "the newest entry, {from}, is missing")
            }
            Self::TailMissing { from, to } => {
                write!(f, "the newest entries, {from} to {to}, are missing")
            }
            Self::BeyondHead { from, to } => {
                write!(f, "entries {from} to {to} stand after the newest that was recorded")
            }
            Self::HeadAltered { at } => {
                write!(f, "entry {at} is not the one that was recorded as the newest")
            }
            Self::HeadMissing => f.write_str("the record of the newest entry is missing"),
            Self::AnchoredMissing { at } => {
                write!(f, "entry {at}, which was anchored, is missing")
            }
            Self::AnchoredOtherwise { at } => {
                write!(f, "entry {at} is not the one that was anchored")
            }
        }
    }
}

/// What a walk along a tenant's whole chain found.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainFindings {
    /// Entries that were walked.
    pub rows: i64,
    /// The newest entry as it was recorded when the walk began; 0 in a log without one.
    pub seq: i64,
    /// Its hash, in hexadecimal digits.
    pub hash: String,
    /// What is wrong, in order, up to a bound.
    pub faults: Vec<ChainFault>,
    /// Faults beyond the bound.
    pub more: i64,
}

impl ChainFindings {
    /// Whether the log is as it was written.
    #[must_use]
    pub const fn is_whole(&self) -> bool {
        self.faults.is_empty() && self.more == 0
    }
}

/// The last check of a tenant's chain that somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainCheck {
    /// Who asked.
    pub asked_by: String,
    /// When.
    pub asked_at: DateTime<Utc>,
    /// When it ended; `None` while it goes on.
    pub ended_at: Option<DateTime<Utc>>,
    /// What it found, or has found so far.
    pub findings: ChainFindings,
}

/// What is known of a tenant's chain.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChainView {
    /// The last check; `None` where nobody asked for one.
    pub check: Option<ChainCheck>,
    /// When the heads of all chains last left for a place outside.
    pub anchored_at: Option<DateTime<Utc>>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fault_is_told_in_words_and_kept_as_json() {
        let fault = ChainFault::Missing { from: 3, to: 3 };
        assert_eq!(fault.to_string(), "entry 3 is missing");
        let json = serde_json::to_string(&fault).unwrap();
        assert_eq!(json, r#"{"missing":{"from":3,"to":3}}"#);
        assert_eq!(serde_json::from_str::<ChainFault>(&json).unwrap(), fault);
        let findings = ChainFindings { faults: vec![fault], ..ChainFindings::default() };
        assert!(!findings.is_whole() && ChainFindings::default().is_whole());
    }
}
