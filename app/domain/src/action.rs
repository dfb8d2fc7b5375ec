//! What a person may decide about a record, and the key under which a decision is taken once (D41).
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

/// What kind of record a decision is about.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetType {
    /// One business effect.
    #[default]
    Operation,
    /// Steps that belong together.
    Workflow,
    /// The undoing of an operation.
    Compensation,
    /// An event to be told.
    Outbox,
    /// A message that came in.
    Inbox,
    /// The same key with another payload: nothing is decided about it, notes stand on it.
    Conflict,
    /// A problem that stays open until a person closes it.
    Incident,
    /// A request for a second person.
    Approval,
    /// The policy of a kind, by its name.
    OperationKind,
    /// A person's role in the tenant.
    Staff,
    /// One verb for many records.
    Bulk,
    /// A bearer token of the JSON API.
    Token,
}

impl TargetType {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::Operation,
        Self::Workflow,
        Self::Compensation,
        Self::Outbox,
        Self::Inbox,
        Self::Conflict,
        Self::Incident,
        Self::Approval,
        Self::OperationKind,
        Self::Staff,
        Self::Bulk,
        Self::Token,
    ];

    /// The word in the database, the audit log and the JSON API.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Workflow => "workflow",
            Self::Compensation => "compensation",
            Self::Outbox => "outbox",
            Self::Inbox => "inbox",
            Self::Conflict => "conflict",
            Self::Incident => "incident",
            Self::Approval => "approval",
            Self::OperationKind => "operation_kind",
            Self::Staff => "staff",
            Self::Bulk => "bulk",
            Self::Token => "token",
        }
    }

    /// The path of the pages about such records; one of them stands below it by its id.
    #[must_use]
    pub const fn pages(self) -> &'static str {
        match self {
            Self::Operation => "/operations",
            Self::Workflow => "/workflows",
            Self::Compensation => "/compensations",
            Self::Outbox => "/outbox",
            Self::Inbox => "/inbox",
            Self::Conflict => "/conflicts",
            Self::Incident => "/incidents",
            Self::Approval => "/approvals",
            Self::OperationKind => "/admin/kinds",
            Self::Staff => "/admin/staff",
            Self::Bulk => "/bulks",
            Self::Token => "/admin/tokens",
        }
    }

    /// What people call one of them.
    #[must_use]
    pub const fn label(self) -> &'static str {
        match self {
            Self::Operation => "operation",
            Self::Workflow => "workflow",
            Self::Compensation => "undo",
            Self::Outbox => "event",
            Self::Inbox => "message",
            Self::Conflict => "conflict",
            Self::Incident => "incident",
            Self::Approval => "request",
            Self::OperationKind => "kind",
            Self::Staff => "person",
            Self::Bulk => "bulk",
            Self::Token => "token",
        }
    }
}

impl fmt::Display for TargetType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for TargetType {
    type Err = UnknownWord;

    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.as_str() == text)
            .ok_or_else(|| UnknownWord(text.into()))
    }
}

/// The record that a decision is about.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Subject {
    /// What kind of record.
    #[serde(rename = "type")]
    pub kind: TargetType,
    /// Its id; of a kind its name.
    pub id: String,
}

impl Subject {
    /// A record of a kind.
    pub fn new(kind: TargetType, id: impl Into<String>) -> Self {
        Self { kind, id: id.into() }
    }

    /// The operation's id, where it is one.
    #[must_use]
    pub fn operation(&self) -> Option<OperationId> {
        if self.kind == TargetType::Operation { self.id.parse().ok() } else { None }
    }
}

impl From<OperationId> for Subject {
    fn from(id: OperationId) -> Self {
        Self::new(TargetType::Operation, id.to_string())
    }
}

