//! Bulk: one verb for many records. The set is frozen first and looked at row by row; only then a person
//! acts on it, and each row is one decision of its own.
//!
//! Guards against the set that grows after it was looked at, and against many small amounts that walk
//! around the rule of two people.

use std::{collections::BTreeSet, str::FromStr};

use serde::{Deserialize, Serialize};

use crate::{
    action::{TargetType, Verb},
    listing::{
        BadPart, EventFilter, InboxFilter, LeaseFilter, ListFilter, OperationFilter, Parts,
        WorkflowFilter,
    },
    machine::{Machine, Rule},
    money::Money,
    operation::UnknownWord,
};

macro_rules! words {
    ($name:ident: $($word:literal = $variant:ident),* $(,)?) => {
        impl $name {
            /// The word in the database, in addresses and in the JSON API.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }
        }

        impl FromStr for $name {
            type Err = UnknownWord;

            fn from_str(text: &str) -> Result<Self, UnknownWord> {
                match text {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(UnknownWord(text.into())),
                }
            }
        }
    };
}

/// Where a bulk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkState {
    /// Its rows are being written down. Left once all that match are, or more than a bulk may have.
    Freezing,
    /// Each row is looked at; nothing is done to any.
    Checking,
    /// Looked at; a person may start it.
    Ready,
    /// Its rows are being decided, one after the other.
    Running,
    /// Stopped between two rows, by a person or because the right is gone.
    Paused,
    /// Every row that could be decided has its result. Final.
    Over,
    /// Given up: rows without a result get none. Final.
    Abandoned,
    /// Not started in time: nothing was done. Final.
    Expired,
}

words!(BulkState:
    "freezing" = Freezing,
    "checking" = Checking,
    "ready" = Ready,
    "running" = Running,
    "paused" = Paused,
    "over" = Over,
    "abandoned" = Abandoned,
    "expired" = Expired,
);

impl BulkState {
    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Freezing => "being frozen",
            Self::Checking => "being looked at",
            Self::Ready => "ready to start",
            Self::Running => "running",
            Self::Paused => "paused",
            Self::Over => "over",
            Self::Abandoned => "given up",
            Self::Expired => "expired",
        }
    }

    /// Whether nothing can become of it any more.
    #[must_use]
    pub const fn is_final(self) -> bool {
        matches!(self, Self::Over | Self::Abandoned | Self::Expired)
    }

    /// Whether a background task works on it.
    #[must_use]
    pub const fn moves_by_itself(self) -> bool {
        matches!(self, Self::Freezing | Self::Checking | Self::Running)
    }
}

impl Machine for BulkState {
    const NAME: &'static str = "bulk";

    const ALL: &'static [Self] = &[
        Self::Freezing,
        Self::Checking,
        Self::Ready,
        Self::Running,
        Self::Paused,
        Self::Over,
        Self::Abandoned,
        Self::Expired,
    ];

    const RULES: &'static [Rule<Self>] = &[
        Rule { rule: "B1", from: None, to: Self::Freezing },
        Rule { rule: "B2", from: Some(Self::Freezing), to: Self::Checking },
        Rule { rule: "B3", from: Some(Self::Checking), to: Self::Ready },
        Rule { rule: "B4", from: Some(Self::Ready), to: Self::Running },
        Rule { rule: "B5", from: Some(Self::Running), to: Self::Paused },
        Rule { rule: "B6", from: Some(Self::Paused), to: Self::Running },
        Rule { rule: "B7", from: Some(Self::Running), to: Self::Over },
        Rule { rule: "B8", from: Some(Self::Freezing), to: Self::Abandoned },
        Rule { rule: "B8", from: Some(Self::Checking), to: Self::Abandoned },
        Rule { rule: "B8", from: Some(Self::Ready), to: Self::Abandoned },
        Rule { rule: "B8", from: Some(Self::Running), to: Self::Abandoned },
        Rule { rule: "B8", from: Some(Self::Paused), to: Self::Abandoned },
        Rule { rule: "B9", from: Some(Self::Ready), to: Self::Expired },
    ];

    fn as_str(self) -> &'static str {
        Self::as_str(self)
    }
}

/// Where one row of a bulk stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Written down, not looked at yet.
    Frozen,
    /// The decision would be carried out as things are.
    Eligible,
    /// It would be refused; the code says why. It is not tried.
    Ineligible,
    /// Decided, with a receipt.
    Done,
    /// Tried and refused; the code says why.
    Refused,
}

