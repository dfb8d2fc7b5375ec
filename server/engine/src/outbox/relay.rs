//! The relay: claims the heads of aggregates, hands each event to its destination and writes what
//! came of it (X2 to X6).
//!
//! Any number of relays work side by side, in one process or many. An event is held by lease and
//! fence; a relay that dies leaves it to [`Engine::release_lapsed_events`], and one that was paused
//! past its lease can write nothing.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use domain::outbox::EventStatus;
use tokio::{
    sync::Notify,
    task::JoinSet,
    time::{sleep, timeout},
};

use super::{
    BACKOFF_MS,
    destinations::{Destinations, Way},
    envelope::Envelope,
    publish::{DEADLINE, PublishResult},
};
use crate::{
    Engine,
    actor::Actor,
    backoff::jittered_backoff_ms,
    crash::crash_point,
    database::retrying,
    error::EngineError,
    store::{
        aggregate::{self, Claim, Claimed, HeldEvent},
        breaker,
        outbox::{self, Held, Settled},
    },
};

/// How long a publisher holds an event; far more than a delivery may take.
const LEASE: Duration = Duration::from_secs(30);
const LEASE_MS: i64 = 30_000;
/// How long an event that no destination takes is left alone.
const UNROUTED_MS: i64 = 300_000;
/// The least and the most heads that one claim looks at.
const LOOKS: std::ops::RangeInclusive<i64> = 16..=200;
/// The promise that needs no hint: nothing waits longer to be looked at (D26).
const POLL: Duration = Duration::from_secs(2);

/// One publisher of this process.
pub struct Relay {
    engine: Engine,
    destinations: Arc<Destinations>,
    deliveries: JoinSet<()>,
    awake: Arc<Notify>,
}

impl Relay {
    /// A relay with all destinations of the settings, which begins to listen for hints.
    ///
    /// # Errors
    /// [`EngineError::Destination`] where one cannot be used as configured.
    pub fn new(engine: &Engine) -> Result<Self, EngineError> {
        let destinations = Arc::new(Destinations::new(&engine.settings.destinations)?);
        let awake = Arc::new(Notify::new());
        if !destinations.names().is_empty() {
            engine.ears.wake(&awake);
            engine.ears.open(&engine.settings);
        }
        Ok(Self { engine: engine.clone(), destinations, deliveries: JoinSet::new(), awake })
    }

    /// Claims as many events as there is room for and begins to deliver them. True where there may
    /// be more that could begin now.
    ///
    /// # Errors
    /// The database's.
    pub async fn claim_some(&mut self) -> Result<bool, EngineError> {
        while self.deliveries.try_join_next().is_some() {}
        if self.destinations.names().is_empty() {
            return Ok(false);
        }
        // Counted from before the claim is sent: its answer may take long.
        let asked = Instant::now();
        let (engine, destinations) = (self.engine.clone(), Arc::clone(&self.destinations));
        // In a task of its own: a claim that has begun is never dropped (F4).
        let (claimed, probing, looks) =
            Engine::detached(async move { claim(&engine, &destinations).await }).await?;
        for event in claimed.events {
            let Some(way) = self.destinations.way(&event.destination) else { continue };
            let place = way.place();
            let probe = probing.contains(&event.destination);
            let delivery = deliver(self.engine.clone(), way.clone(), event, probe, asked);
            let awake = Arc::clone(&self.awake);
            self.deliveries.spawn(async move {
                delivery.await;
                drop(place);
                // Its aggregate may have a next one, and its destination has room again.
                awake.notify_one();
            });
        }
        Ok(looks > 0 && claimed.looked_at == looks)
    }

    /// Returns when there may be something to claim: after a hint, a delivery, or the poll's time.
    pub async fn woken(&self) {
        tokio::select! {
            () = self.awake.notified() => {}
            () = sleep(POLL) => {}
        }
    }

    /// Waits for the deliveries under way.
    pub async fn drain(&mut self) {
        while self.deliveries.join_next().await.is_some() {}
    }
}

