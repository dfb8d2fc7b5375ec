//! What an answer is worth: proof alone leaves *unknown*, by the same rules for a lookup and for a
//! request that was sent again to ask (O16 to O20, O34; D10, D14).

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    money::Money,
    operation::{Event, Status},
    reconciliation::ProviderAnswer,
};
use serde_json::{Value, json};

use super::{
    MAX_TAKEOVERS,
    question::{may_resend, settled_at},
};
use crate::{
    actor::Actor,
    database::Tx,
    error::EngineError,
    operations::{FinishOutcome, Moves, Said, differs, jittered_backoff_ms, keep_evidence},
    provider::CallResult,
    store::{
        evidence::{self, NewEvidence},
        kind::KindPolicy,
        operation::{Change, Operation},
    },
};

/// What a turn learnt.
pub(super) enum Learnt {
    /// A lookup's answer.
    Looked(ProviderAnswer),
    /// The answer to the request, sent again under its key.
    Resent(Box<CallResult>),
    /// Nothing: there was nothing left to ask.
    NotAsked,
}

impl Learnt {
    /// The effect that it names, where it says that it happened.
    fn done(&self) -> Option<(&str, Option<&Money>)> {
        match self {
            Self::Looked(ProviderAnswer::Done { external_reference, amount }) => {
                Some((external_reference, amount.as_ref()))
            }
            Self::Resent(result) if result.outcome == FinishOutcome::Done => {
                Some((result.external_reference.as_deref()?, result.amount.as_ref()))
            }
            _ => None,
        }
    }

    /// What the timeline keeps of it.
    fn detail(&self) -> Value {
        match self {
            Self::Looked(answer) => json!({"asked": "lookup", "answer": answer}),
            Self::NotAsked => json!({"asked": "nothing"}),
            Self::Resent(result) => json!({
                "asked": "resend",
                "outcome": result.outcome.as_str(),
                "external_reference": result.external_reference,
                "response_status": result.response.as_ref().map(|response| response.status),
            }),
        }
    }
}

/// Writes what was learnt in a turn that is still ours. `limit` is what an answer is stored up to.
pub(super) async fn settle(
    tx: &mut Tx,
    row: &mut Operation,
    kind: &KindPolicy,
    asked_at: DateTime<Utc>,
    learnt: &Learnt,
    limit: usize,
    actor: Actor,
) -> Result<(), EngineError> {
    let mut moves = Moves::new(tx, actor);
    if moves.prove_by_record(row, kind).await? {
        return moves.finish().await;
    }
    let change = Change { detail: Some(learnt.detail()), ..Change::default() };
    if learnt.done().is_some() {
        done(&mut moves, row, kind, learnt, limit, change).await?;
        return moves.finish().await;
    }
    match learnt {
        Learnt::Looked(ProviderAnswer::Rejected) => {
            let change = Change { failure_code: Some("rejected"), ..change };
            moves.make(row, kind, Event::ProofRejected, change).await?;
        }
        Learnt::Looked(ProviderAnswer::SomethingElse) => {
            something_else(&mut moves, row, kind, "ambiguous", None, None, change).await?;
        }
        Learnt::Looked(ProviderAnswer::Absent) => {
            absent(&mut moves, row, kind, asked_at, change).await?;
        }
        Learnt::Looked(ProviderAnswer::Unreachable) if row.takeovers < MAX_TAKEOVERS => {
            ask_again(&mut moves, row, kind, change).await?;
        }
        Learnt::Looked(_) | Learnt::NotAsked => give_up(&mut moves, row, kind, change).await?,
        Learnt::Resent(result) if result.outcome == FinishOutcome::Rejected => {
            let answer = result.response.clone().map(|answer| answer.bounded(limit));
            let change = Change { failure_code: Some("rejected"), answer, ..change };
            moves.make(row, kind, Event::ProofRejected, change).await?;
        }
        // "Not taken" is about this request; it says nothing of the first.
        Learnt::Resent(_) => ask_again(&mut moves, row, kind, change).await?,
    }
    moves.finish().await
}

/// The turn was lost before its answer was written: a person or a message decided meanwhile. The
/// state stays; that the provider did it is kept, and contradicts whoever said otherwise (D17, O26).
pub(super) async fn too_late(
    tx: &mut Tx,
    row: &mut Operation,
    kind: &KindPolicy,
    fence: i64,
    learnt: &Learnt,
    actor: Actor,
) -> Result<(), EngineError> {
    let Some((reference, amount)) = learnt.done() else {
        return Ok(());
    };
    // Nobody loses anything where another turn asks the same question anew.
    if row.tombstoned_at.is_some()
        || row.status == Status::Unknown && matches!(learnt, Learnt::Looked(_))
    {
        return Ok(());
    }
    let other_target = matches!(learnt, Learnt::Resent(result) if result.other_target);
    let said = Said {
        source: "lookup",
        outcome: FinishOutcome::Done,
        external_reference: Some(reference),
        amount,
        fence: Some(fence),
        provider_event: None,
        target_matches: !other_target,
    };
    let mut moves = Moves::new(tx, actor);
    keep_evidence(&mut moves, row, kind, said).await?;
    moves.finish().await
}

