//! The one sentence that a support person acts on, with its grounds.
//!
//! A wrong word here charges a customer twice, so the sentence is a pure function of what the
//! database knows and claims nothing beyond it: unknown is called unknown, never failed.

use serde::{Deserialize, Serialize};

use crate::{
    lease::LeaseState,
    operation::{Event, Status},
};

/// How the verdict is tinted, and what it tells a person to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Safety {
    /// Nothing is open.
    Final,
    /// It goes on by itself, or may be repeated under the same key.
    SafeToRetry,
    /// Machines are still finding out.
    Wait,
    /// A person must look before anybody repeats it.
    NeedsPerson,
}

/// What the database knows about an operation, as far as the verdict needs it.
#[derive(Debug, Clone)]
pub struct Facts<'a> {
    /// Where it stands.
    pub status: Status,
    /// Whether its contents have expired.
    pub tombstoned: bool,
    /// Whether machines have given up on finding out.
    pub needs_manual: bool,
    /// Whether the kind's effect cannot be repeated without harm.
    pub irreversible: bool,
    /// Whether the provider can be asked.
    pub lookup: bool,
    /// Whether *not found* proves that it did not happen (D14).
    pub absent_is_proof: bool,
    /// Calls begun so far.
    pub attempt: i32,
    /// Calls allowed.
    pub max_attempts: i32,
    /// Leases that ran out while a call was under way.
    pub takeovers: i32,
    /// The worker's hold on it.
    pub lease: LeaseState,
    /// The event that made it unknown.
    pub unknown_by: Option<Event>,
    /// The event that ended it.
    pub ended_by: Option<Event>,
    /// Whether evidence on record says that it happened.
    pub done_on_record: bool,
    /// Whether an incident about it is open.
    pub open_incident: bool,
    /// The provider's reference.
    pub external_reference: Option<&'a str>,
    /// Questions that reconciliation has asked so far.
    pub reconcile_tries: i32,
}

/// A verdict: a sentence a person would say, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// What to do about it.
    pub safety: Safety,
    /// The sentence.
    pub sentence: String,
    /// What it rests on, each a short sentence.
    pub grounds: Vec<String>,
}

/// The verdict on an operation.
#[must_use]
pub fn verdict(facts: &Facts<'_>) -> Verdict {
    let (safety, sentence) = judge(facts);
    Verdict { safety, sentence, grounds: grounds(facts) }
}

fn judge(facts: &Facts<'_>) -> (Safety, String) {
    if facts.tombstoned {
        let outcome =
            if facts.status == Status::Succeeded { "It happened" } else { "It did not happen" };
        return (
            Safety::Final,
            format!("{outcome}, long ago. The contents have expired; the key stays closed."),
        );
    }
    if facts.open_incident && facts.status.is_final() {
        return (
            Safety::NeedsPerson,
            "Disputed: evidence contradicts the recorded outcome. Do not repeat it before the incident is settled.".into(),
        );
    }
    match facts.status {
        Status::Reserved => match facts.lease {
            LeaseState::Live => (Safety::Wait, "Wait: a worker holds it and has not begun the call.".into()),
            LeaseState::Stale => (
                Safety::SafeToRetry,
                "Safe: the worker is gone, and the call had not begun. The next worker takes it.".into(),
            ),
            LeaseState::None => (Safety::Wait, "Wait: it is queued, and no call has begun.".into()),
        },
        Status::Executing if facts.lease == LeaseState::Live => {
            (Safety::Wait, "Wait: a worker is calling the provider now.".into())
        }
        Status::Executing => (
            Safety::NeedsPerson,
            "Not safe to retry: the worker stopped beating while the call may have reached the provider.".into(),
        ),
        Status::FailedRetryable => (
            Safety::SafeToRetry,
            "Safe: the effect did not happen, and the same operation will be tried again.".into(),
        ),
        Status::FailedTerminal => (Safety::Final, ended_without(facts)),
        Status::Succeeded => (Safety::Final, ended_with(facts)),
        Status::Unknown => unknown(facts),
    }
}

fn unknown(facts: &Facts<'_>) -> (Safety, String) {
    if facts.done_on_record {
        return (
            Safety::NeedsPerson,
            "Do not retry: evidence on record says it happened, and no proof has settled it yet."
                .into(),
        );
    }
    if !facts.needs_manual {
        return (
            Safety::Wait,
            "Wait: it may have happened, and reconciliation is asking the provider.".into(),
        );
    }
    let why = if facts.takeovers >= 3 {
        "and workers died on it three times"
    } else if !facts.lookup {
        "and the provider offers no lookup"
    } else {
        "and the provider's answers prove nothing"
    };
    (
        Safety::NeedsPerson,
        format!(
            "Not safe to retry: the call may have reached the provider, {why}. A person must decide."
        ),
    )
}

