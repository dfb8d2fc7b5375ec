//! Doing queued work: claim, start, call the provider, finish. The worker holds the lease by beats
//! on a thread of their own and stops sending once they fail (D20).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::problem::Code;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use super::{
    Report,
    beats::{Beats, Held},
    load::Load,
};
use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    error::EngineError,
    operations::{
        ClaimedWork, Finish, Heard, claim_for, commit_unless_fault, finish_heard, retrying,
        start_in,
    },
    provider::{Call, CallResult},
    store::{Target, kind, lease},
};

/// How long calls that were given up may take to say so.
const LAST_WORDS: Duration = Duration::from_secs(5);

/// How far a worker's stop has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stop {
    /// Not told to stop.
    No,
    /// Nothing new begins.
    Drain,
    /// Calls under way are given up.
    GiveUp,
}

/// A worker of this process.
pub struct Worker {
    engine: Engine,
    beats: Beats,
    running: JoinSet<()>,
    max_running: usize,
    actor: Actor,
    load: Load,
    stop: watch::Sender<Stop>,
}

impl Worker {
    /// Makes a worker that does up to `max_running` calls at once.
    ///
    /// # Errors
    /// Where the thread for beats cannot be started.
    pub fn new(engine: &Engine, max_running: usize) -> Result<Self, EngineError> {
        Ok(Self {
            engine: engine.clone(),
            beats: Beats::start(engine.settings.as_ref().clone())?,
            running: JoinSet::new(),
            max_running,
            actor: Actor::new("worker", &engine.settings.worker_name),
            load: Load::default(),
            stop: watch::Sender::new(Stop::No),
        })
    }

    /// What it is at, for others to look at.
    #[must_use]
    pub fn load(&self) -> Load {
        self.load.clone()
    }

    /// Claims as much as there is room for and begins it; returns without waiting for the calls.
    /// Claims only kinds whose provider this process can reach: an unknown kind is another
    /// worker's, never a failure (D33).
    ///
    /// # Errors
    /// The database's.
    pub async fn claim_some(&mut self) -> Result<Report, EngineError> {
        while self.running.try_join_next().is_some() {}
        let names = self.engine.providers.names();
        let mut handled = 0;
        if self.running.len() >= self.max_running || names.is_empty() {
            return Ok(Report { handled });
        }
        let mut db = self.engine.pools.engine().acquire().await?;
        let served = kind::served(&mut db, &names).await?;
        drop(db);
        self.load.serves(served.iter().map(|(_, name)| name.clone()).collect());
        for group in served.chunk_by(|(a, _), (b, _)| a == b) {
            let room = self.max_running - self.running.len();
            if room == 0 {
                break;
            }
            let tenant = group[0].0;
            let kinds: Arc<Vec<String>> =
                Arc::new(group.iter().map(|(_, name)| name.clone()).collect());
            let sent = Instant::now();
            let (engine, actor) = (self.engine.clone(), self.actor.clone());
            let max = i64::try_from(room).unwrap_or(1);
            let work = Engine::detached(async move {
                retrying(|| async {
                    let mut tx = engine.pools.begin_engine().await?;
                    let work = claim_for(&mut tx, tenant, &kinds, max, None, &actor).await?;
                    tx.commit().await?;
                    Ok(work)
                })
                .await
            })
            .await?;
            crash_point!("L1", !work.is_empty());
            for work in work {
                handled += 1;
                let target = Target { tenant, id: work.id };
                let held = self.beats.keep(target, work.fence, work.lease_ms, sent);
                let (engine, actor) = (self.engine.clone(), self.actor.clone());
                let (busy, stop) = (self.load.call(), self.stop.subscribe());
                self.running.spawn(async move {
                    let _busy = busy;
                    if let Err(error) = execute(&engine, target, work, held, actor, stop).await
                        && error.is_fault()
                    {
                        tracing::error!(error = ?error, operation.id = %target.id, "a worker's step failed");
                    }
                });
            }
        }
        Ok(Report { handled })
    }

