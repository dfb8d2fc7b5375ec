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
    /// Whether *it did not happen* ever rested on a person's word or a kind's statement (O22, O34).
    pub guessed: bool,
    /// What the latest correction says is true, and who put it right.
    pub corrected: Option<Corrected<'a>>,
}

/// A wrong confirmation that two people put right.
#[derive(Debug, Clone, Copy)]
pub struct Corrected<'a> {
    /// Whether it happened.
    pub happened: bool,
    /// Who asked for the correction.
    pub by: &'a str,
    /// Who approved it.
    pub approved_by: &'a str,
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
    if let Some(corrected) = facts.corrected {
        return (Safety::Final, corrected_sentence(facts.status, corrected));
    }
    if facts.open_incident && facts.status.is_final() {
        return (
            Safety::NeedsPerson,
            "Disputed: an incident about the recorded outcome is open. Do not repeat it before that is settled.".into(),
        );
    }
    if facts.tombstoned {
        let outcome = match (facts.status, facts.guessed) {
            (Status::Succeeded, _) => "It happened",
            (_, true) => "It ended without proof that it happened",
            (_, false) => "It did not happen",
        };
        return (
            Safety::Final,
            format!("{outcome}, long ago. The contents have expired; the key stays closed."),
        );
    }
    match facts.status {
        Status::Reserved => reserved(facts),
        Status::Executing if facts.lease == LeaseState::Live => {
            (Safety::Wait, "Wait: a worker is calling the provider now.".into())
        }
        Status::Executing => (
            Safety::NeedsPerson,
            "Not safe to retry: the worker stopped beating while the call may have reached the provider.".into(),
        ),
        Status::FailedRetryable if facts.guessed => (
            Safety::SafeToRetry,
            "It will be tried again under the same provider key. That it did not happen before rests on a person's word or the kind's statement, not on proof.".into(),
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

/// The recorded state stays; what is true is what the correction says.
fn corrected_sentence(status: Status, corrected: Corrected<'_>) -> String {
    let word = |happened| if happened { "it happened" } else { "it did not happen" };
    format!(
        "Confirmed as: {}; corrected to: {}, by {}, approved by {}.",
        word(status == Status::Succeeded),
        word(corrected.happened),
        corrected.by,
        corrected.approved_by
    )
}

fn reserved(facts: &Facts<'_>) -> (Safety, String) {
    // An earlier attempt may have called; this one has not.
    let call = if facts.attempt > 0 { "the next call" } else { "the call" };
    match facts.lease {
        LeaseState::Live => {
            (Safety::Wait, format!("Wait: a worker holds it and has not begun {call}."))
        }
        LeaseState::Stale => (
            Safety::SafeToRetry,
            format!(
                "Safe: the worker is gone, and {call} had not begun. The next worker or a repeat takes it."
            ),
        ),
        LeaseState::None => {
            (Safety::Wait, format!("Wait: nobody holds it, and {call} has not begun."))
        }
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
            "Wait: it may have happened, and reconciliation is looking for proof.".into(),
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
    let ended = match facts.ended_by {
        Some(Event::Rejected | Event::ProofRejected) => "the provider rejected it for good",
        Some(Event::ConfirmStop) => {
            return "A person confirmed that it did not happen; it will not be tried again.".into();
        }
        Some(Event::Cancel) => "it was cancelled before the call began",
        Some(Event::ClaimBound) => "workers kept dying before the call began, so it was given up",
        Some(Event::GiveUp) => "it was given up",
        _ => "the provider took nothing, and no attempt is left",
    };
    if facts.guessed {
        format!("It ended: {ended}. An earlier call was taken as not done without proof.")
    } else {
        format!("It did not happen: {ended}.")
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
            "A repeat could do the effect a second time.".into()
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
            guessed: false,
            corrected: None,
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

    #[test]
    fn a_guess_is_never_told_as_proof() {
        for status in [Status::FailedRetryable, Status::FailedTerminal] {
            for tombstoned in [false, true] {
                let told = verdict(&Facts { guessed: true, tombstoned, ..facts(status) });
                assert!(!told.sentence.contains("It did not happen"), "{}", told.sentence);
                assert!(!told.sentence.contains("the effect did not happen"), "{}", told.sentence);
            }
        }
        let disputed = verdict(&Facts {
            tombstoned: true,
            open_incident: true,
            ..facts(Status::FailedTerminal)
        });
        assert!(disputed.sentence.starts_with("Disputed"), "also long after");
    }

    #[test]
    fn a_correction_says_what_was_confirmed_and_what_is_true() {
        let corrected = Corrected { happened: true, by: "Olga", approved_by: "Ada" };
        let facts = Facts { corrected: Some(corrected), ..facts(Status::FailedTerminal) };
        assert_eq!(
            verdict(&facts).sentence,
            "Confirmed as: it did not happen; corrected to: it happened, by Olga, approved by Ada."
        );
    }
}
