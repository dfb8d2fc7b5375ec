//! The states of an event that waits to be told, and every move between them (section X of
//! docs/messages.md).
//!
//! Guards against the outbox where one outage makes every event dead: a transport that is down
//! costs no attempt (X4), and what a destination refuses blocks its own aggregate alone (X6). So does
//! an event that ends whoever publishes it (X7b).

use serde::{Deserialize, Serialize};

use crate::machine::{Machine, Rule};

/// Where an event stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EventStatus {
    /// Written with the change that it tells of; waits for its turn. Left by a claim.
    Pending,
    /// A publisher holds it by lease and fence. Left by its answer, or by the loss of the lease.
    Publishing,
    /// The destination has it. Final; purged after the consumers' replay horizon.
    Published,
    /// Refused too often, or the end of too many publishers; blocks its aggregate until a person
    /// requeues or skips it.
    Dead,
    /// A person let the aggregate go on without it. Final; purged as published ones are.
    Skipped,
}

impl EventStatus {
    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Publishing => "publishing",
            Self::Published => "published",
            Self::Dead => "dead",
            Self::Skipped => "skipped",
        }
    }
}

impl std::str::FromStr for EventStatus {
    type Err = crate::operation::UnknownWord;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        <Self as Machine>::parse(text)
    }
}

/// How often a destination may refuse an event before a person has to look (X6).
pub const MAX_ATTEMPTS: i32 = 12;
/// How many publishers in a row an event may lose before a person has to look (X7b): as many as
/// refusals, with the same pauses between. No fewer, for one that is innocent is lost with the
/// event beside it that ends the process; no more, for each takes a process down with all that it
/// was at.
pub const MAX_TAKEOVERS: i32 = 12;

const fn rule(rule: &'static str, from: Option<EventStatus>, to: EventStatus) -> Rule<EventStatus> {
    Rule { rule, from, to }
}

impl Machine for EventStatus {
    const NAME: &'static str = "outbox";
    const ALL: &'static [Self] =
        &[Self::Dead, Self::Pending, Self::Publishing, Self::Published, Self::Skipped];
    const RULES: &'static [Rule<Self>] = &[
        rule("X1", None, Self::Pending),
        rule("X2", Some(Self::Pending), Self::Publishing),
        rule("X3", Some(Self::Publishing), Self::Published),
        rule("X4", Some(Self::Publishing), Self::Pending),
        rule("X5", Some(Self::Publishing), Self::Pending),
        rule("X6", Some(Self::Publishing), Self::Dead),
        rule("X7", Some(Self::Publishing), Self::Pending),
        rule("X7b", Some(Self::Publishing), Self::Dead),
        rule("X8", Some(Self::Dead), Self::Pending),
        rule("X8", Some(Self::Dead), Self::Skipped),
    ];

    fn as_str(self) -> &'static str {
        self.label()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_leaves_a_told_or_skipped_event_and_only_people_free_a_dead_one() {
        for status in EventStatus::ALL {
            let is_final = matches!(status, EventStatus::Published | EventStatus::Skipped);
            assert_eq!(status.is_final(), is_final, "{status:?}");
        }
        assert!(
            EventStatus::RULES
                .iter()
                .filter(|rule| rule.from == Some(EventStatus::Dead))
                .all(|rule| rule.rule == "X8")
        );
    }
}
