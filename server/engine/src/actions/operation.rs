//! What a person decides about an operation: which move of the table it is, whether one person may
//! make it, and the move itself.

use chrono::{DateTime, Utc};
use domain::{
    action::{Outcome, Verb},
    ids::OperationId,
    operation::{Event, Status},
    problem::Code,
    reconciliation::ProviderAnswer,
};
use serde_json::json;

use super::{
    ActionRequest, carry::Effect, confirm, contradicted, correct, hand::Hand, refused_on,
    request::unfit, undo, weigh::Weighed,
};
use crate::{
    database::Tx,
    error::EngineError,
    operations::Moves,
    settings::Settings,
    store::{
        evidence,
        evidence::NewEvidence,
        evidence_file,
        kind::KindPolicy,
        lease,
        operation::{Change, Operation},
    },
};

/// Which move a decision makes, and whether it takes a second person.
pub(super) async fn weigh(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Weighed, EngineError> {
    // Whether there is something to undo is not for the state alone to say: it may be corrected.
    if request.verb == Verb::Compensate {
        return undo::weigh(tx, row, kind, request).await;
    }
    if !request.verb.fits(row.status) || row.tombstoned_at.is_some() {
        return Err(refused_on(Code::NotAllowedInState, row));
    }
    check_files(tx, row, request).await?;
    let only = |event| Weighed { event: Some(event), ..Weighed::default() };
    let weighed = match request.verb {
        Verb::Confirm => confirm::weigh(tx, row, kind, request, says).await?,
        Verb::Release => release(tx, row, request).await?,
        Verb::Reconcile => only(Event::ReconcileNow),
        Verb::Retry => only(Event::StaffRetry),
        Verb::Cancel if row.status == Status::Reserved => only(Event::Cancel),
        Verb::Cancel => only(Event::GiveUp),
        Verb::Correct => correct::weigh(tx, row, request).await?,
        _ => return Err(refused_on(Code::NotAllowedInState, row)),
    };
    if matches!(weighed.event, Some(Event::StaffRetry | Event::Cancel | Event::GiveUp))
        && evidence::any_done(tx, row.target).await?
    {
        return Err(contradicted(row, "Evidence on record says that it happened."));
    }
    Ok(weighed)
}

/// Every file that a decision names is there, on this operation.
async fn check_files(
    tx: &mut Tx,
    row: &Operation,
    request: &ActionRequest,
) -> Result<(), EngineError> {
    let (target, named) = (&request.target, request.evidence_files.as_slice());
    let there = evidence_file::named(tx, row.target.tenant, target, named).await?;
    if there.len() == named.len() && there.iter().all(|file| file.name.is_some()) {
        return Ok(());
    }
    Err(unfit("evidence_files", "a file that is named is not attached to this operation"))
}

/// A release takes away a lease that ended; a live one needs force and a second person (D42).
async fn release(
    tx: &mut Tx,
    row: &Operation,
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let held = lease::lock(tx, row.target).await?;
    let live = held.as_ref().is_some_and(lease::Lease::is_live);
    if live && !request.force {
        return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.current = Some(row.state());
            refusal.detail = Some(
                "The worker still beats: its lease has not ended. Nothing was released.".into(),
            );
        }));
    }
    let event = match row.status {
        Status::Executing => Event::Release,
        Status::Reserved if held.is_some() => Event::ReleaseReserved,
        _ => {
            return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
                refusal.current = Some(row.state());
                refusal.detail = Some("Nobody holds it: there is no lease to release.".into());
            }));
        }
    };
    let second = live.then(|| {
        "The worker still beats: it may be calling the provider while its lease is taken away."
            .to_owned()
    });
    let lapsed = held.filter(|_| !live).map(|held| held.lease_until);
    Ok(Weighed { event: Some(event), second, lapsed, ..Weighed::default() })
}

