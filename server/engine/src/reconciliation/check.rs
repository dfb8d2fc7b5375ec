//! Asking a provider about an unknown outcome, and acting on proof alone (O15 to O20, O34; D13,
//! D14).

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    money::Money,
    operation::{Event, Status},
    reconciliation::ProviderAnswer,
};
use serde_json::json;
use tokio::task::JoinSet;

use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    database::Tx,
    error::EngineError,
    operations::{Moves, differs, jittered_backoff_ms, lock_with_kind, logged, retrying},
    provider::Question,
    report::Report,
    store::{
        Target, due, evidence,
        evidence::NewEvidence,
        kind::KindPolicy,
        lease,
        operation::{Change, Operation},
    },
};

/// Rows of one run.
const BATCH: i64 = 20;
/// Leases lost during a call before machines stop trying (D21).
const MAX_TAKEOVERS: i32 = 3;
/// How long a reconciler holds its turn beyond the lookup itself.
const TURN_SPARE_MS: i64 = 5_000;

impl Engine {
    /// Asks about one batch of unknown outcomes whose turn it is.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn reconcile_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let due = due::due_for_reconcile(&mut db, &engine.providers.names(), BATCH).await?;
            drop(db);
            // Side by side: one slow provider must not keep all others waiting.
            let mut turns = JoinSet::new();
            for target in due {
                let engine = engine.clone();
                turns.spawn(async move { (target, engine.reconcile(target).await) });
            }
            let mut handled = 0;
            while let Some(turn) = turns.join_next().await {
                let Ok((target, turn)) = turn else { continue };
                handled += u64::from(logged(target, turn)?);
            }
            Ok(Report { handled })
        })
        .await
    }

    /// Takes the turn, asks outside any transaction (D24), and writes what was learnt.
    async fn reconcile(&self, target: Target) -> Result<bool, EngineError> {
        let Some((row, kind)) = retrying(|| self.take_turn(target)).await? else {
            return Ok(false);
        };
        let answer = if kind.lookup {
            let question = Question {
                provider_key: &target.id.to_string(),
                external_reference: row.external_reference.as_deref(),
                deadline: kind.call_deadline(),
            };
            self.providers.ask(kind.provider.as_deref(), &question).await
        } else {
            ProviderAnswer::NoLookup
        };
        crash_point!("K1");
        retrying(|| self.settle(target, row.fence, row.now, &answer)).await?;
        Ok(true)
    }

    fn reconciler(&self) -> Actor {
        Actor::new("reconciler", &self.settings.worker_name)
    }

    /// O15; `None` where somebody else has the turn, or it is over already.
    async fn take_turn(
        &self,
        target: Target,
    ) -> Result<Option<(Operation, KindPolicy)>, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let held = lease::lock(&mut tx, target).await?.is_some_and(|held| held.is_live());
        let due = row.next_reconcile_at.is_some_and(|at| at <= row.now);
        if row.status != Status::Unknown || row.needs_manual || held || !due {
            return Ok(None);
        }
        let mut moves = Moves::new(&mut tx, self.reconciler());
        let change = Change { reconcile_tries: Some(row.reconcile_tries + 1), ..Change::default() };
        moves.make(&mut row, &kind, Event::ClaimReconcile, change).await?;
        moves.finish().await?;
        let turn_ms = kind.call_deadline_ms + TURN_SPARE_MS;
        lease::grant(&mut tx, target, row.fence, &self.settings.worker_name, turn_ms).await?;
        tx.commit().await?;
        Ok(Some((row, kind)))
    }

    async fn settle(
        &self,
        target: Target,
        fence: i64,
        asked_at: DateTime<Utc>,
        answer: &ProviderAnswer,
    ) -> Result<(), EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        if row.status != Status::Unknown || row.fence != fence {
            return Ok(());
        }
        settle_in(&mut tx, &mut row, &kind, asked_at, answer, self.reconciler()).await?;
        crash_point!("K2");
        tx.commit().await?;
        Ok(())
    }
}

