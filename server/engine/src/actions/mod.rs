//! What people decide, on one path: the right, the derived key, the version that the page showed,
//! the state, the move, its event, the audit row and the receipt, in one transaction (D41, A1 to
//! A5). Neither page nor API holds a rule of its own.

mod confirm;
mod desk;
mod receipt;
mod request;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    action::{MAX_REASON_CHARS, Verb},
    ids::OperationId,
    operation::{Event, Status},
    problem::Code,
    reconciliation::ProviderAnswer,
    view::{Receipt, ReceiptState},
};
use serde_json::json;

pub use request::ActionRequest;

use crate::{
    Engine, StaffCaller,
    crash::crash_point,
    database::Tx,
    error::EngineError,
    operations::{Moves, lock_with_kind, retrying},
    store::{
        Target, audit,
        audit::Entry,
        evidence,
        evidence::NewEvidence,
        kind::KindPolicy,
        lease,
        operation::{Change, Operation},
    },
};

/// A decision that was carried out, now or before.
#[derive(Clone, Debug)]
pub struct Acted {
    /// Its receipt.
    pub receipt: Receipt,
    /// Whether it was carried out before: nothing was done now.
    pub replayed: bool,
}

/// The instant before which *it did not happen* is refused: the call may still be under way, or
/// its effect not yet visible (O22).
pub(crate) fn not_before(
    started_at: Option<DateTime<Utc>>,
    kind: &KindPolicy,
) -> Option<DateTime<Utc>> {
    started_at?.checked_add_signed(TimeDelta::try_milliseconds(
        kind.call_deadline_ms + kind.settle_window_ms,
    )?)
}

impl Engine {
    /// Carries a person's decision out, once.
    ///
    /// # Errors
    /// Refused, each with one audit row and no effect: `permission_missing`, `not_found`,
    /// `unprocessable`, `stale`, `decided_otherwise`, `not_allowed_in_state`,
    /// `second_person_required`, `provider_contradicts`, `too_early`.
    pub async fn act(
        &self,
        by: &StaffCaller,
        request: ActionRequest,
    ) -> Result<Acted, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.act_unaudited(&by, &request).await;
            if let Err(EngineError::Refused(refusal)) = &result {
                engine
                    .record_refusal(
                        &by,
                        request.verb.as_str(),
                        request.target,
                        refusal.code,
                        &request.reason,
                    )
                    .await?;
            }
            result
        })
        .await
    }

    async fn act_unaudited(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Acted, EngineError> {
        by.require(request.verb.permission())?;
        let request = request.checked()?;
        let says = match request.verb {
            Verb::Confirm => self.ask_before_confirm(by, &request).await?,
            _ => None,
        };
        let acted = retrying(|| async {
            crash_point!("C1");
            let mut tx = self.pools.begin_console(by.tenant_id()).await?;
            let acted = decide(&mut tx, by, &request, says.as_ref()).await?;
            crash_point!("C5");
            tx.commit().await?;
            Ok(acted)
        })
        .await?;
        crash_point!("C6");
        Ok(acted)
    }

    /// One audit row per refusal, in a transaction of its own: the refused one is rolled back.
    /// Where it cannot be written there is no answer either (T29).
    pub(crate) async fn record_refusal(
        &self,
        by: &StaffCaller,
        action: &str,
        target: OperationId,
        code: Code,
        reason: &str,
    ) -> Result<(), EngineError> {
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let target = target.to_string();
        // A refused reason may be what no text column can hold, or longer than any that is kept.
        let reason: String = reason.chars().take(MAX_REASON_CHARS).filter(|c| *c != '\0').collect();
        let entry = Entry { refused: Some(code), ..entry(by, action, &target, &reason) };
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }
}

/// An audit row about an operation.
pub(crate) fn entry<'a>(
    by: &'a StaffCaller,
    action: &'a str,
    target_id: &'a str,
    reason: &'a str,
) -> Entry<'a> {
    Entry {
        tenant: by.tenant_id(),
        actor_kind: "staff",
        actor_id: Some(by.staff_id().uuid()),
        actor: by.email(),
        action,
        target_type: "operation",
        target_id,
        refused: None,
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        before: None,
        after: None,
        receipt: None,
        request_id: by.request_id(),
    }
}