/// Makes the move; `id` is the receipt's.
pub(super) async fn carry_out(
    tx: &mut Tx,
    settings: &Settings,
    hand: &Hand<'_>,
    request: &ActionRequest,
    (row, kind): (&mut Operation, &KindPolicy),
    (weighed, says): (&Weighed, Option<&ProviderAnswer>),
    id: OperationId,
) -> Result<Effect, EngineError> {
    if request.verb == Verb::Compensate {
        return undo::carry_out(tx, settings, hand, request, row).await;
    }
    let before = row.state();
    let Some(event) = weighed.event else {
        return correct::carry_out(tx, hand, request, row).await;
    };
    if request.verb == Verb::Confirm {
        let amount = request.amount();
        let new = NewEvidence {
            source: "staff",
            says: "statement",
            external_reference: request.external_reference.as_deref(),
            amount: amount.as_ref(),
            fence: None,
            provider_event: None,
            text: Some(request.evidence.as_deref().unwrap_or(&request.reason)),
            proves: false,
        };
        evidence::insert(tx, row.target, &hand.actor(), new).await?;
    }
    if weighed.contradiction.is_some() {
        confirm::refute(tx, hand, row, request, says).await?;
    }
    let mut moves = Moves::new(tx, hand.actor());
    moves.make(row, kind, event, change(request, row, (event, weighed.lapsed), id)).await?;
    if let Some(contradiction) = &weighed.contradiction {
        let summary = format!("Two people confirmed it against this: {contradiction}");
        moves.open_incident(row, "confirmation_contradicted", &summary).await?;
    }
    moves.finish().await?;
    Ok(Effect { before, after: row.state(), followed: followed(event, row) })
}

fn change(
    request: &ActionRequest,
    row: &Operation,
    (event, lapsed): (Event, Option<DateTime<Utc>>),
    id: OperationId,
) -> Change {
    let detail = Some(json!({
        "reason": request.reason,
        "outcome": request.outcome.map(Outcome::label),
        "external_reference": request.external_reference,
        "receipt": id,
        "lease_until": lapsed,
    }));
    let change = Change { detail, ..Change::default() };
    match event {
        Event::ConfirmHappened => {
            Change { external_reference: request.external_reference.clone(), ..change }
        }
        Event::ConfirmRetry | Event::StaffRetry => Change { next_at: Some(row.now), ..change },
        Event::ConfirmStop => Change { failure_code: Some("confirmed_not_happened"), ..change },
        Event::Cancel | Event::GiveUp => Change { failure_code: Some("cancelled"), ..change },
        Event::ReconcileNow => {
            Change { next_reconcile_at: Some(row.now), reconcile_tries: Some(0), ..change }
        }
        _ => change,
    }
}

/// What follows a decision, in words that claim nothing which has not been committed.
fn followed(event: Event, row: &Operation) -> Vec<String> {
    let say = |text: &str| vec![text.to_owned()];
    match event {
        Event::ConfirmHappened => say(
            "The operation is recorded as succeeded. Whoever repeats its key gets this outcome; nothing is sent to the provider.",
        ),
        Event::ConfirmRetry => {
            say("The same operation may be tried again under the same provider key.")
        }
        Event::ConfirmStop => {
            say("The operation is recorded as failed. It will not be tried again.")
        }
        Event::Release => say(
            "The outcome is unknown. It does not run again by being released: reconciliation looks for proof, and where there is none to be had, a person decides.",
        ),
        Event::ReleaseReserved => {
            say("The call under this lease had not begun. Any worker of this kind may claim it.")
        }
        Event::ReconcileNow => {
            say("Reconciliation takes it up now; a provider that offers no lookup cannot be asked.")
        }
        Event::StaffRetry => {
            vec![format!("One more attempt was granted: at most {} now.", row.max_attempts)]
        }
        Event::Cancel => say("The call had not begun and will not begin."),
        Event::GiveUp => say("No further attempt will be made."),
        _ => Vec::new(),
    }
}
