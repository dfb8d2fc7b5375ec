//! Turns of reconciliation: whose it is, what is asked, and writing what was learnt (O15; D13, D24).
//!
//! Guards against starvation: rows that wait for a person are not read, each provider has its own
//! few places, and a turn puts its row's next one beyond itself, so that a thousand rows of a
//! provider that hangs keep no other waiting.

use std::time::{Duration, Instant};

use chrono::TimeDelta;
use domain::operation::{Event, Status};
use serde_json::json;
use tokio::{task::JoinSet, time};

use super::{
    question::{self, Ask},
    settle::{self, Learnt},
    turns::PER_PROVIDER,
};
use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    error::EngineError,
    operations::{Moves, lock_with_kind, logged, retrying},
    provider::{Call, CallResult, Question},
    report::Report,
    store::{
        Target, answer, due,
        kind::KindPolicy,
        lease,
        operation::{Change, Operation},
    },
};

/// Rows of one run.
const BATCH: i64 = 40;
/// How long a run waits for its turns; slower ones go on by themselves, in their provider's places.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long a reconciler holds its turn beyond the question itself.
const TURN_SPARE_MS: i64 = 5_000;

/// A turn that was taken.
struct Turn {
    row: Operation,
    kind: KindPolicy,
    ask: Ask,
    payload: Option<Vec<u8>>,
}

/// What came of reaching for a turn.
enum Taken {
    /// It is not ours, or not yet.
    No,
    /// Ours, and over: nothing is left to ask.
    Over,
    /// Ours: ask.
    Ask(Box<Turn>),
}