words!(Standing:
    "frozen" = Frozen,
    "eligible" = Eligible,
    "ineligible" = Ineligible,
    "done" = Done,
    "refused" = Refused,
);

impl Standing {
    /// All of them, in the order that the page offers them.
    pub const ALL: [Self; 5] =
        [Self::Eligible, Self::Ineligible, Self::Done, Self::Refused, Self::Frozen];

    /// The words that people read.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Frozen => "not looked at yet",
            Self::Eligible => "eligible",
            Self::Ineligible => "not eligible",
            Self::Done => "done",
            Self::Refused => "refused",
        }
    }
}

/// A list that a set is frozen from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum BulkList {
    /// `/operations`.
    Operations,
    /// `/leases`: the operations that are held.
    Leases,
    /// `/outbox`.
    Outbox,
    /// `/inbox`.
    Inbox,
    /// `/workflows`.
    Workflows,
}

words!(BulkList:
    "operations" = Operations,
    "leases" = Leases,
    "outbox" = Outbox,
    "inbox" = Inbox,
    "workflows" = Workflows,
);

impl BulkList {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::Operations, Self::Leases, Self::Outbox, Self::Inbox, Self::Workflows];

    /// What its rows are decided as.
    #[must_use]
    pub const fn target(self) -> TargetType {
        match self {
            Self::Operations | Self::Leases => TargetType::Operation,
            Self::Outbox => TargetType::Outbox,
            Self::Inbox => TargetType::Inbox,
            Self::Workflows => TargetType::Workflow,
        }
    }

    /// What can be done to many of its rows at once, the sensible one first.
    #[must_use]
    pub const fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Leases => &[Verb::Release],
            _ => in_bulk(self.target()),
        }
    }

    /// The parts of an address that its filter knows; others say nothing to it, for links get parameters
    /// on their way through other programs. Where a page of it begins, and how long it is, narrows nothing.
    ///
    /// # Errors
    /// [`BadPart`] names the first that cannot be used.
    pub fn known(self, pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, BadPart> {
        match self {
            Self::Operations => known::<OperationFilter>(pairs),
            Self::Leases => known::<LeaseFilter>(pairs),
            Self::Outbox => known::<EventFilter>(pairs),
            Self::Inbox => known::<InboxFilter>(pairs),
            Self::Workflows => known::<WorkflowFilter>(pairs),
        }
    }

    /// Its path.
    #[must_use]
    pub const fn path(self) -> &'static str {
        match self {
            Self::Operations => "/operations",
            Self::Leases => "/leases",
            Self::Outbox => "/outbox",
            Self::Inbox => "/inbox",
            Self::Workflows => "/workflows",
        }
    }
}

fn known<F: ListFilter>(pairs: Vec<(String, String)>) -> Result<Vec<(String, String)>, BadPart> {
    let narrows = |name: &str| name != "cursor" && name != "limit";
    let pairs: Vec<_> =
        pairs.into_iter().filter(|(name, value)| narrows(name) && !value.is_empty()).collect();
    let mut parts = Parts::new(pairs.iter().cloned())?;
    F::read(&mut parts)?;
    let left: Vec<String> = parts.left().map(str::to_owned).collect();
    Ok(pairs.into_iter().filter(|(name, _)| !left.contains(name)).collect())
}

/// The bulk verbs of a kind of record. What says of an outcome that nobody knows what became of it, what
/// pays back and what puts a decision right is decided one by one: confirm, compensate and correct
/// stand in no bulk.
#[must_use]
pub const fn in_bulk(target: TargetType) -> &'static [Verb] {
    match target {
        TargetType::Operation => &[Verb::Reconcile, Verb::Retry, Verb::Release, Verb::Cancel],
        TargetType::Workflow => &[Verb::Resume],
        TargetType::Outbox => &[Verb::Requeue, Verb::Skip],
        TargetType::Inbox => &[Verb::Run, Verb::Drop],
        TargetType::Compensation
        | TargetType::Conflict
        | TargetType::Incident
        | TargetType::Approval
        | TargetType::OperationKind
        | TargetType::Staff
        | TargetType::Bulk
        | TargetType::Token => &[],
    }
}

/// What a set holds of one kind in one currency.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkSum {
    /// The kind.
    pub kind: String,
    /// The currency; `None` for rows without a known amount.
    pub currency: Option<String>,
    /// Their amounts together, in minor units.
    pub amount_minor: i64,
    /// How many rows.
    pub rows: i64,
}

