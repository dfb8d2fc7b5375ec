//! Putting a wrong confirmation right: the state stays, a linked record and an event say what is
//! true; always by two people.

use domain::{action::Outcome, operation::Event, problem::Code};
use serde_json::json;

use super::{ActionRequest, carry::Effect, hand::Hand, refused_on, request::unfit, weigh::Weighed};
use crate::{
    database::Tx,
    error::EngineError,
    operations::Moves,
    store::{correction, correction::NewCorrection, operation::Operation},
};

/// Weighs a correction: of what a person confirmed or corrected, to something else.
pub(super) async fn weigh(
    tx: &mut Tx,
    row: &Operation,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let latest = correction::of(tx, row.target).await?.into_iter().next();
    let by_person = matches!(row.ended_by, Some(Event::ConfirmHappened | Event::ConfirmStop));
    if !by_person && latest.is_none() {
        return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.current = Some(row.state());
            refusal.detail = Some(
                "No person confirmed this outcome: only a confirmation can be corrected.".into(),
            );
        }));
    }
    let (happened, reference) = latest.map_or_else(
        || {
            let happened = row.ended_by == Some(Event::ConfirmHappened);
            (happened, row.external_reference.clone().filter(|_| happened))
        },
        |latest| (latest.happened, latest.external_reference),
    );
    if (happened, &reference) == (says_happened(request), &request.external_reference) {
        return Err(unfit("outcome", "that is what the record says already"));
    }
    let word = |happened| if happened { "it happened" } else { "it did not happen" };
    let change = format!(
        "Confirmed as: {}; corrected to: {}.",
        word(happened),
        word(says_happened(request))
    );
    Ok(Weighed {
        second: Some("A correction always takes two people.".into()),
        changes: vec![change],
        ..Weighed::default()
    })
}

fn says_happened(request: &ActionRequest) -> bool {
    request.outcome == Some(Outcome::Happened)
}

/// Writes the correction and tells of it.
pub(super) async fn carry_out(
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    row: &Operation,
) -> Result<Effect, EngineError> {
    let Some(consent) = &hand.consent else {
        return Err(refused_on(Code::SecondPersonRequired, row));
    };
    let new = NewCorrection {
        happened: says_happened(request),
        external_reference: request.external_reference.as_deref(),
        reason: &request.reason,
        corrected_by: &hand.decides.name,
        approved_by: hand.by.name(),
        approval: consent.approval.uuid(),
    };
    correction::insert(tx, row.target, new).await?;
    let payload = json!({
        "operation_id": row.target.id,
        "operation": row.operation,
        "key": row.key,
        "status": row.status,
        "version": row.version,
        "happened": says_happened(request),
        "external_reference": request.external_reference,
        "corrected_by": hand.decides.email,
        "approved_by": hand.by.email(),
    });
    let mut moves = Moves::new(tx, hand.actor());
    let aggregate = row.target.id.to_string();
    moves.tell(row, aggregate, "operation.corrected".into(), payload.to_string().into_bytes());
    moves.finish().await?;
    let followed = vec![
        "The operation keeps its state and its stored answer; the record now says what is true."
            .to_owned(),
    ];
    Ok(Effect { before: row.state(), after: row.state(), followed })
}
