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
    /// Whether its last answer was that for this effect it offers no lookup, whatever the kind says.
    pub asked_in_vain: bool,
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
        let open = facts.open_incident || contradicted(facts);
        let safety = if open { Safety::NeedsPerson } else { Safety::Final };
        return (safety, corrected_sentence(facts.status, corrected));
    }
    if facts.open_incident && facts.status.is_final() {
        return (
            Safety::NeedsPerson,
            "Disputed: an incident about the recorded outcome is open. Do not repeat it before that is settled.".into(),
        );
    }
    if facts.status == Status::FailedTerminal && facts.done_on_record {
        return (
            Safety::NeedsPerson,
            "Disputed: it is recorded as not done, and evidence on record says that it happened. Do not repeat it.".into(),
        );
    }
    if facts.tombstoned {
        let outcome = match (facts.status, facts.ended_by) {
            (Status::Succeeded, _) => "It happened",
            _ if facts.guessed => "It ended without proof that it happened",
            (_, Some(Event::ConfirmStop)) => "A person confirmed that it did not happen",
            _ => "It did not happen",
        };
        return (
            Safety::Final,
            format!("{outcome}, long ago. The contents have expired; the key stays closed."),
        );
    }
    match facts.status {
        // Whoever takes it next is halted by that evidence: nothing about it is safe.
        Status::Reserved | Status::FailedRetryable | Status::Unknown if facts.done_on_record => (
            Safety::NeedsPerson,
            "Do not retry: evidence on record says it happened, and no proof has settled it yet."
                .into(),
        ),
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

/// Whether evidence says that it happened, where the record says otherwise or not yet.
fn contradicted(facts: &Facts<'_>) -> bool {
    let happened =
        facts.corrected.map_or(facts.status == Status::Succeeded, |corrected| corrected.happened);
    facts.done_on_record && !happened
}

/// The call that has not begun: an earlier attempt may have called.
const fn call(facts: &Facts<'_>) -> &'static str {
    if facts.attempt > 0 { "the next call" } else { "the call" }
}

fn reserved(facts: &Facts<'_>) -> (Safety, String) {
    let call = call(facts);
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
    if !facts.needs_manual {
        return (
            Safety::Wait,
            "Wait: it may have happened, and reconciliation is looking for proof.".into(),
        );
    }
    let why = if facts.takeovers >= 3 {
        format!("and workers died on it {} times", facts.takeovers)
    } else if !facts.lookup {
        "and the provider offers no lookup".into()
    } else if facts.asked_in_vain {
        "and the provider was asked and could not tell".into()
    } else {
        "and the provider's answers prove nothing".into()
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
        (Some(Event::Done), None) => "It happened: the provider answered done.".into(),
        (_, None) => "It happened.".into(),
    }
}

fn ended_without(facts: &Facts<'_>) -> String {
    let call = call(facts);
    let ended = match facts.ended_by {
        Some(Event::Rejected | Event::ProofRejected) => "the provider rejected it for good".into(),
        Some(Event::ConfirmStop) => {
            return "A person confirmed that it did not happen; it will not be tried again.".into();
        }
        Some(Event::Cancel) => format!("it was cancelled before {call} began"),
        Some(Event::ClaimBound) => {
            format!("workers kept dying before {call} began, so it was given up")
        }
        Some(Event::GiveUp) => "it was given up".into(),
        _ => "the provider took nothing, and no attempt is left".into(),
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
    if contradicted(facts) {
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
            if facts.asked_in_vain {
                grounds.push("It could not tell: it offers no lookup for this effect.".into());
            } else if !facts.absent_is_proof {
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
mod tests;
