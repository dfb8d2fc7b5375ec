//! Doing queued work: claim, start, call the provider, finish. The worker holds the lease by beats
//! on a thread of their own and stops sending once they fail (D20).

use std::{sync::Arc, time::Instant};

use domain::problem::Code;
use tokio::task::JoinSet;

use super::{
    Report,
    beats::{Beats, Held},
};
use crate::{
    Engine,
    actor::Actor,
    crash::crash_point,
    error::EngineError,
    operations::{
        ClaimedWork, Finish, claim_for, commit_unless_fault, finish_in, retrying, start_in,
    },
    provider::{Call, CallResult},
    store::{Target, kind},
};

/// A worker of this process.
pub struct Worker {
    engine: Engine,
    beats: Beats,
    running: JoinSet<()>,
    max_running: usize,
    actor: Actor,
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
        })
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
            if !work.is_empty() {
                crash_point!("L1");
            }
            for work in work {
                handled += 1;
                let target = Target { tenant, id: work.id };
                let held = self.beats.keep(target, work.fence, work.lease_ms, sent);
                let (engine, actor) = (self.engine.clone(), self.actor.clone());
                self.running.spawn(async move {
                    if let Err(error) = execute(&engine, target, work, held, actor).await
                        && error.is_fault()
                    {
                        tracing::error!(error = ?error, operation.id = %target.id, "a worker's step failed");
                    }
                });
            }
        }
        Ok(Report { handled })
    }

    /// Waits for the calls under way; their beats go on until then.
    pub async fn drain(&mut self) {
        while self.running.join_next().await.is_some() {}
    }
}

async fn execute(
    engine: &Engine,
    target: Target,
    work: ClaimedWork,
    held: Held,
    actor: Actor,
) -> Result<(), EngineError> {
    let mut db = engine.pools.engine().acquire().await?;
    let Some(kind) = kind::find(&mut db, target.tenant, &work.operation).await? else {
        return Ok(());
    };
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
    let result = if held.is_live() {
        crash_point!("P1");
        provider.call(&call).await
    } else {
        CallResult::not_sent()
    };
    crash_point!("P3");
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
    let recorded = record(engine, target, &finish, &actor).await;
    if let Err(EngineError::Refused(refusal)) = &recorded
        && refusal.code == Code::Unprocessable
    {
        // An answer that cannot be stored as it is says nothing for certain.
        tracing::warn!(operation.id = %target.id, field = refusal.field, "an answer cannot be stored");
        return record(engine, target, &Finish::ambiguous(finish.fence), &actor).await;
    }
    recorded
}

async fn record(
    engine: &Engine,
    target: Target,
    finish: &Finish,
    actor: &Actor,
) -> Result<(), EngineError> {
    retrying(|| async {
        let mut tx = engine.pools.begin_engine().await?;
        let limits = &engine.settings.limits;
        finish_in(&mut tx, target, finish, limits, actor.clone(), |_| Ok(())).await?;
        crash_point!("P4");
        tx.commit().await?;
        Ok(())
    })
    .await?;
    crash_point!("P5");
    Ok(())
}