fn ended_with(facts: &Facts<'_>) -> String {
    match (facts.ended_by, facts.external_reference) {
        (Some(Event::ConfirmHappened), Some(reference)) => {
            format!("It happened, as a person confirmed with the provider's reference {reference}.")
        }
        (Some(Event::ProofDone), Some(reference)) => {
            format!("It happened: the provider proved it with the reference {reference}.")
        }
        (_, Some(reference)) => format!("It happened: the provider's reference is {reference}."),
        (_, None) => "It happened: the provider answered done.".into(),
    }
}

fn ended_without(facts: &Facts<'_>) -> String {
    match facts.ended_by {
        Some(Event::Rejected | Event::ProofRejected) => {
            "It did not happen: the provider rejected it for good.".into()
        }
        Some(Event::ConfirmStop) => {
            "A person confirmed that it did not happen; it will not be tried again.".into()
        }
        Some(Event::Cancel) => "It did not happen: it was cancelled before the call began.".into(),
        Some(Event::ClaimBound) => {
            "It did not happen: workers kept dying before the call began, so it was given up."
                .into()
        }
        Some(Event::GiveUp) => "It did not happen, and it was given up.".into(),
        _ => "It did not happen: the provider took nothing, and no attempt is left.".into(),
    }
}

fn grounds(facts: &Facts<'_>) -> Vec<String> {
    let mut grounds = Vec::new();
    let mut say = |text: &str| grounds.push(text.to_owned());
    match (facts.status, facts.unknown_by) {
        (Status::Unknown, Some(Event::LeaseLost)) => {
            say("The worker's lease ran out while the call may have been under way.");
        }
        (Status::Unknown, Some(Event::Ambiguous)) => {
            say("The call ended without an answer that tells whether it took effect.");
        }
        (Status::Unknown, Some(Event::Release)) => {
            say("A person released the lease while the call may have been under way.");
        }
        (Status::Unknown, Some(Event::EvidenceContradicts)) => {
            say("It was recorded as not done; then evidence said that it happened.");
        }
        _ => {}
    }
    if facts.done_on_record && !facts.status.is_final() {
        say("Evidence on record says that it happened.");
    }
    if facts.status == Status::Unknown {
        if !facts.lookup {
            say("This provider offers no lookup, so no machine can ask it.");
        } else if facts.reconcile_tries > 0 {
            grounds.push(match facts.reconcile_tries {
                1 => "The provider was asked once.".into(),
                n => format!("The provider was asked {n} times."),
            });
            if !facts.absent_is_proof {
                grounds.push("This provider's \u{201c}not found\u{201d} does not prove that nothing happened.".into());
            }
        }
        grounds.push(if facts.irreversible {
            "A repeat would do the effect a second time.".into()
        } else {
            "The kind states that a repeat does no harm.".into()
        });
    }
    if facts.attempt > 0 && !facts.status.is_final() {
        grounds
            .push(format!("Call {} of at most {} has begun.", facts.attempt, facts.max_attempts));
    }
    if facts.takeovers > 0 {
        grounds.push(match facts.takeovers {
            1 => "One worker was lost on it.".into(),
            n => format!("{n} workers were lost on it."),
        });
    }
    if facts.open_incident {
        grounds.push("An incident about it is open.".into());
    }
    grounds
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(status: Status) -> Facts<'static> {
        Facts {
            status,
            tombstoned: false,
            needs_manual: false,
            irreversible: true,
            lookup: true,
            absent_is_proof: false,
            attempt: 1,
            max_attempts: 3,
            takeovers: 0,
            lease: LeaseState::None,
            unknown_by: None,
            ended_by: None,
            done_on_record: false,
            open_incident: false,
            external_reference: None,
            reconcile_tries: 0,
        }
    }

    #[test]
    fn unknown_is_never_called_failed_nor_safe() {
        for needs_manual in [false, true] {
            for lookup in [false, true] {
                for done_on_record in [false, true] {
                    let verdict = verdict(&Facts {
                        needs_manual,
                        lookup,
                        done_on_record,
                        ..facts(Status::Unknown)
                    });
                    let words = format!("{} {}", verdict.sentence, verdict.grounds.join(" "));
                    assert!(!words.to_lowercase().contains("fail"), "{words}");
                    assert!(
                        !matches!(verdict.safety, Safety::SafeToRetry | Safety::Final),
                        "{words}"
                    );
                    assert!(!verdict.grounds.is_empty());
                }
            }
        }
    }

    #[test]
    fn a_running_call_with_a_dead_worker_is_not_safe() {
        let stale = verdict(&Facts { lease: LeaseState::Stale, ..facts(Status::Executing) });
        assert_eq!(stale.safety, Safety::NeedsPerson);
        let live = verdict(&Facts { lease: LeaseState::Live, ..facts(Status::Executing) });
        assert_eq!(live.safety, Safety::Wait);
    }

    #[test]
    fn a_contradicted_outcome_is_disputed_not_final() {
        for status in [Status::Succeeded, Status::FailedTerminal] {
            let disputed = verdict(&Facts { open_incident: true, ..facts(status) });
            assert_eq!(disputed.safety, Safety::NeedsPerson);
            assert!(disputed.sentence.starts_with("Disputed"));
        }
    }
}