/// What a set adds up to in each currency, whatever the kinds.
#[must_use]
pub fn totals(sums: &[BulkSum]) -> Vec<Money> {
    let currencies: BTreeSet<_> = sums.iter().filter_map(|sum| sum.currency.as_ref()).collect();
    currencies
        .into_iter()
        .map(|currency| {
            let of = sums.iter().filter(|sum| sum.currency.as_ref() == Some(currency));
            let amount_minor = of.fold(0_i64, |sum, of| sum.saturating_add(of.amount_minor));
            Money { amount_minor, currency: currency.clone() }
        })
        .collect()
}

/// Why a set takes a second person, where it does (A5). `threshold` is a kind's; a set is compared with
/// the lowest of its kinds, so that no mixture is looser than its strictest part, and an unknown amount
/// is above every threshold.
#[must_use]
pub fn second_person(sums: &[BulkSum], threshold: impl Fn(&str) -> Option<i64>) -> Option<String> {
    let unknown = sums.iter().find(|sum| sum.currency.is_none() && threshold(&sum.kind).is_some());
    if let Some(sum) = unknown {
        let (records, have) = if sum.rows == 1 { ("record", "has") } else { ("records", "have") };
        return Some(format!(
            "{} {records} of {} {have} no known amount, which counts as above every threshold.",
            sum.rows, sum.kind,
        ));
    }
    totals(sums).into_iter().find_map(|total| {
        let of = sums.iter().filter(|sum| sum.currency.as_ref() == Some(&total.currency));
        let lowest = of.filter_map(|sum| threshold(&sum.kind)).min()?;
        (total.amount_minor >= lowest).then(|| {
            let lowest = Money { amount_minor: lowest, currency: total.currency.clone() };
            format!("The set adds up to {total}; from {lowest} on it takes a second person.")
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(kind: &str, currency: Option<&str>, amount_minor: i64) -> BulkSum {
        BulkSum { kind: kind.into(), currency: currency.map(Into::into), amount_minor, rows: 1 }
    }

    fn threshold(kind: &str) -> Option<i64> {
        match kind {
            "charge" => Some(1_000),
            "refund" => Some(500),
            _ => None,
        }
    }

    #[test]
    fn what_is_decided_one_by_one_stands_in_no_bulk() {
        for target in TargetType::ALL {
            for verb in in_bulk(target) {
                assert!(Verb::on(target).contains(verb), "{verb} on {target}");
                assert!(!matches!(verb, Verb::Confirm | Verb::Compensate | Verb::Correct));
            }
        }
        for list in BulkList::ALL {
            assert!(list.verbs().iter().all(|verb| in_bulk(list.target()).contains(verb)));
            assert_eq!(list.as_str().parse(), Ok(list));
        }
    }

    #[test]
    fn a_list_keeps_the_parts_that_it_knows_and_refuses_those_that_it_cannot_read() {
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        let asked =
            vec![pair("status", "dead"), pair("utm", "x"), pair("cursor", "n0"), pair("q", "")];
        assert_eq!(BulkList::Outbox.known(asked), Ok(vec![pair("status", "dead")]));
        assert!(BulkList::Outbox.known(vec![pair("status", "weird")]).is_err());
    }

    #[test]
    fn many_small_amounts_are_one_large_one() {
        let small = [sum("charge", Some("EUR"), 999)];
        assert_eq!(second_person(&small, threshold), None);
        let together = [sum("charge", Some("EUR"), 999), sum("other", Some("EUR"), 1)];
        let why = second_person(&together, threshold).unwrap();
        assert!(why.contains("10.00 EUR"), "{why}");
    }

    #[test]
    fn a_mixture_is_as_strict_as_its_strictest_kind_and_currencies_stay_apart() {
        let mixed = [sum("charge", Some("EUR"), 400), sum("refund", Some("EUR"), 100)];
        assert!(second_person(&mixed, threshold).is_some());
        let apart = [sum("charge", Some("EUR"), 400), sum("refund", Some("USD"), 499)];
        assert_eq!(second_person(&apart, threshold), None);
    }

    #[test]
    fn an_unknown_amount_is_above_every_threshold_and_none_where_there_is_no_threshold() {
        assert!(second_person(&[sum("charge", None, 0)], threshold).is_some());
        assert_eq!(second_person(&[sum("mail", None, 0)], threshold), None);
    }

    #[test]
    fn states_and_standings_are_one_word_everywhere() {
        for state in BulkState::ALL.iter().copied() {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(serde_json::to_string(&state).unwrap(), format!("\"{}\"", state.as_str()));
        }
        for standing in Standing::ALL {
            assert_eq!(standing.as_str().parse(), Ok(standing));
        }
    }
}