    /// Lets the calls under way end, for at most `limit`; their beats go on until then. A call that
    /// takes longer is given up and recorded as unknown (O10): it may have happened. What was claimed
    /// and not begun is given back. Returns how many were given up.
    pub async fn drain(&mut self, limit: Duration) -> usize {
        self.stop.send_replace(Stop::Drain);
        if timeout(limit, self.all_ended()).await.is_ok() {
            return 0;
        }
        let left = self.running.len();
        self.stop.send_replace(Stop::GiveUp);
        if timeout(LAST_WORDS, self.all_ended()).await.is_err() {
            tracing::warn!("what was given up could not be recorded in time; the leases tell");
        }
        left
    }

    async fn all_ended(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

async fn execute(
    engine: &Engine,
    target: Target,
    work: ClaimedWork,
    held: Held,
    actor: Actor,
    mut stop: watch::Receiver<Stop>,
) -> Result<(), EngineError> {
    let mut db = engine.pools.engine().acquire().await?;
    let Some(kind) = kind::find(&mut db, target.tenant, &work.operation).await? else {
        return Ok(());
    };
    if *stop.borrow() != Stop::No {
        drop(held);
        return lease::give_back(&mut db, target, work.fence).await;
    }
    drop(db);
    let Some(provider) = engine.providers.get(kind.provider.as_deref()) else {
        return Ok(());
    };
    retrying(|| async {
        let mut tx = engine.pools.begin_engine().await?;
        let started = start_in(&mut tx, target, work.fence, actor.clone(), |_| Ok(())).await;
        commit_unless_fault(tx, started).await
    })
    .await?;
    let call = Call {
        provider_key: &work.provider_key,
        payload: &work.payload,
        amount: work.amount.as_ref(),
        deadline: kind.call_deadline(),
    };
    // Once bytes may have been written the answer is awaited, however late: it may be the only proof
    // there is, and the fence makes late words of it (D17).
    crash_point!("L2");
    let mut heard = Heard::default();
    let result = if held.is_live() {
        crash_point!("P1");
        tokio::select! {
            biased;
            result = provider.call(&call) => result,
            // No sender goes before its calls: an error is a stop as well.
            _ = stop.wait_for(|stop| *stop == Stop::GiveUp) => {
                heard.drained = true;
                CallResult::given_up()
            }
        }
    } else {
        CallResult::not_sent()
    };
    crash_point!("P3");
    crash_point!("W2", work.key.starts_with("wf:"));
    heard.other_target = result.other_target;
    drop(held);
    let finish = Finish {
        fence: work.fence,
        outcome: result.outcome,
        external_reference: result.external_reference,
        amount_minor: result.amount.as_ref().map(|money| money.amount_minor),
        currency: result.amount.map(|money| money.currency),
        response: result.response,
        events: Vec::new(),
    };
    let recorded = record(engine, target, &finish, heard, &actor).await;
    if let Err(EngineError::Refused(refusal)) = &recorded
        && refusal.code == Code::Unprocessable
    {
        // An answer that cannot be stored as it is says nothing for certain.
        tracing::warn!(operation.id = %target.id, field = refusal.field, "an answer cannot be stored");
        return record(engine, target, &Finish::ambiguous(finish.fence), heard, &actor).await;
    }
    crash_point!("W3", work.key.starts_with("wf:"));
    recorded
}

async fn record(
    engine: &Engine,
    target: Target,
    finish: &Finish,
    heard: Heard,
    actor: &Actor,
) -> Result<(), EngineError> {
    retrying(|| async {
        let mut tx = engine.pools.begin_engine().await?;
        let limits = &engine.settings.limits;
        finish_heard(&mut tx, target, finish, heard, limits, actor.clone(), |_| Ok(())).await?;
        crash_point!("P4");
        tx.commit().await?;
        Ok(())
    })
    .await?;
    crash_point!("P5");
    Ok(())
}
