//! Claims what is queued or due again, and carries it out as the services do.
//!
//! For set-ups without the engine's own workers; both beside each other are
//! safe, since a claim is fenced.

use std::time::Duration;

use tokio::sync::watch;

use super::{backoff, is_stopped, pause, with_grace};
use crate::{
    EffectKind,
    client::Claimed,
    job::{Flow, Job},
    life::{LifeError, World, carry_out},
};

/// Most operations per claim: few enough to be begun while their lease is fresh.
const BATCH: u32 = 4;
/// Lease asked for, milliseconds; the engine clamps it to the kind's.
const LEASE_MS: u64 = 30_000;

/// Works until stopped.
pub(super) async fn run(world: World, every: Duration, mut stop: watch::Receiver<bool>) {
    let mut failures = 0;
    while !is_stopped(&stop) {
        let Some(worked) = with_grace(batch(&world), &mut stop).await else {
            return;
        };
        match worked {
            Ok(()) => failures = 0,
            Err(error) => {
                failures += 1;
                tracing::debug!(failures, %error, "the worker waits");
            }
        }
        if !pause(&mut stop, backoff(every, failures)).await {
            return;
        }
    }
}

async fn batch(world: &World) -> Result<(), LifeError> {
    let kinds = EffectKind::ALL.map(EffectKind::operation);
    for claimed in world.api.claim(&kinds, BATCH, LEASE_MS).await? {
        let Some(job) = job_of(&claimed) else {
            // D33: never a reason to fail it; its lease runs out and another worker knows it.
            tracing::warn!(operation = claimed.operation, "not a kind of this worker");
            continue;
        };
        let performed = carry_out(world, &job, &claimed.lease).await?;
        tracing::debug!(operation.id = claimed.lease.id, result = performed.result, "worked");
    }
    Ok(())
}

fn job_of(claimed: &Claimed) -> Option<Job> {
    let kind = EffectKind::from_operation(&claimed.operation)?;
    Some(Job {
        kind,
        operation: kind.operation(),
        // The key stays with the engine; the provider gets the provider key.
        key: claimed.lease.id.clone(),
        payload: claimed.payload.clone(),
        amount_minor: claimed.amount_minor,
        currency: claimed.currency.clone(),
        flow: Flow::Plain,
        rules: Vec::new(),
        call_deadline_ms: None,
        events: Vec::new(),
    })
}