/// A claim in one transaction: which breakers are open, whether a probe is ours, and the events.
async fn claim(
    engine: &Engine,
    destinations: &Destinations,
) -> Result<(Claimed, Vec<String>, i64), EngineError> {
    let mut tx = engine.pools.begin_engine().await?;
    let open = breaker::not_closed(&mut tx).await?;
    let due: Vec<String> = open
        .iter()
        .filter(|breaker| {
            breaker.probe_in_ms <= 0 && destinations.way(&breaker.destination).is_some()
        })
        .map(|breaker| breaker.destination.clone())
        .collect();
    let probing = if due.is_empty() { due } else { breaker::lock_due(&mut tx, &due).await? };
    let rooms = destinations.rooms(&open, &probing);
    let room: i64 = rooms.rooms.iter().sum();
    if room == 0 {
        tx.rollback().await?;
        return Ok((Claimed::default(), Vec::new(), 0));
    }
    // With one destination there is nothing to look past.
    let least = if rooms.rooms.len() == 1 { 1 } else { *LOOKS.start() };
    let looks = room.clamp(least, *LOOKS.end());
    let wanted = Claim {
        owner: &engine.settings.worker_name,
        lease_ms: LEASE_MS,
        max: looks,
        unrouted_ms: UNROUTED_MS,
    };
    let claimed = aggregate::claim_heads(&mut tx, wanted, destinations.routes(), &rooms).await?;
    let taken: Vec<String> = probing
        .into_iter()
        .filter(|name| claimed.events.iter().any(|event| event.destination == *name))
        .collect();
    if !taken.is_empty() {
        breaker::take_probe(&mut tx, &taken, LEASE_MS).await?;
    }
    tx.commit_quietly().await?;
    crash_point!("O1", !claimed.events.is_empty());
    Ok((claimed, taken, looks))
}

async fn deliver(engine: Engine, way: Way, event: HeldEvent, probe: bool, asked: Instant) {
    let begun = Instant::now();
    // Too late to be sure that it ends within the lease: whoever takes over sends it.
    if asked.elapsed() + DEADLINE >= LEASE {
        return;
    }
    let console = engine.settings.console_url.as_deref();
    let result = match Envelope::of(&event, console) {
        Ok(envelope) => timeout(DEADLINE, way.publisher.publish(&envelope))
            .await
            .unwrap_or_else(|_| PublishResult::TransportDown("no answer in time".into())),
        Err(error) => PublishResult::Refused(error.to_string()),
    };
    crash_point!("O2");
    let took_ms = i32::try_from(begun.elapsed().as_millis()).unwrap_or(i32::MAX);
    let settled = retrying(|| settle(&engine, &event, &result, probe, took_ms)).await;
    match settled {
        Ok(true) => {}
        Ok(false) => {
            tracing::warn!(event.id = %event.id, outcome = result.as_str(), "a publisher's lease was lost");
        }
        // It stays `publishing`; once the lease ends it is sent again (F24).
        Err(error) => {
            tracing::error!(event.id = %event.id, outcome = result.as_str(), error = ?error, "an answer was not written");
        }
    }
}

/// Writes an answer (X3 to X6), each statement by itself: the event's own move comes first, and a
/// breaker that is written late costs a probe, not an event.
async fn settle(
    engine: &Engine,
    event: &HeldEvent,
    result: &PublishResult,
    probe: bool,
    took_ms: i32,
) -> Result<bool, EngineError> {
    let mut db = engine.pools.engine().acquire().await?;
    let (rule, status, pause_ms) = match result {
        PublishResult::Published | PublishResult::Duplicate => ("X3", EventStatus::Published, 0),
        PublishResult::TransportDown(error) => {
            let probe_in_ms = breaker::failed(&mut db, &event.destination, error).await?;
            ("X4", EventStatus::Pending, probe_in_ms)
        }
        PublishResult::Refused(_) if event.attempts + 1 < engine.settings.limits.event_attempts => {
            ("X5", EventStatus::Pending, jittered_backoff_ms(BACKOFF_MS, event.attempts))
        }
        PublishResult::Refused(_) => ("X6", EventStatus::Dead, 0),
    };
    // A refusal, too, shows that the transport works.
    if probe && !matches!(result, PublishResult::TransportDown(_)) {
        breaker::close(&mut db, &event.destination).await?;
    }
    let actor = Actor::new("publisher", &engine.settings.worker_name);
    let held = Held {
        tenant: event.tenant,
        id: event.id,
        aggregate: &event.aggregate,
        fence: event.fence,
    };
    let settled = Settled {
        rule,
        status,
        outcome: result.as_str(),
        error: result.error(),
        pause_ms,
        actor: &actor,
        took_ms,
    };
    crash_point!("O3");
    outbox::settle(&mut db, held, &settled).await
}
