//! Each rule of the verdict, by inputs that differ in one fact: a sentence that says too much is a
//! second charge.

use super::*;

fn facts(status: Status) -> Facts<'static> {
    Facts {
        status,
        tombstoned: false,
        needs_manual: false,
        irreversible: true,
        lookup: true,
        asked_in_vain: false,
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
                assert!(!matches!(verdict.safety, Safety::SafeToRetry | Safety::Final), "{words}");
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
    let disputed =
        verdict(&Facts { tombstoned: true, open_incident: true, ..facts(Status::FailedTerminal) });
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

/// A verdict's sentence.
fn says(facts: &Facts<'_>) -> String {
    verdict(facts).sentence
}

const DO_NOT_RETRY: &str =
    "Do not retry: evidence on record says it happened, and no proof has settled it yet.";
const EVIDENCE: &str = "Evidence on record says that it happened.";

#[test]
fn a_call_that_has_not_begun_is_told_as_such_and_an_earlier_one_is_not_denied() {
    for (lease, attempt, safety, sentence) in [
        (LeaseState::Live, 0, Safety::Wait, "Wait: a worker holds it and has not begun the call."),
        (
            LeaseState::Live,
            1,
            Safety::Wait,
            "Wait: a worker holds it and has not begun the next call.",
        ),
        (LeaseState::None, 0, Safety::Wait, "Wait: nobody holds it, and the call has not begun."),
        (
            LeaseState::None,
            2,
            Safety::Wait,
            "Wait: nobody holds it, and the next call has not begun.",
        ),
        (
            LeaseState::Stale,
            0,
            Safety::SafeToRetry,
            "Safe: the worker is gone, and the call had not begun. The next worker or a repeat takes it.",
        ),
    ] {
        let told = verdict(&Facts { lease, attempt, ..facts(Status::Reserved) });
        assert_eq!((told.safety, told.sentence.as_str()), (safety, sentence));
    }
}

#[test]
fn nothing_is_safe_while_evidence_says_that_it_happened() {
    for status in [Status::Reserved, Status::FailedRetryable, Status::Unknown] {
        for lease in [LeaseState::None, LeaseState::Live, LeaseState::Stale] {
            let told = verdict(&Facts { done_on_record: true, attempt: 0, lease, ..facts(status) });
            assert_eq!(told.safety, Safety::NeedsPerson, "{status} {lease:?}");
            assert_eq!(told.sentence, DO_NOT_RETRY, "{status} {lease:?}");
            assert!(told.grounds.iter().any(|ground| ground == EVIDENCE), "{status}");
        }
        let told = verdict(&Facts { attempt: 0, lease: LeaseState::Stale, ..facts(status) });
        assert_ne!(told.sentence, DO_NOT_RETRY, "{status}");
        assert!(!told.grounds.iter().any(|ground| ground == EVIDENCE), "{status}");
    }
}

#[test]
fn a_failure_that_evidence_denies_is_disputed_with_or_without_an_incident() {
    let denied = Facts { done_on_record: true, ..facts(Status::FailedTerminal) };
    for tombstoned in [false, true] {
        let told = verdict(&Facts { tombstoned, ..denied.clone() });
        assert_eq!(told.safety, Safety::NeedsPerson);
        assert_eq!(
            told.sentence,
            "Disputed: it is recorded as not done, and evidence on record says that it happened. Do not repeat it."
        );
        assert_eq!(told.grounds, [EVIDENCE]);
    }
    let agreed = verdict(&Facts { done_on_record: true, ..facts(Status::Succeeded) });
    assert_eq!((agreed.safety, agreed.grounds), (Safety::Final, vec![]));
}

#[test]
fn an_incident_disputes_what_has_ended_and_nothing_else() {
    let disputed = "Disputed: an incident about the recorded outcome is open. Do not repeat it before that is settled.";
    for status in Status::ALL {
        let told = verdict(&Facts { open_incident: true, ..facts(status) });
        assert_eq!(told.sentence == disputed, status.is_final(), "{status}");
        assert_eq!(told.grounds.last().unwrap(), "An incident about it is open.");
        assert_ne!(says(&facts(status)), disputed, "{status}");
    }
}

#[test]
fn a_call_under_way_is_waited_for_and_a_lost_one_may_have_reached_the_provider() {
    let with = |lease| says(&Facts { lease, ..facts(Status::Executing) });
    assert_eq!(with(LeaseState::Live), "Wait: a worker is calling the provider now.");
    for lease in [LeaseState::Stale, LeaseState::None] {
        assert_eq!(
            with(lease),
            "Not safe to retry: the worker stopped beating while the call may have reached the provider."
        );
    }
}

#[test]
fn a_retry_says_whether_proof_or_a_word_stands_behind_it() {
    let retry = |guessed| verdict(&Facts { guessed, ..facts(Status::FailedRetryable) });
    assert_eq!(
        retry(false).sentence,
        "Safe: the effect did not happen, and the same operation will be tried again."
    );
    assert_eq!(
        retry(true).sentence,
        "It will be tried again under the same provider key. That it did not happen before rests on a person's word or the kind's statement, not on proof."
    );
    assert_eq!([retry(false).safety, retry(true).safety], [Safety::SafeToRetry; 2]);
}

#[test]
fn an_unknown_outcome_waits_for_proof_until_machines_give_up_and_then_says_why() {
    let unknown = facts(Status::Unknown);
    let told = verdict(&Facts { takeovers: 3, lookup: false, ..unknown.clone() });
    assert_eq!(told.safety, Safety::Wait, "machines have not given up");
    assert_eq!(
        told.sentence,
        "Wait: it may have happened, and reconciliation is looking for proof."
    );
    for (takeovers, lookup, why) in [
        (0, true, "the provider's answers prove nothing"),
        (2, true, "the provider's answers prove nothing"),
        (2, false, "the provider offers no lookup"),
        (3, true, "workers died on it 3 times"),
        (4, false, "workers died on it 4 times"),
    ] {
        let given_up = Facts { needs_manual: true, takeovers, lookup, ..unknown.clone() };
        let told = verdict(&given_up);
        assert_eq!(told.safety, Safety::NeedsPerson);
        assert_eq!(
            told.sentence,
            format!(
                "Not safe to retry: the call may have reached the provider, and {why}. A person must decide."
            )
        );
    }
}

#[test]
fn a_provider_that_was_asked_in_vain_is_not_called_one_that_cannot_be_asked() {
    let given_up = |lookup, asked_in_vain| {
        verdict(&Facts {
            needs_manual: true,
            lookup,
            asked_in_vain,
            reconcile_tries: 1,
            ..facts(Status::Unknown)
        })
    };
    let in_vain = given_up(true, true);
    assert_eq!(
        in_vain.sentence,
        "Not safe to retry: the call may have reached the provider, and the provider was asked and could not tell. A person must decide."
    );
    assert_eq!(
        in_vain.grounds[..2],
        ["The provider was asked once.", "It could not tell: it offers no lookup for this effect.",]
    );
    assert_eq!(given_up(false, true), given_up(false, false), "the kind says that nobody asks it");
    assert_ne!(in_vain, given_up(true, false));
}

#[test]
fn a_success_names_who_says_so_and_the_reference() {
    for (ended_by, reference, sentence) in [
        (
            Some(Event::ConfirmHappened),
            Some("ch_1"),
            "It happened, as a person confirmed with the provider's reference ch_1.",
        ),
        (
            Some(Event::ProofDone),
            Some("ch_1"),
            "It happened: the provider proved it with the reference ch_1.",
        ),
        (Some(Event::Done), Some("ch_1"), "It happened: the provider's reference is ch_1."),
        (Some(Event::Done), None, "It happened: the provider answered done."),
        // Nothing tells that the provider ever answered.
        (Some(Event::ConfirmHappened), None, "It happened."),
        (None, None, "It happened."),
    ] {
        let told =
            verdict(&Facts { ended_by, external_reference: reference, ..facts(Status::Succeeded) });
        assert_eq!((told.safety, told.sentence.as_str()), (Safety::Final, sentence));
    }
}

#[test]
fn a_failure_says_what_ended_it_and_calls_a_guess_a_guess() {
    for (ended_by, attempt, ended) in [
        (Event::Rejected, 1, "the provider rejected it for good"),
        (Event::ProofRejected, 1, "the provider rejected it for good"),
        (Event::Cancel, 0, "it was cancelled before the call began"),
        (Event::Cancel, 1, "it was cancelled before the next call began"),
        (Event::ClaimBound, 0, "workers kept dying before the call began, so it was given up"),
        (Event::ClaimBound, 1, "workers kept dying before the next call began, so it was given up"),
        (Event::GiveUp, 1, "it was given up"),
        (Event::NotDoneLast, 3, "the provider took nothing, and no attempt is left"),
    ] {
        let with = |guessed| {
            let ended_by = Some(ended_by);
            says(&Facts { ended_by, attempt, guessed, ..facts(Status::FailedTerminal) })
        };
        assert_eq!(with(false), format!("It did not happen: {ended}."));
        assert_eq!(
            with(true),
            format!("It ended: {ended}. An earlier call was taken as not done without proof.")
        );
    }
    let stopped = Facts { ended_by: Some(Event::ConfirmStop), ..facts(Status::FailedTerminal) };
    assert_eq!(
        says(&stopped),
        "A person confirmed that it did not happen; it will not be tried again."
    );
}

#[test]
fn long_after_the_outcome_stands_and_a_persons_word_is_still_a_persons_word() {
    for (status, ended_by, guessed, outcome) in [
        (Status::Succeeded, Event::Done, false, "It happened"),
        (Status::Succeeded, Event::Done, true, "It happened"),
        (Status::FailedTerminal, Event::Rejected, false, "It did not happen"),
        (
            Status::FailedTerminal,
            Event::ConfirmStop,
            false,
            "A person confirmed that it did not happen",
        ),
        (Status::FailedTerminal, Event::Rejected, true, "It ended without proof that it happened"),
    ] {
        let told = verdict(&Facts {
            tombstoned: true,
            ended_by: Some(ended_by),
            guessed,
            ..facts(status)
        });
        assert_eq!(told.safety, Safety::Final);
        assert_eq!(
            told.sentence,
            format!("{outcome}, long ago. The contents have expired; the key stays closed.")
        );
    }
}

#[test]
fn a_correction_is_final_until_an_incident_or_evidence_speaks_against_it() {
    let corrected = |happened, open_incident, done_on_record| {
        let corrected = Some(Corrected { happened, by: "Olga", approved_by: "Ada" });
        let status = if happened { Status::FailedTerminal } else { Status::Succeeded };
        verdict(&Facts { corrected, open_incident, done_on_record, ..facts(status) })
    };
    for (happened, open_incident, done_on_record, safety) in [
        (false, false, false, Safety::Final),
        (true, false, false, Safety::Final),
        (true, false, true, Safety::Final),
        (false, false, true, Safety::NeedsPerson),
        (false, true, false, Safety::NeedsPerson),
        (true, true, false, Safety::NeedsPerson),
    ] {
        let told = corrected(happened, open_incident, done_on_record);
        assert_eq!(told.safety, safety, "{happened} {open_incident} {done_on_record}");
        assert!(told.sentence.starts_with("Confirmed as: "));
        let evidence = told.grounds.iter().any(|ground| ground == EVIDENCE);
        assert_eq!(evidence, done_on_record && !happened);
    }
    assert_eq!(
        corrected(false, false, false).sentence,
        "Confirmed as: it happened; corrected to: it did not happen, by Olga, approved by Ada."
    );
}

#[test]
fn an_unknown_outcome_says_what_made_it_unknown() {
    for (unknown_by, ground) in [
        (Event::LeaseLost, "The worker's lease ran out while the call may have been under way."),
        (Event::Ambiguous, "The call ended without an answer that tells whether it took effect."),
        (Event::Release, "A person released the lease while the call may have been under way."),
        (
            Event::EvidenceContradicts,
            "It was recorded as not done; then evidence said that it happened.",
        ),
    ] {
        let because = |status| {
            let unknown_by = Some(unknown_by);
            verdict(&Facts { unknown_by, ..facts(status) }).grounds
        };
        assert_eq!(because(Status::Unknown)[0], ground);
        assert!(!because(Status::Succeeded).contains(&ground.to_owned()), "it is over: {ground}");
    }
}

#[test]
fn an_unknown_outcome_says_what_was_asked_and_what_a_repeat_would_do() {
    let no_lookup = "This provider offers no lookup, so no machine can ask it.";
    let once = "The provider was asked once.";
    let twice = "The provider was asked 2 times.";
    let no_proof =
        "This provider's \u{201c}not found\u{201d} does not prove that nothing happened.";
    let harm = "A repeat could do the effect a second time.";
    let harmless = "The kind states that a repeat does no harm.";
    let call = "Call 1 of at most 3 has begun.";
    for (lookup, absent_is_proof, tries, irreversible, grounds) in [
        (true, false, 0, true, vec![harm, call]),
        (true, false, 1, true, vec![once, no_proof, harm, call]),
        (true, false, 2, true, vec![twice, no_proof, harm, call]),
        (true, true, 2, true, vec![twice, harm, call]),
        (false, false, 2, true, vec![no_lookup, harm, call]),
        (false, true, 0, false, vec![no_lookup, harmless, call]),
    ] {
        let told = verdict(&Facts {
            lookup,
            absent_is_proof,
            reconcile_tries: tries,
            irreversible,
            ..facts(Status::Unknown)
        });
        assert_eq!(told.grounds, grounds);
    }
    let known = Facts { lookup: false, reconcile_tries: 2, ..facts(Status::Executing) };
    assert_eq!(verdict(&known).grounds, [call], "only a doubt needs them");
}

#[test]
fn calls_are_counted_until_the_end_and_lost_workers_beyond_it() {
    let grounds = |status, attempt, takeovers| {
        verdict(&Facts { attempt, takeovers, ..facts(status) }).grounds
    };
    assert_eq!(grounds(Status::Reserved, 0, 0), [""; 0]);
    assert_eq!(grounds(Status::Reserved, 2, 0), ["Call 2 of at most 3 has begun."]);
    assert_eq!(grounds(Status::Succeeded, 2, 0), [""; 0]);
    assert_eq!(grounds(Status::Succeeded, 2, 1), ["One worker was lost on it."]);
    assert_eq!(grounds(Status::FailedTerminal, 2, 2), ["2 workers were lost on it."]);
}
