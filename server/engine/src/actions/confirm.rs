//! Confirming an unknown outcome (O21 to O23): the provider is asked again first, an answer to the
//! contrary stops the decision unless two people override it, and so does money that did not move.

use domain::{
    action::Outcome,
    operation::{Event, Status},
    problem::Code,
    reconciliation::ProviderAnswer,
};

use super::{ActionRequest, contradicted, hand::Hand, not_before, request::unfit, weigh::Weighed};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    operations::{differs, lock_with_kind},
    provider::Question,
    store::{
        Target, answer, evidence, evidence::NewEvidence, kind::KindPolicy, operation::Operation,
    },
};

impl Engine {
    /// Asks the provider outside any transaction (D24); `None` where there is nothing to ask
    /// about: the record has moved on, and the decision will be refused by that.
    pub(super) async fn ask_before_confirm(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Option<ProviderAnswer>, EngineError> {
        let id = request.target.operation().ok_or_else(|| EngineError::refused(Code::NotFound))?;
        let target = Target { tenant: by.tenant_id(), id };
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

/// Which move a confirmation makes, and whether it takes a second person: what contradicts it does,
/// and so do money that did not move and amounts from the kind's threshold on.
pub(super) async fn weigh(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Weighed, EngineError> {
    let outcome = request.outcome.ok_or_else(|| EngineError::refused(Code::Unprocessable))?;
    if differs(row, request.amount().as_ref()) {
        return Err(unfit(
            "amount_minor",
            "the evidence names another amount or currency than the operation: that is not this effect, do not confirm it as such",
        ));
    }
    if outcome != Outcome::Happened
        && let Some(at) = not_before(row.last_sent_at(), kind).filter(|at| row.now < *at)
    {
        return Err(EngineError::refused_with(Code::TooEarly, |refusal| {
            refusal.current = Some(row.state());
            refusal.retry_at = Some(at);
        }));
    }
    let contradiction = contradiction(tx, row, kind, request, outcome, says).await?;
    let second = match &contradiction {
        Some(said) if !request.overrides => return Err(contradicted(row, said)),
        Some(_) => Some("It overrides what the provider or the record says."),
        None if outcome != Outcome::Happened && kind.money => {
            Some("It says of money that it did not move.")
        }
        None if outcome == Outcome::Happened && kind.needs_second_person(row.amount.as_ref()) => {
            Some("The amount is unknown, or from the kind's threshold on.")
        }
        None => None,
    };
    let event = match outcome {
        Outcome::Happened => Event::ConfirmHappened,
        Outcome::NotHappenedRetry => Event::ConfirmRetry,
        Outcome::NotHappenedStop => Event::ConfirmStop,
    };
    let second = second.map(str::to_owned);
    Ok(Weighed { event: Some(event), second, contradiction, ..Weighed::default() })
}

/// What says the contrary: the provider now, or unrefuted evidence on record.
async fn contradiction(
    tx: &mut Tx,
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    outcome: Outcome,
    says: Option<&ProviderAnswer>,
) -> Result<Option<String>, EngineError> {
    if let Some(answer) = says.filter(|answer| denies(row, kind, request, outcome, answer)) {
        return Ok(Some(answer.sentence()));
    }
    let Some(known) = evidence::done_on_record(tx, row.target).await? else { return Ok(None) };
    if outcome != Outcome::Happened {
        return Ok(Some("Evidence on record says that it happened.".into()));
    }
    let other = known.external_reference.is_some()
        && known.external_reference != request.external_reference;
    Ok((other || differs(row, known.amount.as_ref()))
        .then(|| "Evidence on record names another reference or amount.".into()))
}

/// Whether the provider's answer is a definite no to this outcome.
fn denies(
    row: &Operation,
    kind: &KindPolicy,
    request: &ActionRequest,
    outcome: Outcome,
    answer: &ProviderAnswer,
) -> bool {
    let settled = not_before(row.last_sent_at(), kind).is_some_and(|at| row.now >= at);
    match (outcome, answer) {
        (Outcome::Happened, ProviderAnswer::Rejected) => true,
        (Outcome::Happened, ProviderAnswer::Absent) => kind.absent_is_proof && settled,
        (Outcome::Happened, ProviderAnswer::Done { external_reference, amount }) => {
            differs(row, amount.as_ref())
                || Some(external_reference) != request.external_reference.as_ref()
        }
        (_, ProviderAnswer::Done { .. }) => true,
        _ => false,
    }
}

/// Puts the provider's contrary word on record and refutes the evidence that two people overrode, by
/// their names.
pub(super) async fn refute(
    tx: &mut Tx,
    hand: &Hand<'_>,
    row: &Operation,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<(), EngineError> {
    let said = match says {
        Some(ProviderAnswer::Done { external_reference, amount }) => {
            Some(("done", Some(external_reference.as_str()), amount.as_ref()))
        }
        Some(ProviderAnswer::Rejected) => Some(("rejected", None, None)),
        Some(ProviderAnswer::Absent) => Some(("absent", None, None)),
        Some(
            ProviderAnswer::NoLookup | ProviderAnswer::Unreachable | ProviderAnswer::SomethingElse,
        )
        | None => None,
    };
    if let Some((word, external_reference, amount)) = said {
        let new = NewEvidence {
            source: "lookup",
            says: word,
            external_reference,
            amount,
            fence: None,
            provider_event: None,
            text: Some("What the provider answered when two people overrode it."),
            proves: false,
        };
        evidence::insert(tx, row.target, &hand.actor(), new).await?;
    }
    let but = request.external_reference.as_deref();
    evidence::refute_done(tx, row.target, but, &hand.names()).await?;
    Ok(())
}
