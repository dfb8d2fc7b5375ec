//! The life of one operation in a service: reserve, start, call, finish.
//!
//! Guards the order that makes the engine's promise possible: no byte goes to
//! the provider before `start` was granted, nothing is called again after a
//! lost reply, and what was learnt is reported even when the engine was away
//! for a while (a repeated finish with the same fence is the same finish).

use std::{convert::Infallible, time::Duration};

use crate::{
    client::{
        ApiError, Call, ControlError, Finished, Lease, ProviderClient, ProviderControl, Reserve,
        Reserved, TenantApi, provider_body,
    },
    job::{Flow, Job, Told},
    providers::Rule,
};

/// How often a finish is sent before the service gives up and the lease decides.
const FINISH_TRIES: u32 = 5;

/// A life could not be lived.
#[derive(Debug, thiserror::Error)]
pub enum LifeError {
    /// The engine is away or answers oddly.
    #[error(transparent)]
    Api(#[from] ApiError),
    /// The trouble could not be arranged.
    #[error(transparent)]
    Control(#[from] ControlError),
}

/// A service's own limits.
#[derive(Clone, Copy, Debug)]
pub struct Timing {
    /// How long the provider may take; shorter than the lease (D20).
    pub call_deadline: Duration,
    /// Pause between beats; a third of the lease (D20).
    pub beat_every: Duration,
}

impl Default for Timing {
    fn default() -> Self {
        Self { call_deadline: Duration::from_secs(4), beat_every: Duration::from_secs(2) }
    }
}

/// What a service holds while it lives.
#[derive(Clone, Debug)]
pub(crate) struct World {
    pub api: TenantApi,
    pub provider: ProviderClient,
    pub control: ProviderControl,
    pub timing: Timing,
}

/// How a job ended for the service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Performed {
    /// The operation, where this service got it.
    pub id: Option<String>,
    /// `done`, `rejected`, `not_done`, `ambiguous`, `died`, `late_evidence_kept`,
    /// or how the reservation was answered when it was not won.
    pub result: String,
    /// The provider's id of the effect.
    pub reference: Option<String>,
    /// How the further requests of the flow were answered.
    pub followups: Vec<String>,
}

impl Performed {
    fn new(id: Option<String>, result: &str) -> Self {
        Self { id, result: result.to_owned(), reference: None, followups: Vec::new() }
    }
}

/// Carries `job` out.
pub(crate) async fn perform(world: &World, job: &Job) -> Result<Performed, LifeError> {
    let mut followups = Vec::new();
    let reserved = match job.flow {
        Flow::Queued => {
            // A worker may be quicker than this service, so the trouble is set before.
            if let Some(subject) = job.subject() {
                arrange(world, job, |rule| rule.for_reference(job.kind, subject)).await?;
            }
            reserve(world, job).await?
        }
        Flow::Twins => {
            let (first, second) = tokio::join!(reserve(world, job), reserve(world, job));
            let (won, other) = match (first?, second?) {
                (first @ Reserved::Won(_), second) => (first, second),
                (first, second) => (second, first),
            };
            followups.push(other.word().to_owned());
            won
        }
        _ => reserve(world, job).await?,
    };
    let lease = match reserved {
        Reserved::Won(lease) => lease,
        other => {
            let id = match &other {
                Reserved::Queued { id } => Some(id.clone()),
                _ => None,
            };
            return Ok(Performed { followups, ..Performed::new(id, other.word()) });
        }
    };
    arrange(world, job, |rule| rule.for_key(job.kind, &lease.provider_key)).await?;
    let mut performed = carry_out(world, job, &lease).await?;
    match job.flow {
        Flow::Replay => followups.push(reserve(world, job).await?.word().to_owned()),
        Flow::Conflict => {
            followups.push(reserve(world, &job.contradiction()).await?.word().to_owned())
        }
        _ => {}
    }
    performed.followups = followups;
    Ok(performed)
}

/// From a lease to the end: start, call, finish.
pub(crate) async fn carry_out(
    world: &World,
    job: &Job,
    lease: &Lease,
) -> Result<Performed, LifeError> {
    let id = Some(lease.id.clone());
    if job.flow == Flow::DiesBeforeStart {
        return Ok(Performed::new(id, "died"));
    }
    if let Err(code) = world.api.start(lease).await? {
        return Ok(Performed::new(id, &code));
    }
    if job.flow == Flow::DiesBeforeCall {
        return Ok(Performed::new(id, "died"));
    }
    let call = call_with_beats(world, job, lease).await;
    if job.flow == Flow::DiesAfterCall {
        return Ok(Performed::new(id, "died"));
    }
    let result = match finish(world, lease, &call, &job.events).await? {
        Finished::Recorded => call.outcome.name().to_owned(),
        Finished::LateEvidenceKept => "late_evidence_kept".to_owned(),
        Finished::Refused(code) => code,
    };
    Ok(Performed { reference: call.reference, ..Performed::new(id, &result) })
}

/// Calls the provider and beats meanwhile. A lost fence does not stop the call:
/// its answer may be the only proof there is (D17).
async fn call_with_beats(world: &World, job: &Job, lease: &Lease) -> Call {
    let body = provider_body(job.kind, &job.payload, job.amount_minor, job.currency.as_deref());
    let deadline = job.call_deadline_ms.map_or(world.timing.call_deadline, Duration::from_millis);
    let call = world.provider.call(job.kind, &lease.provider_key, &body, deadline);
    let beats = async {
        loop {
            tokio::time::sleep(world.timing.beat_every).await;
            match world.api.heartbeat(lease).await {
                Ok(Ok(())) => {}
                Ok(Err(code)) => {
                    tracing::warn!(operation.id = lease.id, code, "the lease is gone");
                    return std::future::pending::<Infallible>().await;
                }
                Err(error) => tracing::debug!(%error, "a beat was not delivered"),
            }
        }
    };
    tokio::select! {
        call = call => call,
        never = beats => match never {},
    }
}

async fn finish(
    world: &World,
    lease: &Lease,
    call: &Call,
    events: &[Told],
) -> Result<Finished, ApiError> {
    let mut attempt = 1;
    loop {
        match world.api.finish(lease, call, events).await {
            Err(ApiError::Away(_)) if attempt < FINISH_TRIES => {
                tokio::time::sleep(Duration::from_millis(200 << attempt)).await;
                attempt += 1;
            }
            ended => return ended,
        }
    }
}

async fn reserve(world: &World, job: &Job) -> Result<Reserved, ApiError> {
    world
        .api
        .reserve(&Reserve {
            operation: job.operation,
            key: &job.key,
            payload: &job.payload,
            amount_minor: job.amount_minor,
            currency: job.currency.as_deref(),
            queued: job.flow == Flow::Queued,
        })
        .await
}

async fn arrange(world: &World, job: &Job, aim: impl Fn(Rule) -> Rule) -> Result<(), ControlError> {
    for rule in &job.rules {
        match world.control.add(job.kind.provider(), aim(rule.clone())).await {
            // A full table of rules costs the trouble, not the work.
            Err(ControlError::Refused { status, body }) => {
                tracing::warn!(status, body, "the provider takes no more rules");
            }
            added => added?,
        }
    }
    Ok(())
}