impl Engine {
    /// Asks about one batch of unknown outcomes whose turn it is.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn reconcile_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let names = engine.providers.names();
            let per_provider = i64::try_from(PER_PROVIDER).unwrap_or(1);
            let due = due::due_for_reconcile(&mut db, &names, per_provider, BATCH).await?;
            drop(db);
            let mut turns = JoinSet::new();
            for due in due {
                let Some(place) = engine.turns.take(due.provider) else { continue };
                let engine = engine.clone();
                turns.spawn(async move {
                    let turn = engine.reconcile(due.target).await;
                    drop(place);
                    logged(due.target, turn)
                });
            }
            let mut handled = 0;
            let patience = time::sleep(PATIENCE);
            tokio::pin!(patience);
            loop {
                tokio::select! {
                    turn = turns.join_next() => match turn {
                        Some(Ok(turn)) => handled += u64::from(turn?),
                        // A panic in one turn is logged by the runtime; the row's own time brings it back.
                        Some(Err(_)) => {}
                        None => break,
                    },
                    () = &mut patience => {
                        turns.detach_all();
                        break;
                    }
                }
            }
            Ok(Report { handled })
        })
        .await
    }

    /// Takes the turn, asks outside any transaction (D24), and writes what was learnt.
    async fn reconcile(&self, target: Target) -> Result<bool, EngineError> {
        let turn = match retrying(|| self.take_turn(target)).await? {
            Taken::Ask(turn) => turn,
            Taken::Over => return Ok(true),
            Taken::No => return Ok(false),
        };
        let learnt = self.ask_provider_about(&turn).await;
        crash_point!("K1");
        retrying(|| self.settle(target, &turn, &learnt)).await?;
        Ok(true)
    }

    async fn ask_provider_about(&self, turn: &Turn) -> Learnt {
        let key = turn.row.target.id.to_string();
        let provider = turn.kind.provider.as_deref();
        match &turn.ask {
            Ask::Lookup => {
                let question = Question {
                    provider_key: &key,
                    external_reference: turn.row.external_reference.as_deref(),
                    payload: turn.payload.as_deref(),
                    deadline: turn.kind.call_deadline(),
                };
                Learnt::Looked(self.providers.ask(provider, &question).await)
            }
            // Looked at last: a process that was paused here must not send what may be forgotten by
            // now.
            Ask::Resend(payload, until) => match self.providers.get(provider) {
                Some(provider) if Instant::now() < *until => {
                    let call = Call {
                        provider_key: &key,
                        payload,
                        amount: turn.row.amount.as_ref(),
                        deadline: turn.kind.call_deadline(),
                    };
                    Learnt::Resent(Box::new(provider.call(&call).await))
                }
                _ => Learnt::Resent(Box::new(CallResult::not_sent())),
            },
            Ask::Wait(_) | Ask::Nothing => Learnt::NotAsked,
        }
    }

    fn reconciler(&self) -> Actor {
        Actor::new("reconciler", &self.settings.worker_name)
    }

    /// O15, unless somebody else has the turn, it is over already, or it is too early to ask.
    async fn take_turn(&self, target: Target) -> Result<Taken, EngineError> {
        let read = Instant::now();
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let held = lease::lock(&mut tx, target).await?.is_some_and(|held| held.is_live());
        let due = row.next_reconcile_at.is_some_and(|at| at <= row.now);
        if row.status != Status::Unknown || row.needs_manual || held || !due {
            return Ok(Taken::No);
        }
        let ask = question::choose(&mut tx, &row, &kind, read).await?;
        let mut moves = Moves::new(&mut tx, self.reconciler());
        let detail = Some(json!({"asks": ask.as_str()}));
        if let Ask::Wait(at) = ask {
            let change = Change { next_reconcile_at: Some(at), detail, ..Change::default() };
            moves.make(&mut row, &kind, Event::NoProof, change).await?;
            moves.finish().await?;
            tx.commit().await?;
            return Ok(Taken::No);
        }
        if question::is_spent(&ask, &row, &kind) {
            // Nobody is asked, so the turn ends where it is taken: no process can die within it.
            moves
                .make(
                    &mut row,
                    &kind,
                    Event::ClaimReconcile,
                    Change { detail, ..Change::default() },
                )
                .await?;
            moves.finish().await?;
            let (learnt, asked_at) = (Learnt::NotAsked, row.now);
            let limit = self.settings.limits.answer_bytes;
            let actor = self.reconciler();
            settle::settle(&mut tx, &mut row, &kind, asked_at, &learnt, limit, actor).await?;
            tx.commit().await?;
            return Ok(Taken::Over);
        }
        let turn_ms = kind.call_deadline_ms + TURN_SPARE_MS;
        let looks = matches!(ask, Ask::Lookup);
        let change = Change {
            // Sending again has a count of its own.
            reconcile_tries: Some(row.reconcile_tries + i32::from(looks)),
            // Beyond this turn: whoever looks meanwhile finds others' rows, and if this process dies
            // the row comes back by itself.
            next_reconcile_at: Some(row.now + TimeDelta::milliseconds(turn_ms)),
            resend: matches!(ask, Ask::Resend(..)),
            detail,
            ..Change::default()
        };
        moves.make(&mut row, &kind, Event::ClaimReconcile, change).await?;
        moves.finish().await?;
        lease::grant(&mut tx, target, row.fence, &self.settings.worker_name, turn_ms).await?;
        let payload = answer::payload(&mut tx, target).await?;
        tx.commit().await?;
        Ok(Taken::Ask(Box::new(Turn { row, kind, ask, payload })))
    }

    async fn settle(
        &self,
        target: Target,
        turn: &Turn,
        learnt: &Learnt,
    ) -> Result<(), EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        if row.status != Status::Unknown || row.fence != turn.row.fence {
            settle::too_late(&mut tx, &mut row, &kind, turn.row.fence, learnt, self.reconciler())
                .await?;
        } else {
            let limit = self.settings.limits.answer_bytes;
            settle::settle(
                &mut tx,
                &mut row,
                &kind,
                turn.row.now,
                learnt,
                limit,
                self.reconciler(),
            )
            .await?;
        }
        crash_point!("K2");
        tx.commit().await?;
        Ok(())
    }
}
