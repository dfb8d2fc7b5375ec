//! The moves that end a call: the owner's own words about it (O6 to O10).

use domain::{money::Money, operation::Event};
use serde_json::json;

use super::{
    super::{
        guards::differs,
        jittered_backoff_ms,
        moves::{Moves, after},
    },
    Finish, FinishOutcome, How,
};
use crate::{
    actor::Actor,
    database::Tx,
    error::EngineError,
    store::{
        evidence::{self, NewEvidence},
        kind::KindPolicy,
        operation::{Change, Operation},
    },
};

/// The owner's own words about its own call.
pub(super) async fn end_call(
    tx: &mut Tx,
    row: &mut Operation,
    kind: &KindPolicy,
    finish: &Finish,
    how: How<'_>,
    actor: Actor,
) -> Result<(), EngineError> {
    let mut moves = Moves::new(tx, actor);
    let mut detail = json!({
        "fence": finish.fence,
        "outcome": finish.outcome.as_str(),
        "external_reference": finish.external_reference,
    });
    if let Some(response) = &finish.response {
        detail["response_status"] = json!(response.status);
    }
    if how.heard.drained {
        detail["drained"] = json!(true);
    }
    let mut change = Change {
        external_reference: finish.external_reference.clone(),
        answer: finish.response.clone().map(|answer| answer.bounded(how.limits.answer_bytes)),
        detail: Some(detail),
        ..Change::default()
    };
    match finish.outcome {
        FinishOutcome::Done if how.heard.other_target || differs(row, how.amount) => {
            return end_differing(moves, row, kind, finish, how.amount, change).await;
        }
        FinishOutcome::Done => {
            if let Some(known) = evidence::done_on_record(moves.db, row.target).await?
                && known.external_reference.is_some()
                && finish.external_reference.is_some()
                && known.external_reference != finish.external_reference
            {
                moves
                    .open_incident(
                        row,
                        "double_effect_suspected",
                        "The answer names another reference than evidence on record: it may have happened twice.",
                    )
                    .await?;
            }
            change.brought = finish.response.clone().filter(|_| row.workflow_id.is_some());
            moves.make(row, kind, Event::Done, change).await?;
        }
        FinishOutcome::Rejected => {
            change.failure_code = Some("rejected");
            moves.make(row, kind, Event::Rejected, change).await?;
        }
        FinishOutcome::NotDone if row.attempt < row.max_attempts => {
            change.answer = None;
            change.next_at = after(row.now, jittered_backoff_ms(kind.backoff_ms, row.attempt - 1));
            moves.make(row, kind, Event::NotDone, change).await?;
        }
        // A provider's "busy" is no answer to replay: a final failure is told in our own words.
        FinishOutcome::NotDone => {
            change.answer = None;
            change.failure_code = Some("not_done");
            moves.make(row, kind, Event::NotDoneLast, change).await?;
        }
        // No answer of an unknown outcome is stored: nothing may replay it as one.
        FinishOutcome::Ambiguous => {
            change.answer = None;
            moves.make(row, kind, Event::Ambiguous, change).await?;
        }
    }
    for event in &finish.events {
        moves.tell(row, event.aggregate.clone(), event.topic.clone(), event.payload.clone());
    }
    moves.finish().await
}

/// *Done*, but of another amount than was asked: nobody here can call that a success (D10).
async fn end_differing(
    mut moves: Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    finish: &Finish,
    amount: Option<&Money>,
    change: Change,
) -> Result<(), EngineError> {
    let new = NewEvidence {
        source: "worker",
        says: "done",
        external_reference: finish.external_reference.as_deref(),
        amount,
        fence: Some(finish.fence),
        provider_event: None,
        text: Some(
            "The provider's answer names another amount, currency or target than was asked.",
        ),
        proves: false,
    };
    evidence::insert(moves.db, row.target, &moves.actor, new).await?;
    moves
        .open_incident(
            row,
            "answer_differs",
            "The provider did something else than was asked: another amount, currency or target.",
        )
        .await?;
    let change = Change { detail: change.detail, ..Change::default() };
    moves.make(row, kind, Event::Ambiguous, change).await?;
    moves.make(row, kind, Event::NoneLeft, Change::default()).await?;
    moves.finish().await
}