async fn settle_in(
    tx: &mut Tx,
    row: &mut Operation,
    kind: &KindPolicy,
    asked_at: DateTime<Utc>,
    answer: &ProviderAnswer,
    actor: Actor,
) -> Result<(), EngineError> {
    let mut moves = Moves::new(tx, actor);
    if moves.prove_by_record(row, kind).await? {
        return moves.finish().await;
    }
    let detail = Some(json!({"answer": answer}));
    match answer {
        ProviderAnswer::Done { external_reference, amount }
            if proves(row, kind, amount.as_ref()) =>
        {
            let change = Change {
                external_reference: Some(external_reference.clone()),
                detail,
                ..Change::default()
            };
            note_other_reference(&mut moves, row, external_reference).await?;
            moves.make(row, kind, Event::ProofDone, change).await?;
        }
        ProviderAnswer::Done { external_reference, amount } => {
            let new = NewEvidence {
                source: "lookup",
                says: "done",
                external_reference: Some(external_reference),
                amount: amount.as_ref(),
                fence: None,
                provider_event: None,
                text: Some(
                    "The provider's lookup names another amount or currency than was asked.",
                ),
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
            moves.make(row, kind, Event::NoneLeft, Change { detail, ..Change::default() }).await?;
        }
        ProviderAnswer::Rejected => {
            let change = Change { failure_code: Some("rejected"), detail, ..Change::default() };
            moves.make(row, kind, Event::ProofRejected, change).await?;
        }
        ProviderAnswer::Absent => absent(&mut moves, row, kind, asked_at, detail).await?,
        ProviderAnswer::Unreachable if row.takeovers < MAX_TAKEOVERS => {
            ask_again(&mut moves, row, kind, Change { detail, ..Change::default() }).await?
        }
        ProviderAnswer::Unreachable | ProviderAnswer::NoLookup => {
            give_up(&mut moves, row, kind, detail).await?
        }
    }
    moves.finish().await
}

/// Whether a lookup's answer names what was asked: money without its amount proves nothing (O16).
fn proves(row: &Operation, kind: &KindPolicy, amount: Option<&Money>) -> bool {
    !differs(row, amount) && (!kind.money || amount.is_some())
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
    detail: Option<serde_json::Value>,
) -> Result<(), EngineError> {
    let window = TimeDelta::milliseconds(kind.settle_window_ms);
    let settles_at =
        row.started_at.map(|at| at + TimeDelta::milliseconds(kind.call_deadline_ms) + window);
    let Some(settles_at) = settles_at.filter(|_| kind.absent_is_proof) else {
        return ask_again(moves, row, kind, Change { detail, ..Change::default() }).await;
    };
    if asked_at < settles_at {
        // An answer from inside the window counts for nothing, not even as a try.
        let change = Change {
            reconcile_tries: Some(row.reconcile_tries - 1),
            next_reconcile_at: Some(settles_at),
            detail,
            ..Change::default()
        };
        moves.make(row, kind, Event::NoProof, change).await?;
        return Ok(());
    }
    let since = row.absent_since.unwrap_or(asked_at);
    let counted = Some((row.absent_answers + 1, since));
    if row.absent_since.is_none() || asked_at - since < window {
        let next_reconcile_at = Some(since + window);
        let change = Change { absent: counted, next_reconcile_at, detail, ..Change::default() };
        moves.make(row, kind, Event::NoProof, change).await?;
        return Ok(());
    }
    let change = Change { next_at: Some(row.now), absent: counted, detail, ..Change::default() };
    let made = moves.make(row, kind, Event::ProofAbsent, change).await?;
    let waits = made == Event::ProofAbsent && row.status == Status::FailedRetryable;
    if waits && row.attempt >= row.max_attempts {
        // Proven absent with no attempt left: the same proof, then the end (O18, O14).
        let change = Change { failure_code: Some("not_done"), ..Change::default() };
        moves.make(row, kind, Event::GiveUp, change).await?;
    }
    Ok(())
}

/// No proof yet: ask again after a pause, as often as the kind allows.
async fn ask_again(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    change: Change,
) -> Result<(), EngineError> {
    if row.reconcile_tries >= kind.max_reconcile_tries {
        return give_up(moves, row, kind, change.detail).await;
    }
    let pause =
        TimeDelta::milliseconds(jittered_backoff_ms(kind.backoff_ms, row.reconcile_tries - 1));
    let change = Change { next_reconcile_at: Some(row.now + pause), ..change };
    moves.make(row, kind, Event::NoProof, change).await?;
    Ok(())
}

/// Nothing is left for machines: a harmless repeat where the kind states one, else a person.
async fn give_up(
    moves: &mut Moves<'_>,
    row: &mut Operation,
    kind: &KindPolicy,
    detail: Option<serde_json::Value>,
) -> Result<(), EngineError> {
    if !kind.irreversible && row.attempt < row.max_attempts && row.takeovers < MAX_TAKEOVERS {
        let mut detail = detail.unwrap_or_else(|| json!({}));
        detail["harmless"] = json!(kind.harmless_reason);
        let change = Change { next_at: Some(row.now), detail: Some(detail), ..Change::default() };
        moves.make(row, kind, Event::HarmlessRepeat, change).await?;
    } else {
        moves.make(row, kind, Event::NoneLeft, Change { detail, ..Change::default() }).await?;
    }
    Ok(())
}
