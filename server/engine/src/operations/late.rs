//! Words about an operation from somebody who does not hold it: a former owner, or the provider
//! itself (O24 to O26, O30; D17). Everything is kept; only proof settles.

use domain::{
    money::Money,
    operation::{Event, Status},
};
use serde_json::json;

use super::{finish::FinishOutcome, guards::differs, moves::Moves};
use crate::{
    error::EngineError,
    store::{
        correction::{self, Corrected},
        event,
        evidence::{self, DoneEvidence, NewEvidence},
        kind::KindPolicy,
        operation::{Change, Operation},
    },
};

/// The incident where evidence differs from what a person confirmed.
const CONTRADICTED: (&str, &str) =
    ("confirmation_contradicted", "The provider contradicts what a person confirmed.");

/// What somebody says about an operation that it does not hold.
pub(crate) struct Said<'a> {
    /// `worker` or `webhook`.
    pub(crate) source: &'static str,
    /// What.
    pub(crate) outcome: FinishOutcome,
    /// The provider's reference.
    pub(crate) external_reference: Option<&'a str>,
    /// The amount in it.
    pub(crate) amount: Option<&'a Money>,
    /// The fence it carried.
    pub(crate) fence: Option<i64>,
    /// The provider's id of the message.
    pub(crate) provider_event: Option<&'a str>,
    /// Whether it is about the same target as the payload.
    pub(crate) target_matches: bool,
}

impl Said<'_> {
    /// Whether nothing in it speaks of another effect.
    fn fits(&self, row: &Operation) -> bool {
        self.target_matches && !differs(row, self.amount)
    }

    /// Whether it proves that the effect happened: the provider's signed word about the same target
    /// and, where money moves, its amount and its reference (O16).
    fn proves(&self, row: &Operation, kind: &KindPolicy) -> bool {
        let named = self.amount.is_some() && self.external_reference.is_some();
        self.source == "webhook"
            && self.outcome == FinishOutcome::Done
            && self.fits(row)
            && (named || !kind.money)
    }
}

/// Keeps evidence and moves the operation as far as evidence may: never out of *unknown* by an old
/// holder's word, out of it by a signed webhook that matches. `false`: this message was kept
/// before.
pub(crate) async fn keep_evidence(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    said: Said<'_>,
) -> Result<bool, EngineError> {
    let known = evidence::done_on_record(moves.db, row.target).await?;
    let again = said.fence.map(|fence| {
        format!("{fence} {} {}", said.outcome.as_str(), said.external_reference.unwrap_or_default())
    });
    let new = NewEvidence {
        source: said.source,
        says: said.outcome.as_str(),
        external_reference: said.external_reference,
        amount: said.amount,
        fence: said.fence,
        provider_event: said.provider_event.or(again.as_deref()),
        text: None,
        proves: said.proves(row, kind),
    };
    if evidence::insert(moves.db, row.target, &moves.actor, new).await?.is_none() {
        return Ok(false);
    }
    let detail = json!({
        "source": said.source,
        "says": said.outcome.as_str(),
        "external_reference": said.external_reference,
        "late_fence": said.fence,
    });
    let change = Change { detail: Some(detail), ..Change::default() };
    let done = said.outcome == FinishOutcome::Done;
    if done && !said.fits(row) {
        moves
            .open_incident(
                row,
                "answer_differs",
                "Evidence names another amount, currency or target than was asked.",
            )
            .await?;
    }
    // What a person said wrongly and two put right is compared as it was put right.
    let corrected =
        if row.status.is_final() { correction::latest(moves.db, row.target).await? } else { None };
    let other_reference =
        done && names_another(row, corrected.as_ref(), known.as_ref(), said.external_reference);
    if other_reference {
        moves
            .open_incident(
                row,
                "double_effect_suspected",
                "Another reference is on record: it may have happened twice.",
            )
            .await?;
    }
    match row.status {
        Status::Unknown if said.source == "webhook" => {
            prove(moves, row, kind, &said, change).await?
        }
        Status::Unknown => {
            let change = Change { next_reconcile_at: Some(row.now), ..change };
            moves.make(row, kind, Event::LateEvidence, change).await?;
        }
        Status::Executing => {
            moves.make(row, kind, Event::LateEvidence, change).await?;
        }
        Status::Reserved if row.attempt == 0 => {
            moves.make(row, kind, Event::LateEvidence, change).await?;
        }
        Status::Reserved | Status::FailedRetryable if done => {
            let (cause, summary) = if event::was_denied(moves.db, row.target).await? {
                CONTRADICTED
            } else {
                (
                    "done_after_not_done",
                    "It was recorded as not done; evidence says that it did happen.",
                )
            };
            moves.open_incident(row, cause, summary).await?;
            moves.make(row, kind, Event::EvidenceContradicts, change).await?;
            moves.prove_by_record(row, kind).await?;
        }
        // Agrees with what is recorded: kept, nothing to move.
        Status::Reserved | Status::FailedRetryable => {}
        Status::Succeeded | Status::FailedTerminal => {
            let happened = corrected.map(|corrected| corrected.happened);
            settle_final(moves, row, kind, &said, (happened, other_reference), change).await?
        }
    }
    Ok(true)
}