macro_rules! verbs {
    ($($(#[$doc:meta])* $name:ident = $word:literal;)*) => {
        /// An action on a record.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum Verb { $($(#[$doc])* $name,)* }

        impl Verb {
            /// All verbs.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            /// The word in URLs, keys and the audit log.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$name => $word,)* }
            }
        }
    };
}

verbs! {
    /// Say what became of an unknown outcome (O21 to O23).
    Confirm = "confirm";
    /// Take a lease away from a worker that is gone (O12, O31).
    Release = "release";
    /// Ask the provider again now (O32).
    Reconcile = "reconcile";
    /// Grant another attempt (O33); try a failed undo again (C9).
    Retry = "retry";
    /// Stop what has not begun or would retry (O3, O14); end a workflow (W8, W9).
    Cancel = "cancel";
    /// Put a wrong confirmation right; always with a second person.
    Correct = "correct";
    /// Undo what happened (C1); undo what a blocked workflow did (W6).
    Compensate = "compensate";
    /// Go on with a blocked workflow under the version that fits (W6); go on with a paused bulk.
    Resume = "resume";
    /// Leave a failed undo as it is (C10, W12).
    Accept = "accept";
    /// Undo the steps before one whose undo failed (W12).
    Continue = "continue";
    /// Tell a dead event again (X8).
    Requeue = "requeue";
    /// Let the events behind a dead one go on without it (X8).
    Skip = "skip";
    /// Take in a message that was dead or too old (N5); start a bulk.
    Run = "run";
    /// Leave such a message out for good (N5).
    Drop = "drop";
    /// Close an incident.
    Close = "close";
    /// Open an incident about records that somebody gathered.
    Open = "open";
    /// Gather more records into an open incident.
    Add = "add";
    /// Take gathered records out of an open incident again.
    Remove = "remove";
    /// Stop a bulk between two rows.
    Pause = "pause";
    /// Give a bulk up: rows without a result get none.
    Abandon = "abandon";
    /// Agree to a request as the second person (A6).
    Approve = "approve";
    /// Say no to a request (A7).
    Reject = "reject";
    /// Take one's own request back (A7).
    Withdraw = "withdraw";
    /// Write a kind's policy.
    PutKind = "put_kind";
    /// Give a person another role.
    Grant = "grant";
    /// Make a token; its text is shown once, to whoever made it.
    Issue = "issue";
    /// Make a token useless at once.
    Revoke = "revoke";
}

impl Verb {
    /// What can be done to a kind of record.
    #[must_use]
    pub const fn on(target: TargetType) -> &'static [Self] {
        match target {
            TargetType::Operation => &[
                Self::Confirm,
                Self::Release,
                Self::Reconcile,
                Self::Retry,
                Self::Cancel,
                Self::Correct,
                Self::Compensate,
            ],
            TargetType::Workflow => &[Self::Cancel, Self::Resume, Self::Compensate],
            TargetType::Compensation => &[Self::Retry, Self::Accept, Self::Continue],
            TargetType::Outbox => &[Self::Requeue, Self::Skip],
            TargetType::Inbox => &[Self::Run, Self::Drop],
            TargetType::Conflict => &[],
            TargetType::Incident => &[Self::Close, Self::Add, Self::Remove, Self::Open],
            TargetType::Approval => &[Self::Approve, Self::Reject, Self::Withdraw],
            TargetType::OperationKind => &[Self::PutKind],
            TargetType::Staff => &[Self::Grant],
            TargetType::Bulk => &[Self::Run, Self::Pause, Self::Resume, Self::Abandon],
            TargetType::Token => &[Self::Issue, Self::Revoke],
        }
    }

    /// The right that it needs on an operation, and wherever its word means one thing.
    #[must_use]
    pub const fn permission(self) -> Permission {
        match self {
            Self::Confirm => Permission::Confirm,
            Self::Release => Permission::Release,
            Self::Reconcile => Permission::Reconcile,
            Self::Retry | Self::Resume => Permission::Retry,
            Self::Cancel => Permission::Cancel,
            Self::Correct => Permission::Correct,
            Self::Compensate | Self::Accept | Self::Continue => Permission::Compensate,
            Self::Requeue => Permission::Requeue,
            Self::Skip => Permission::Skip,
            Self::Run | Self::Drop => Permission::Inbox,
            Self::Close | Self::Open | Self::Add | Self::Remove => Permission::Incident,
            Self::Pause | Self::Abandon => Permission::Bulk,
            Self::Approve | Self::Reject => Permission::Approve,
            // Whoever could ask can take it back; that it is the requester is checked on the row.
            Self::Withdraw => Permission::Read,
            Self::PutKind => Permission::ManageKinds,
            Self::Grant => Permission::ManageStaff,
            // One's own takes less; whose it is stands on the row.
            Self::Issue | Self::Revoke => Permission::ManageTokens,
        }
    }

    /// The right that it needs on a kind of record.
    #[must_use]
    pub const fn permission_on(self, target: TargetType) -> Permission {
        match (self, target) {
            (Self::Retry, TargetType::Compensation) => Permission::Compensate,
            // The right to the verb of its rows is looked at with each of them.
            (Self::Run | Self::Resume, TargetType::Bulk) => Permission::Bulk,
            _ => self.permission(),
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
            // An undo waits for what is not decided yet (C3); what did not happen needs none.
            Self::Compensate => !matches!(status, Status::FailedTerminal),
            _ => false,
        }
    }

    /// The idempotency key of this decision on what the page showed.
    #[must_use]
    pub fn key(self, target: &Subject, version: i64) -> String {
        format!("{}@{version}", target.id)
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
            .iter()
            .copied()
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
            _ => vec![],
        };
        let on_states = |verb: &Verb| !matches!(verb, Verb::Correct | Verb::Compensate);
        for verb in Verb::on(TargetType::Operation).iter().copied().filter(on_states) {
            for status in Status::ALL {
                let legal = moves(verb).into_iter().any(|event| next(Some(status), event).is_ok());
                assert_eq!(verb.fits(status), legal, "{verb} from {status}");
            }
        }
    }

    #[test]
    fn a_verb_is_one_word_everywhere_and_stands_on_some_record() {
        for verb in Verb::ALL {
            assert_eq!(verb.as_str().parse(), Ok(*verb));
            assert_eq!(serde_json::to_string(verb).unwrap(), format!("\"{verb}\""));
            assert!(TargetType::ALL.into_iter().any(|target| Verb::on(target).contains(verb)));
        }
        for target in TargetType::ALL {
            assert_eq!(target.as_str().parse(), Ok(target));
        }
    }
}
