//! The end of a call (O6 to O10). A former owner changes nothing; its words go to [`super::late`].

use domain::{
    ids::OperationId,
    money::{Money, parse_currency},
    operation::{Event, Status},
    problem::Code,
};
use serde_json::json;

use super::{
    guards::differs,
    jittered_backoff_ms,
    late::{Said, keep_evidence},
    lock_with_kind,
    moves::{Moves, after},
    retrying,
};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    crash::is_off,
    database::Tx,
    error::EngineError,
    settings::Limits,
    store::{
        Target,
        answer::StoredAnswer,
        event,
        evidence::{self, NewEvidence},
        kind::KindPolicy,
        operation::{Change, Operation},
    },
};

/// The longest reference of a provider, in characters.
const MAX_REFERENCE_CHARS: usize = 512;
/// Events that one finish may bring.
const MAX_EVENTS: usize = 100;

/// What the provider's answer means (D10). Anything that is not plainly one of the first three is
/// ambiguous.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FinishOutcome {
    /// The effect happened.
    Done,
    /// Definitely not, and pointless to repeat.
    Rejected,
    /// Definitely not this time, and nothing is stored under the key.
    NotDone,
    /// It may have happened.
    Ambiguous,
}

impl FinishOutcome {
    /// The word on the wire and in evidence.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::NotDone => "not_done",
            Self::Ambiguous => "ambiguous",
        }
    }

    /// Reads the word.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        [Self::Done, Self::Rejected, Self::NotDone, Self::Ambiguous]
            .into_iter()
            .find(|outcome| outcome.as_str() == text)
    }
}

/// An event of the service's own, stored in the transaction of the finish.
#[derive(Clone, Debug)]
pub struct NewEvent {
    /// What it is about; events of one aggregate are told in order.
    pub aggregate: String,
    /// Its topic.
    pub topic: String,
    /// Its payload.
    pub payload: Vec<u8>,
}

/// The end of a call.
#[derive(Clone, Debug)]
pub struct Finish {
    /// The lease it was made under.
    pub fence: i64,
    /// What the answer means.
    pub outcome: FinishOutcome,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// The amount in the answer.
    pub amount_minor: Option<i64>,
    /// Its currency.
    pub currency: Option<String>,
    /// What to replay to clients.
    pub response: Option<StoredAnswer>,
    /// The service's own events.
    pub events: Vec<NewEvent>,
}

/// What became of [`Finish`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Finished {
    /// It ended the call; repeated with the same words, the same answer.
    Done {
        /// Where the operation stood after it.
        status: Status,
        /// At which version.
        version: i64,
    },
    /// The lease was lost before: kept as evidence, nothing else changed.
    LateEvidenceKept {
        /// Where the operation stands.
        status: Status,
    },
}

impl Finish {
    /// What a holder says that does not know what became of its call.
    #[must_use]
    pub const fn ambiguous(fence: i64) -> Self {
        Self {
            fence,
            outcome: FinishOutcome::Ambiguous,
            external_reference: None,
            amount_minor: None,
            currency: None,
            response: None,
            events: Vec::new(),
        }
    }
}

impl Engine {
    /// Ends a call.
    ///
    /// # Errors
    /// Refused: `fence_lost` for a fence that was never granted, `unprocessable`, `not_found`.
    pub async fn finish(
        &self,
        by: &ServiceCaller,
        id: OperationId,
        finish: Finish,
    ) -> Result<Finished, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let target = Target { tenant: by.tenant_id(), id };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let limits = &engine.settings.limits;
                let covers = |kind: &str| by.require(kind);
                let finished =
                    finish_in(&mut tx, target, &finish, limits, by.actor(), covers).await?;
                tx.commit().await?;
                Ok(finished)
            })
            .await
        })
        .await
    }
}