/// A signed webhook about an unknown outcome: proof where everything matches (O16, O17).
async fn prove(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    said: &Said<'_>,
    change: Change,
) -> Result<(), EngineError> {
    let event = match said.outcome {
        FinishOutcome::Done if said.proves(row, kind) => Event::ProofDone,
        FinishOutcome::Rejected if said.target_matches => Event::ProofRejected,
        _ => Event::LateEvidence,
    };
    let change = match event {
        Event::ProofDone => {
            Change { external_reference: said.external_reference.map(str::to_owned), ..change }
        }
        Event::ProofRejected => Change { failure_code: Some("rejected"), ..change },
        _ => Change { next_reconcile_at: Some(row.now), ..change },
    };
    moves.make(row, kind, event, change).await?;
    Ok(())
}

/// Whether a reference is another than the operation's own or any that evidence of Done named. One
/// that is named for the first time contradicts nothing.
fn names_another(
    row: &Operation,
    corrected: Option<&Corrected>,
    known: Option<&DoneEvidence>,
    reference: Option<&str>,
) -> bool {
    let put_right = corrected.and_then(|corrected| corrected.external_reference.as_deref());
    let known = known.and_then(|known| known.external_reference.as_deref());
    let differs = |other: Option<&str>| matches!((other, reference), (Some(a), Some(b)) if a != b);
    differs(put_right.or(row.external_reference.as_deref())) || differs(known)
}

/// Evidence about a final operation, whose state it cannot move: it agrees with what counts, the latest
/// correction before the state (O25), or it differs and a person has to look (O26).
async fn settle_final(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    said: &Said<'_>,
    (corrected, other_reference): (Option<bool>, bool),
    change: Change,
) -> Result<(), EngineError> {
    let happened = corrected.unwrap_or(row.status == Status::Succeeded);
    let opposite = match said.outcome {
        FinishOutcome::Done => !happened,
        FinishOutcome::Rejected | FinishOutcome::NotDone => happened,
        FinishOutcome::Ambiguous => false,
    };
    let something_else = said.outcome == FinishOutcome::Done && !said.fits(row);
    if !other_reference && !opposite && !something_else {
        moves.make(row, kind, Event::EvidenceAgrees, change).await?;
        return Ok(());
    }
    if matches!(row.ended_by, Some(Event::ConfirmHappened | Event::ConfirmStop)) {
        moves.open_incident(row, CONTRADICTED.0, CONTRADICTED.1).await?;
    } else if opposite {
        let summary = "Evidence contradicts the recorded outcome.";
        moves.open_incident(row, "outcome_contradicted", summary).await?;
    }
    moves.make(row, kind, Event::EvidenceDiffers, change).await?;
    Ok(())
}