/// *It happened*: proof where it is what was asked (O16), else nobody here can call it a success.
async fn done(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    learnt: &Learnt,
    limit: usize,
    change: Change,
) -> Result<(), EngineError> {
    let Some((reference, amount)) = learnt.done() else { return Ok(()) };
    let (unnamed, other_target, answer) = match learnt {
        // Money without its amount proves nothing.
        Learnt::Looked(_) | Learnt::NotAsked => (kind.money && amount.is_none(), false, None),
        // As in a call, the answer to our own request need not repeat its amount.
        Learnt::Resent(result) => (false, result.other_target, result.response.clone()),
    };
    if unnamed || other_target || differs(row, amount) {
        return something_else(moves, row, kind, "done", Some(reference), amount, change).await;
    }
    note_other_reference(moves, row, reference).await?;
    // A workflow's step keeps the answer whole (D31); an operation as much as the limits say.
    let brought = answer.clone().filter(|_| row.workflow_id.is_some());
    let answer = answer.map(|answer| answer.bounded(limit));
    let reference = Some(reference.to_owned());
    let change = Change { external_reference: reference, answer, brought, ..change };
    moves.make(row, kind, Event::ProofDone, change).await?;
    Ok(())
}

/// The answer is about another amount, currency or target: kept, told, and a person's (D10).
async fn something_else(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    says: &'static str,
    reference: Option<&str>,
    amount: Option<&Money>,
    change: Change,
) -> Result<(), EngineError> {
    let new = NewEvidence {
        source: "lookup",
        says,
        external_reference: reference,
        amount,
        fence: None,
        provider_event: None,
        text: Some(
            "The provider's answer names another amount, currency or target than was asked.",
        ),
        proves: false,
    };
    evidence::insert(moves.db, row.target, &moves.actor, new).await?;
    let summary = "The provider did or names something else than was asked: another amount, currency or target.";
    moves.open_incident(row, "answer_differs", summary).await?;
    moves.make(row, kind, Event::NoneLeft, change).await?;
    Ok(())
}

/// The effect under another reference than evidence on record names may have happened twice.
async fn note_other_reference(
    moves: &mut Moves<'_>,
    row: &Operation,
    reference: &str,
) -> Result<(), EngineError> {
    if let Some(known) = evidence::done_on_record(moves.db, row.target).await?
        && known.external_reference.as_deref().is_some_and(|known| known != reference)
    {
        let summary = "The provider names another reference than evidence on record: it may have happened twice.";
        moves.open_incident(row, "double_effect_suspected", summary).await?;
    }
    Ok(())
}

/// *Not found*: proof only from a provider whose word is, after the call's deadline and the settle
/// window, twice, a settle window apart (D14).
async fn absent(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    asked_at: DateTime<Utc>,
    change: Change,
) -> Result<(), EngineError> {
    let window = TimeDelta::milliseconds(kind.settle_window_ms);
    let Some(settles_at) = settled_at(row, kind).filter(|_| kind.absent_is_proof) else {
        return ask_again(moves, row, kind, change).await;
    };
    if asked_at < settles_at {
        // An answer from inside the window counts for nothing, not even as a try.
        let change = Change { next_reconcile_at: Some(settles_at), ..no_try(row, change) };
        moves.make(row, kind, Event::NoProof, change).await?;
        return Ok(());
    }
    let since = row.absent_since.unwrap_or(asked_at);
    let counted = Some((row.absent_answers + 1, since));
    if row.absent_since.is_none() || asked_at - since < window {
        let next_reconcile_at = Some(since + window);
        // Half a proof: the other half must not fail for want of a try.
        let change = Change { absent: counted, next_reconcile_at, ..no_try(row, change) };
        moves.make(row, kind, Event::NoProof, change).await?;
        return Ok(());
    }
    let change = Change { next_at: Some(row.now), absent: counted, ..change };
    let made = moves.make(row, kind, Event::ProofAbsent, change).await?;
    let waits = made == Event::ProofAbsent && row.status == Status::FailedRetryable;
    if waits && row.attempt >= row.max_attempts {
        // Proven absent with no attempt left: the same proof, then the end (O18, O14).
        let change = Change { failure_code: Some("not_done"), ..Change::default() };
        moves.make(row, kind, Event::GiveUp, change).await?;
    }
    Ok(())
}

/// Gives back the try that the turn took.
fn no_try(row: &Operation, change: Change) -> Change {
    Change { reconcile_tries: Some(row.reconcile_tries - 1), ..change }
}

/// No proof yet: ask again after a pause, as often as the kind allows each way of asking.
async fn ask_again(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    change: Change,
) -> Result<(), EngineError> {
    let by_resend = row.ask_by_resend || !kind.lookup;
    let tries = if by_resend { row.resends } else { row.reconcile_tries };
    if tries >= kind.max_reconcile_tries {
        return give_up(moves, row, kind, change).await;
    }
    let pause = TimeDelta::milliseconds(jittered_backoff_ms(kind.backoff_ms, tries - 1));
    let change = Change { next_reconcile_at: Some(row.now + pause), ..change };
    moves.make(row, kind, Event::NoProof, change).await?;
    Ok(())
}

/// This way of asking leads no further: the next one (D13), else a harmless repeat where the kind
/// states one (O34), else a person (O20).
async fn give_up(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    change: Change,
) -> Result<(), EngineError> {
    let looked = kind.lookup && !row.ask_by_resend;
    if looked && may_resend(moves.db, row, kind).await? {
        let (ask_by, next_reconcile_at) = (Some("resend"), Some(row.now));
        let change = Change { ask_by, next_reconcile_at, ..change };
        moves.make(row, kind, Event::NoProof, change).await?;
    } else if !kind.irreversible && row.attempt < row.max_attempts && row.takeovers < MAX_TAKEOVERS
    {
        let mut detail = change.detail.unwrap_or_else(|| json!({}));
        detail["harmless"] = json!(kind.harmless_reason);
        let change = Change { next_at: Some(row.now), detail: Some(detail), ..Change::default() };
        moves.make(row, kind, Event::HarmlessRepeat, change).await?;
    } else {
        moves.make(row, kind, Event::NoneLeft, change).await?;
    }
    Ok(())
}
