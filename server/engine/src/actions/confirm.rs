//! Confirming an unknown outcome (O21 to O23): the provider is asked again first, an answer to the
//! contrary stops the decision, and what moves money backwards needs a second person.

use domain::{
    action::Outcome,
    operation::{Event, Status},
    problem::Code,
    reconciliation::ProviderAnswer,
};

use super::{ActionRequest, contradicted, not_before, refused_on};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    operations::{differs, lock_with_kind},
    provider::Question,
    store::{Target, answer, evidence, kind::KindPolicy, operation::Operation},
};

impl Engine {
    /// Asks the provider outside any transaction (D24); `None` where there is nothing to ask
    /// about: the record has moved on, and the decision will be refused by that.
    pub(super) async fn ask_before_confirm(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Option<ProviderAnswer>, EngineError> {
        let target = Target { tenant: by.tenant_id(), id: request.target };
        let mut tx = self.pools.begin_console(target.tenant).await?;
        let (row, kind) = lock_with_kind(&mut tx, target).await?;
        let payload = answer::payload(&mut tx, target).await?;
        tx.rollback().await?;
        if row.status != Status::Unknown || row.version != request.version || !kind.lookup {
            return Ok(None);
        }
        let question = Question {
            provider_key: &target.id.to_string(),
            external_reference: None,
            payload: payload.as_deref(),
            deadline: kind.call_deadline(),
        };
        Ok(Some(self.providers.ask(kind.provider.as_deref(), &question).await))
    }
}

/// Which move a confirmation makes, if any.
pub(super) async fn event(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Event, EngineError> {
    let outcome = request.outcome.ok_or_else(|| EngineError::refused(Code::Unprocessable))?;
    if differs(row, request.amount().as_ref()) {
        return Err(EngineError::field(
            Code::Unprocessable,
            "amount_minor",
            "the evidence names another amount or currency than the operation: that is not this effect, do not confirm it as such",
        ));
    }
    match outcome {
        Outcome::Happened => happened(tx, row, kind, request, says).await,
        Outcome::NotHappenedRetry | Outcome::NotHappenedStop => {
            if let Some(at) = not_before(row.last_sent_at(), kind).filter(|at| row.now < *at) {
                return Err(EngineError::refused_with(Code::TooEarly, |refusal| {
                    refusal.current = Some(row.state());
                    refusal.retry_at = Some(at);
                }));
            }
            if let Some(answer @ ProviderAnswer::Done { .. }) = says {
                return Err(contradicted(row, &answer.sentence()));
            }
            if evidence::any_done(tx, row.target).await? {
                return Err(contradicted(row, "Evidence on record says that it happened."));
            }
            if kind.money {
                return Err(refused_on(Code::SecondPersonRequired, row));
            }
            Ok(if outcome == Outcome::NotHappenedRetry {
                Event::ConfirmRetry
            } else {
                Event::ConfirmStop
            })
        }
    }
}

async fn happened(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Event, EngineError> {
    let settled = not_before(row.last_sent_at(), kind).is_some_and(|at| row.now >= at);
    match says {
        Some(answer @ ProviderAnswer::Rejected) => {
            return Err(contradicted(row, &answer.sentence()));
        }
        Some(answer @ ProviderAnswer::Absent) if kind.absent_is_proof && settled => {
            return Err(contradicted(row, &answer.sentence()));
        }
        Some(answer @ ProviderAnswer::Done { external_reference, amount })
            if differs(row, amount.as_ref())
                || Some(external_reference) != request.external_reference.as_ref() =>
        {
            return Err(contradicted(row, &answer.sentence()));
        }
        _ => {}
    }
    if let Some(known) = evidence::done_on_record(tx, row.target).await? {
        let other = known.external_reference.is_some()
            && known.external_reference != request.external_reference;
        if other || differs(row, known.amount.as_ref()) {
            return Err(contradicted(row, "Evidence on record names another reference or amount."));
        }
    }
    if kind.needs_second_person(row.amount.as_ref()) {
        return Err(refused_on(Code::SecondPersonRequired, row));
    }
    Ok(Event::ConfirmHappened)
}
