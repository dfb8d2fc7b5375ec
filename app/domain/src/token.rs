//! What a bearer token may be used for: the calls that its verbs name, and nothing beside them.
//!
//! A service's token carries verbs of the engine's calls and kinds of operation; a person's token the
//! rights of that person, narrowed to reading or whole. A token without verbs covers every call that
//! its bearer may make: those were made before there were verbs, or on the command line.

use std::{fmt, str::FromStr};

use chrono::TimeDelta;
use serde::{Deserialize, Serialize};

use crate::operation::UnknownWord;

/// The longest name of a token, in characters.
pub const MAX_NAME_CHARS: usize = 100;
/// Kinds that one token may name.
pub const MAX_KINDS: usize = 100;
/// Days that a service's token made by a page lasts at most.
pub const MAX_SERVICE_DAYS: i32 = 365;
/// Days that a person's token made by a page lasts at most.
pub const MAX_OWN_DAYS: i32 = 90;
/// How exactly the last use is kept: one write in this time, however many calls.
pub const USE_NOTED_EVERY: TimeDelta = TimeDelta::minutes(1);

/// What a token may be used for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenVerb {
    /// Reserve or queue an operation.
    Reserve,
    /// Start, beat and finish an operation that was reserved or claimed.
    Report,
    /// Claim queued and retryable work.
    Claim,
    /// Hand messages in.
    Inbox,
    /// Start and cancel workflows, and go through their steps.
    Workflows,
    /// Read.
    Read,
    /// Whatever else the person behind the token may do.
    Decide,
}

impl TokenVerb {
    /// All verbs.
    pub const ALL: [Self; 7] = [
        Self::Reserve,
        Self::Report,
        Self::Claim,
        Self::Inbox,
        Self::Workflows,
        Self::Read,
        Self::Decide,
    ];

    /// The verbs of a service's token.
    pub const OF_SERVICES: [Self; 6] =
        [Self::Reserve, Self::Report, Self::Claim, Self::Inbox, Self::Workflows, Self::Read];

    /// The verbs of a person's token.
    pub const OF_PEOPLE: [Self; 2] = [Self::Read, Self::Decide];

    /// The verbs that a kind of token can have.
    #[must_use]
    pub const fn of(own: bool) -> &'static [Self] {
        if own { &Self::OF_PEOPLE } else { &Self::OF_SERVICES }
    }

    /// The word in the database, in forms, on the command line and in a refusal.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Reserve => "reserve",
            Self::Report => "report",
            Self::Claim => "claim",
            Self::Inbox => "inbox",
            Self::Workflows => "workflows",
            Self::Read => "read",
            Self::Decide => "decide",
        }
    }

    /// What it allows, in words that continue *may*.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Reserve => "reserve and queue operations",
            Self::Report => "start, beat and finish operations",
            Self::Claim => "claim work that waits",
            Self::Inbox => "hand messages in",
            Self::Workflows => "start workflows and go through their steps",
            Self::Read => "read lists, records and receipts",
            Self::Decide => "decide, with the rights of your role",
        }
    }
}

impl fmt::Display for TokenVerb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TokenVerb {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|verb| verb.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// Whether verbs cover a call; no verbs cover every one.
#[must_use]
pub fn covers(verbs: &[TokenVerb], verb: TokenVerb) -> bool {
    verbs.is_empty() || verbs.contains(&verb)
}

/// Where a token stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TokenState {
    /// It works.
    Active,
    /// Its time is over.
    Expired,
    /// Somebody took it back.
    Revoked,
}

impl TokenState {
    /// The word on pages and in receipts.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Expired => "expired",
            Self::Revoked => "revoked",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verb_is_one_word_everywhere_and_belongs_to_some_token() {
        for verb in TokenVerb::ALL {
            assert_eq!(verb.as_str().parse(), Ok(verb));
            assert_eq!(serde_json::to_string(&verb).unwrap(), format!("\"{verb}\""));
            assert!([true, false].iter().any(|own| TokenVerb::of(*own).contains(&verb)));
        }
    }

    #[test]
    fn no_verbs_cover_all_and_one_covers_itself_alone() {
        for verb in TokenVerb::ALL {
            assert!(covers(&[], verb));
            assert_eq!(covers(&[TokenVerb::Read], verb), verb == TokenVerb::Read);
        }
    }
}