/// Ends a call inside a transaction. Of the answer so much is stored as the limits say; a workflow's
/// step keeps it whole (D31).
pub(crate) async fn finish_in(
    tx: &mut Tx,
    target: Target,
    finish: &Finish,
    limits: &Limits,
    actor: Actor,
    covers: impl Fn(&str) -> Result<(), EngineError>,
) -> Result<Finished, EngineError> {
    let amount = check(finish)?;
    let (mut row, kind) = lock_with_kind(tx, target).await?;
    covers(&row.operation)?;
    if finish.fence < 1 || finish.fence > row.fence {
        return Err(EngineError::refused(Code::FenceLost));
    }
    if let Some((status, version, said)) = event::finished_under(tx, target, finish.fence).await? {
        let same = said["outcome"] == finish.outcome.as_str()
            && said["external_reference"].as_str() == finish.external_reference.as_deref();
        if same {
            return Ok(Finished::Done { status, version });
        }
    } else if row.status == Status::Executing && (row.fence == finish.fence || is_off("fence")) {
        end_call(tx, &mut row, &kind, finish, limits, amount.as_ref(), actor).await?;
        return Ok(Finished::Done { status: row.status, version: row.version });
    }
    let said = Said {
        source: "worker",
        outcome: finish.outcome,
        external_reference: finish.external_reference.as_deref(),
        amount: amount.as_ref(),
        fence: Some(finish.fence),
        provider_event: None,
        target_matches: true,
    };
    let mut moves = Moves::new(tx, actor);
    keep_evidence(&mut moves, &mut row, &kind, said).await?;
    moves.finish().await?;
    Ok(Finished::LateEvidenceKept { status: row.status })
}

fn check(finish: &Finish) -> Result<Option<Money>, EngineError> {
    let unfit =
        |field: &str, detail: &str| Err(EngineError::field(Code::Unprocessable, field, detail));
    if let Some(reference) = &finish.external_reference
        && (reference.is_empty()
            || reference.chars().count() > MAX_REFERENCE_CHARS
            || reference.chars().any(char::is_control))
    {
        return unfit(
            "external_reference",
            "a reference has 1 to 512 characters and no control characters",
        );
    }
    if let Some(response) = &finish.response
        && (!(100..600).contains(&response.status)
            || response.content_type.len() > 255
            || !response.content_type.bytes().all(|b| (b' '..=b'~').contains(&b)))
    {
        return unfit(
            "response",
            "the status is 100 to 599 and the content type at most 255 visible ASCII characters",
        );
    }
    if finish.events.len() > MAX_EVENTS {
        return unfit("events", "at most 100 events");
    }
    for event in &finish.events {
        // An operation's own events are told by the engine alone.
        if event.aggregate.parse::<OperationId>().is_ok()
            || event.topic.starts_with("operation.")
            || event.topic.starts_with("workflow.")
        {
            return unfit(
                "events",
                "aggregates that are ids and topics that begin with operation. or workflow. are the engine's own",
            );
        }
        let fits = |text: &str, max| {
            !text.is_empty() && text.chars().count() <= max && !text.contains('\0')
        };
        if !fits(&event.aggregate, 512) || !fits(&event.topic, 200) {
            return unfit(
                "events",
                "an event has an aggregate of 1 to 512 and a topic of 1 to 200 characters",
            );
        }
    }
    match (finish.amount_minor, &finish.currency) {
        (None, None) => Ok(None),
        (Some(amount_minor), Some(currency)) => {
            let currency = parse_currency(currency).map_err(|error| {
                EngineError::field(Code::Unprocessable, "currency", error.to_string())
            })?;
            Ok(Some(Money { amount_minor, currency }))
        }
        _ => unfit("amount_minor", "an amount and its currency go together"),
    }
}

/// The owner's own words about its own call.
async fn end_call(
    tx: &mut Tx,
    row: &mut Operation,
    kind: &KindPolicy,
    finish: &Finish,
    limits: &Limits,
    amount: Option<&Money>,
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
    let mut change = Change {
        external_reference: finish.external_reference.clone(),
        answer: finish.response.clone().map(|answer| answer.bounded(limits.answer_bytes)),
        detail: Some(detail),
        ..Change::default()
    };
    match finish.outcome {
        FinishOutcome::Done if differs(row, amount) => {
            return end_differing(moves, row, kind, finish, amount, change).await;
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
        text: Some("The provider's answer names another amount or currency than was asked."),
        proves: false,
    };
    evidence::insert(moves.db, row.target, &moves.actor, new).await?;
    moves
        .open_incident(
            row,
            "answer_differs",
            "The provider did something else than was asked: another amount or currency.",
        )
        .await?;
    let change = Change { detail: change.detail, ..Change::default() };
    moves.make(row, kind, Event::Ambiguous, change).await?;
    moves.make(row, kind, Event::NoneLeft, Change::default()).await?;
    moves.finish().await
}