/// Decides under the target's lock, so that of two people one wins and the other is told.
async fn decide(
    tx: &mut Tx,
    by: &StaffCaller,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Acted, EngineError> {
    let target = Target { tenant: by.tenant_id(), id: request.target };
    let (mut row, kind) = lock_with_kind(tx, target).await?;
    if let Some(acted) = receipt::taken_before(tx, by, request).await? {
        return Ok(acted);
    }
    crash_point!("C2");
    if row.version != request.version {
        return Err(refused_on(Code::Stale, &row));
    }
    if !request.verb.fits(row.status) || row.tombstoned_at.is_some() {
        return Err(refused_on(Code::NotAllowedInState, &row));
    }
    let event = match request.verb {
        Verb::Confirm => confirm::event(tx, &row, &kind, request, says).await?,
        Verb::Release => release_event(tx, &row, request).await?,
        Verb::Reconcile => Event::ReconcileNow,
        Verb::Retry => Event::StaffRetry,
        Verb::Cancel if row.status == Status::Reserved => Event::Cancel,
        Verb::Cancel => Event::GiveUp,
        Verb::Correct => return Err(refused_on(Code::SecondPersonRequired, &row)),
    };
    if matches!(event, Event::StaffRetry | Event::Cancel | Event::GiveUp)
        && evidence::any_done(tx, target).await?
    {
        return Err(contradicted(&row, "Evidence on record says that it happened."));
    }
    carry_out(tx, by, request, &mut row, &kind, event).await
}

async fn carry_out(
    tx: &mut Tx,
    by: &StaffCaller,
    request: &ActionRequest,
    row: &mut Operation,
    kind: &KindPolicy,
    event: Event,
) -> Result<Acted, EngineError> {
    let before = row.state();
    let id = crate::store::operation::new_id(tx).await?;
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
        evidence::insert(tx, row.target, &by.actor(), new).await?;
    }
    let mut moves = Moves::new(tx, by.actor());
    moves.make(row, kind, event, change(request, row, event, id)).await?;
    moves.finish().await?;
    crash_point!("C3");
    let states = (before.clone(), row.state());
    let receipt = receipt::write(tx, by, request, row, id, states, followed(event, row)).await?;
    let target = row.target.id.to_string();
    audit::add(
        tx,
        Entry {
            before: Some(json!(before)),
            after: Some(json!(row.state())),
            receipt: Some(id),
            ..entry(by, request.verb.as_str(), &target, &request.reason)
        },
    )
    .await?;
    crash_point!("C4");
    Ok(Acted { receipt, replayed: false })
}

fn change(request: &ActionRequest, row: &Operation, event: Event, id: OperationId) -> Change {
    let detail = Some(json!({
        "reason": request.reason,
        "outcome": request.outcome.map(domain::action::Outcome::label),
        "external_reference": request.external_reference,
        "receipt": id,
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

/// A release takes away a lease that ended; a live one needs force and a second person (D42).
async fn release_event(
    tx: &mut Tx,
    row: &Operation,
    request: &ActionRequest,
) -> Result<Event, EngineError> {
    let held = lease::lock(tx, row.target).await?;
    let live = held.as_ref().is_some_and(lease::Lease::is_live);
    if live && request.force {
        return Err(refused_on(Code::SecondPersonRequired, row));
    }
    if live {
        return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.current = Some(row.state());
            refusal.detail = Some(
                "The worker still beats: its lease has not ended. Nothing was released.".into(),
            );
        }));
    }
    match row.status {
        Status::Executing => Ok(Event::Release),
        Status::Reserved if held.is_some() => Ok(Event::ReleaseReserved),
        _ => Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.current = Some(row.state());
            refusal.detail = Some("Nobody holds it: there is no lease to release.".into());
        })),
    }
}

/// A refusal that shows what the record looks like now.
fn refused_on(code: Code, row: &Operation) -> EngineError {
    let state: ReceiptState = row.state();
    EngineError::refused_with(code, |refusal| refusal.current = Some(state))
}

fn contradicted(row: &Operation, detail: &str) -> EngineError {
    EngineError::refused_with(Code::ProviderContradicts, |refusal| {
        refusal.current = Some(row.state());
        refusal.detail = Some(detail.to_owned());
    })
}
