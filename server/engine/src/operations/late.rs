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
        evidence::{self, NewEvidence},
        kind::KindPolicy,
        operation::{Change, Operation},
    },
};

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
    fn fits(&self, row: &Operation) -> bool {
        self.target_matches && !differs(row, self.amount)
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
    let new = NewEvidence {
        source: said.source,
        says: said.outcome.as_str(),
        external_reference: said.external_reference,
        amount: said.amount,
        fence: said.fence,
        provider_event: said.provider_event,
        text: None,
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
            moves
                .open_incident(
                    row,
                    "done_after_not_done",
                    "It was recorded as not done; evidence says that it did happen.",
                )
                .await?;
            moves.make(row, kind, Event::EvidenceContradicts, change).await?;
        }
        // Agrees with what is recorded: kept, nothing to move.
        Status::Reserved | Status::FailedRetryable => {}
        Status::Succeeded | Status::FailedTerminal => {
            settle_final(moves, row, kind, &said, change).await?
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
        FinishOutcome::Done if said.fits(row) => Event::ProofDone,
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

async fn settle_final(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    said: &Said<'_>,
    change: Change,
) -> Result<(), EngineError> {
    let succeeded = row.status == Status::Succeeded;
    let other_reference = succeeded
        && said.outcome == FinishOutcome::Done
        && said.external_reference.is_some()
        && said.external_reference != row.external_reference.as_deref();
    let opposite = match said.outcome {
        FinishOutcome::Done => !succeeded,
        FinishOutcome::Rejected | FinishOutcome::NotDone => succeeded,
        FinishOutcome::Ambiguous => false,
    };
    if !other_reference && !opposite {
        moves.make(row, kind, Event::EvidenceAgrees, change).await?;
        return Ok(());
    }
    let by_person = matches!(row.ended_by, Some(Event::ConfirmHappened | Event::ConfirmStop));
    let (cause, summary) = if other_reference {
        (
            "double_effect_suspected",
            "It is recorded under another reference: it may have happened twice.",
        )
    } else if by_person {
        ("confirmation_contradicted", "The provider contradicts what a person confirmed.")
    } else {
        ("outcome_contradicted", "Evidence contradicts the recorded outcome.")
    };
    moves.open_incident(row, cause, summary).await?;
    moves.make(row, kind, Event::EvidenceDiffers, change).await?;
    Ok(())
}
