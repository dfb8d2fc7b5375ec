//! The closed words that the database, the JSON API and addresses use. They never change: rows, clients
//! and bookmarks hold them. Writing, reading and JSON agree on each, and no other word is taken.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::{fmt::Debug, str::FromStr};

use domain::{
    access::{Permission, Role},
    action::{TargetType, Verb},
    approval::ApprovalStatus,
    bulk::BulkState,
    compensation::CompensationState,
    inbox::InboxState,
    lease::LeaseState,
    listing::IncidentState,
    machine::Machine,
    operation::{Event, Status, UnknownWord},
    outbox::EventStatus,
    token::{TokenState, TokenVerb},
    workflow::{StepState, WorkflowState},
};
use serde::{Serialize, de::DeserializeOwned};

/// Holds each value to its word in JSON, both ways.
fn travels<T: Copy + Debug + PartialEq + Serialize + DeserializeOwned>(values: &[(T, &str)]) {
    for &(value, word) in values {
        let json = format!("\"{word}\"");
        assert_eq!(serde_json::to_string(&value).unwrap(), json);
        assert_eq!(serde_json::from_str::<T>(&json).unwrap(), value);
    }
    assert!(serde_json::from_str::<T>("\"nonsense\"").is_err());
}

/// Holds each value to the word that it is read from.
fn reads<T: Copy + Debug + PartialEq + FromStr<Err = UnknownWord>>(values: &[(T, &str)]) {
    for &(value, word) in values {
        assert_eq!(word.parse(), Ok(value));
        let spelled =
            [word.to_uppercase(), word.to_lowercase(), format!("{word} "), format!("{word}s")];
        for other in spelled.into_iter().filter(|other| other != word) {
            assert_eq!(other.parse::<T>(), Err(UnknownWord(other)));
        }
    }
    for other in ["", "nonsense"] {
        assert_eq!(other.parse::<T>(), Err(UnknownWord(other.into())));
    }
}

/// Holds a machine's states, all of them, to their words.
fn machine<M>(name: &str, values: &[(M, &str)])
where
    M: Machine + FromStr<Err = UnknownWord> + Serialize + DeserializeOwned,
{
    assert_eq!(M::NAME, name);
    assert_eq!(M::ALL, values.iter().map(|(value, _)| *value).collect::<Vec<_>>());
    for (value, word) in values {
        assert_eq!(value.as_str(), *word);
    }
    travels(values);
    reads(values);
}

