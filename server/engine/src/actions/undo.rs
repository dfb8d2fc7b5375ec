//! A person has an operation undone (C1): who may alone, what would go back, and the request itself.

use super::{ActionRequest, carry::Effect, hand::Hand, weigh::Weighed};
use crate::{
    compensation::{UndoRequest, check_request, request_in},
    database::Tx,
    error::EngineError,
    settings::Settings,
    store::{kind::KindPolicy, operation::Operation},
};

/// Weighs it: what cannot be undone is refused here, so that nobody is asked to agree to it.
pub(super) async fn weigh(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let foreseen = check_request(tx, row, kind, request.amount().as_ref()).await?;
    let change = match (&foreseen.amount, &row.amount) {
        (Some(back), Some(whole)) => {
            format!("{back} of {whole} goes back, by an operation {}.", foreseen.undo)
        }
        _ => format!("It is undone by an operation {}.", foreseen.undo),
    };
    let second = foreseen.money.then(|| "It moves money back.".to_owned());
    Ok(Weighed { second, changes: vec![change], ..Weighed::default() })
}

/// Asks for the undo; its events go out with this transaction.
pub(super) async fn carry_out(
    tx: &mut Tx,
    settings: &Settings,
    hand: &Hand<'_>,
    request: &ActionRequest,
    row: &Operation,
) -> Result<Effect, EngineError> {
    let amount = request.amount();
    let ask = UndoRequest {
        target: row.target,
        version: Some(request.version),
        amount: amount.as_ref(),
        reason: &request.reason,
    };
    let asked = request_in(tx, settings, &hand.actor(), &ask).await?;
    let (before, after) = (asked.before, asked.after);
    let followed = match (asked.undo, before == after) {
        (Some(undo), _) => format!(
            "Its undo is an operation of its own, {undo}: it is queued, and may fail. What happened stays recorded as such."
        ),
        (None, false) => "Its call had not happened and will not: there is nothing to undo.".into(),
        (None, true) => {
            "It is undone once it is known that it happened, and not before.".to_owned()
        }
    };
    Ok(Effect { before, after, followed: vec![followed] })
}
