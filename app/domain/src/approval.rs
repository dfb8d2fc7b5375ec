//! A request for a second person (A5 to A7): asked by one, decided once by another, or void.

use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::{
    machine::{Machine, Rule},
    operation::UnknownWord,
};

/// Where a request stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ApprovalStatus {
    /// Waits for a second person. Entered by A5; left by A6 and A7, at the latest by its time.
    Pending,
    /// A second person agreed and it was carried out (A6). Kept for ever, like the rest.
    Approved,
    /// A second person said no (A7).
    Rejected,
    /// The requester took it back (A7).
    Withdrawn,
    /// The record moved on: what was asked for is not what would be done (A7).
    Stale,
    /// Nobody decided in time (A7).
    Expired,
}

impl FromStr for ApprovalStatus {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Machine::parse(text)
    }
}

impl Machine for ApprovalStatus {
    const NAME: &'static str = "approval";

    const ALL: &'static [Self] = &[
        Self::Pending,
        Self::Approved,
        Self::Rejected,
        Self::Withdrawn,
        Self::Stale,
        Self::Expired,
    ];

    const RULES: &'static [Rule<Self>] = &[
        Rule { rule: "A5", from: None, to: Self::Pending },
        Rule { rule: "A6", from: Some(Self::Pending), to: Self::Approved },
        Rule { rule: "A7", from: Some(Self::Pending), to: Self::Rejected },
        Rule { rule: "A7", from: Some(Self::Pending), to: Self::Withdrawn },
        Rule { rule: "A7", from: Some(Self::Pending), to: Self::Stale },
        Rule { rule: "A7", from: Some(Self::Pending), to: Self::Expired },
    ];

    fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Approved => "approved",
            Self::Rejected => "rejected",
            Self::Withdrawn => "withdrawn",
            Self::Stale => "stale",
            Self::Expired => "expired",
        }
    }
}