/// Writes each value in its order: the word, and what `Display` says.
fn shown<T: Copy + ToString>(all: &[T], word: impl Fn(T) -> &'static str) -> Vec<&'static str> {
    all.iter()
        .map(|&value| {
            assert_eq!(value.to_string(), word(value));
            word(value)
        })
        .collect()
}

#[test]
fn an_operations_states_have_their_words_and_people_read_others() {
    let values = [
        (Status::Unknown, "unknown"),
        (Status::Executing, "executing"),
        (Status::Reserved, "reserved"),
        (Status::FailedRetryable, "failed_retryable"),
        (Status::FailedTerminal, "failed_terminal"),
        (Status::Succeeded, "succeeded"),
    ];
    assert_eq!(shown(&Status::ALL, Status::as_str), values.map(|(_, word)| word));
    travels(&values);
    reads(&values);
    assert_eq!(
        Status::ALL.map(Status::label),
        ["unknown", "executing", "reserved", "failed, will retry", "failed", "succeeded"]
    );
    assert_eq!("done".parse::<Status>().unwrap_err().to_string(), "not known: done");
}

#[test]
fn an_event_is_written_as_its_rules_number() {
    let rules = [
        "O1", "O2", "O3", "O4", "O4b", "O5", "O6", "O7", "O8", "O9", "O10", "O11", "O12", "O13",
        "O14", "O15", "O16", "O17", "O18", "O19", "O20", "O21", "O22", "O23", "O24", "O25", "O26",
        "O27", "O28", "O29", "O30", "O31", "O32", "O33", "O34", "O35", "OE",
    ];
    assert_eq!(shown(Event::ALL, Event::rule), rules);
    reads(&Event::ALL.iter().copied().zip(rules).collect::<Vec<_>>());
    assert_eq!("O11".parse(), Ok(Event::LeaseLost));
    assert_eq!("O30".parse(), Ok(Event::EvidenceContradicts));
}

#[test]
fn a_role_is_one_word_in_the_database_and_on_the_command_line() {
    let values = [
        (Role::Viewer, "viewer"),
        (Role::Operator, "operator"),
        (Role::Approver, "approver"),
        (Role::TenantAdmin, "tenant-admin"),
        (Role::Auditor, "auditor"),
    ];
    assert_eq!(shown(&Role::ALL, Role::as_str), values.map(|(_, word)| word));
    travels(&values);
    reads(&values);
}

#[test]
fn a_refusal_names_the_right_that_is_missing_in_words() {
    assert_eq!(
        Permission::ALL.map(Permission::label),
        [
            "read operations",
            "confirm unknown outcomes",
            "release stuck leases",
            "trigger compensations",
            "reconcile now",
            "retry failed operations",
            "cancel operations",
            "correct confirmations",
            "requeue dead events",
            "skip dead events",
            "run or drop inbox messages",
            "open, gather and close incidents",
            "act on many records at once",
            "write notes and take operations",
            "add evidence",
            "approve requests",
            "reveal masked fields",
            "read the audit log",
            "share views of lists with the team",
            "change operation kinds",
            "change staff and roles",
            "make tokens of services and revoke any",
            "make and revoke your own tokens",
        ]
    );
}

#[test]
fn a_request_for_a_second_person_has_its_words() {
    use ApprovalStatus as A;
    machine(
        "approval",
        &[
            (A::Pending, "pending"),
            (A::Approved, "approved"),
            (A::Rejected, "rejected"),
            (A::Withdrawn, "withdrawn"),
            (A::Stale, "stale"),
            (A::Expired, "expired"),
        ],
    );
}

#[test]
fn an_undo_has_its_words_and_is_never_called_undone_before_it_is() {
    use CompensationState as C;
    let values = [
        (C::Failed, "failed"),
        (C::Running, "running"),
        (C::WaitingForward, "waiting_forward"),
        (C::Requested, "requested"),
        (C::AcceptedUndoneNot, "accepted_undone_not"),
        (C::Compensated, "compensated"),
        (C::NotNeeded, "not_needed"),
    ];
    machine("compensation", &values);
    assert_eq!(shown(C::ALL, Machine::as_str), values.map(|(_, word)| word));
    assert_eq!(
        values.map(|(state, _)| state.label()),
        [
            "undo failed",
            "being undone",
            "waiting for the operation's outcome",
            "requested",
            "accepted as not undone",
            "undone",
            "nothing to undo",
        ]
    );
}

#[test]
fn a_workflow_and_its_steps_have_their_words() {
    use StepState as S;
    use WorkflowState as W;
    let workflow = [
        (W::Running, "running"),
        (W::Waiting, "waiting"),
        (W::Blocked, "blocked"),
        (W::Compensating, "compensating"),
        (W::CompensationStuck, "compensation_stuck"),
        (W::Completed, "completed"),
        (W::Compensated, "compensated"),
        (W::ClosedPartial, "closed_partial"),
        (W::Failed, "failed"),
        (W::Cancelled, "cancelled"),
    ];
    machine("workflow", &workflow);
    assert_eq!(shown(W::ALL, Machine::as_str), workflow.map(|(_, word)| word));
    let step = [
        (S::Pending, "pending"),
        (S::Running, "running"),
        (S::WaitingRetry, "waiting_retry"),
        (S::BlockedUnknown, "blocked_unknown"),
        (S::Succeeded, "succeeded"),
        (S::Failed, "failed"),
        (S::Skipped, "skipped"),
        (S::Cancelled, "cancelled"),
    ];
    machine("step", &step);
    assert_eq!(shown(S::ALL, Machine::as_str), step.map(|(_, word)| word));
}

#[test]
fn events_and_messages_have_their_words() {
    use EventStatus as X;
    use InboxState as N;
    machine(
        "outbox",
        &[
            (X::Dead, "dead"),
            (X::Pending, "pending"),
            (X::Publishing, "publishing"),
            (X::Published, "published"),
            (X::Skipped, "skipped"),
        ],
    );
    machine(
        "inbox",
        &[
            (N::Dead, "dead"),
            (N::Quarantined, "quarantined"),
            (N::Processing, "processing"),
            (N::Processed, "processed"),
            (N::Dropped, "dropped"),
        ],
    );
}

#[test]
fn a_bulk_has_its_words() {
    use BulkState as B;
    machine(
        "bulk",
        &[
            (B::Freezing, "freezing"),
            (B::Checking, "checking"),
            (B::Ready, "ready"),
            (B::Running, "running"),
            (B::Paused, "paused"),
            (B::Over, "over"),
            (B::Abandoned, "abandoned"),
            (B::Expired, "expired"),
        ],
    );
}

#[test]
fn a_list_is_narrowed_to_live_or_stale_leases_and_to_no_others() {
    let values = [(LeaseState::Live, "live"), (LeaseState::Stale, "stale")];
    reads(&values);
    travels(&values);
    travels(&[(LeaseState::None, "none")]);
    assert!("none".parse::<LeaseState>().is_err(), "what nobody holds is no lease");
}

#[test]
fn an_incident_is_open_or_closed() {
    let values = [(IncidentState::Open, "open"), (IncidentState::Closed, "closed")];
    assert_eq!(values.map(|(state, _)| state.as_str()), values.map(|(_, word)| word));
    travels(&values);
    reads(&values);
}

#[test]
fn a_token_says_what_it_may_and_where_it_stands() {
    use TokenVerb as T;
    let values = [
        (T::Reserve, "reserve"),
        (T::Report, "report"),
        (T::Claim, "claim"),
        (T::Inbox, "inbox"),
        (T::Workflows, "workflows"),
        (T::Read, "read"),
        (T::Decide, "decide"),
    ];
    assert_eq!(shown(&T::ALL, T::as_str), values.map(|(_, word)| word));
    travels(&values);
    reads(&values);
    assert_eq!(
        T::ALL.map(T::label),
        [
            "reserve and queue operations",
            "start, beat and finish operations",
            "claim work that waits",
            "hand messages in",
            "start workflows and go through their steps",
            "read lists, records and receipts",
            "decide, with the rights of your role",
        ]
    );
    let states = [
        (TokenState::Active, "active"),
        (TokenState::Expired, "expired"),
        (TokenState::Revoked, "revoked"),
    ];
    assert_eq!(states.map(|(state, _)| state.as_str()), states.map(|(_, word)| word));
    travels(&states);
}

#[test]
fn what_is_decided_and_about_what_have_their_words() {
    let targets = [
        "operation",
        "workflow",
        "compensation",
        "outbox",
        "inbox",
        "conflict",
        "incident",
        "approval",
        "operation_kind",
        "staff",
        "bulk",
        "token",
    ];
    assert_eq!(shown(&TargetType::ALL, TargetType::as_str), targets);
    let targets: Vec<_> = TargetType::ALL.into_iter().zip(targets).collect();
    travels(&targets);
    reads(&targets);
    let verbs = [
        "confirm",
        "release",
        "reconcile",
        "retry",
        "cancel",
        "correct",
        "compensate",
        "resume",
        "accept",
        "continue",
        "requeue",
        "skip",
        "run",
        "drop",
        "close",
        "open",
        "add",
        "remove",
        "pause",
        "abandon",
        "approve",
        "reject",
        "withdraw",
        "put_kind",
        "grant",
        "issue",
        "revoke",
    ];
    assert_eq!(shown(Verb::ALL, Verb::as_str), verbs);
    let verbs: Vec<_> = Verb::ALL.iter().copied().zip(verbs).collect();
    travels(&verbs);
    reads(&verbs);
}
