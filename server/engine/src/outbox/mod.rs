//! Telling the world what happened: events leave at least once, in order within an aggregate, under
//! an id that stays the same (D25 to D28, I11).
//!
//! Guards against the message that is lost between commit and broker, against the outage that
//! makes every event dead, and against the one event that no consumer takes and that would hold up
//! all others. No transaction is open while a destination is spoken to (D24).

mod address;
mod destinations;
mod envelope;
mod mail;
mod nats;
mod publish;
mod relay;
mod staff;
mod webhook;

pub use crate::hints::CHANNEL;
pub use address::is_public;
pub use envelope::Envelope;
pub(crate) use envelope::Facts;
pub use publish::{PublishResult, Publisher};
pub use relay::Relay;
pub use staff::{EventState, requeue_in, skip_in};

use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    report::Report,
    settings::Destination,
    store::{aggregate, outbox},
};
use destinations::Destinations;
use domain::outbox::MAX_TAKEOVERS;

/// The pause after the first refusal, and after the second lost publisher; it doubles up to an hour,
/// twelve in about an hour's time.
const BACKOFF_MS: i64 = 2_000;
/// Rows of one run.
const BATCH: i64 = 200;
/// How many topics a fault-finder is told.
const TOPICS: i64 = 20;

/// Whether every destination can be used as configured; nothing is sent.
///
/// # Errors
/// [`EngineError::Destination`] names the first that cannot.
pub fn check(destinations: &[Destination]) -> Result<(), EngineError> {
    Destinations::new(destinations).map(drop)
}

/// Hands a document that is no event of the outbox to a destination, once.
///
/// # Errors
/// What the destination, or the way to it, said.
pub(crate) async fn hand_over(
    destination: &Destination,
    envelope: &Envelope,
) -> Result<(), String> {
    match destinations::publisher(destination)?.publish(envelope).await {
        PublishResult::Published | PublishResult::Duplicate => Ok(()),
        PublishResult::Refused(said) | PublishResult::TransportDown(said) => Err(said),
    }
}

impl Engine {
    /// Gives one batch of events back whose publisher was lost (X7, F24); one that ends each of
    /// them is dead at the bound (X7b).
    ///
    /// # Errors
    /// The database's.
    pub async fn release_lapsed_events(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let actor = Actor::new("publisher", &engine.settings.worker_name);
            let losses = outbox::Losses {
                max_takeovers: MAX_TAKEOVERS,
                backoff_ms: BACKOFF_MS,
                batch: BATCH,
            };
            let handled = outbox::release_lapsed(&mut db, &actor, losses).await?;
            Ok(Report { handled })
        })
        .await
    }

    /// Removes one batch of events that were told longer ago than consumers replay (X9).
    ///
    /// # Errors
    /// The database's.
    pub async fn purge_told_events(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let days = i32::try_from(engine.settings.event_retention_days).unwrap_or(i32::MAX);
            let mut db = engine.pools.engine().acquire().await?;
            let handled = outbox::purge(&mut db, days, BATCH).await?;
            Ok(Report { handled })
        })
        .await
    }

    /// Topics of waiting events that no destination takes: not wrong, but somebody may have
    /// forgotten them.
    ///
    /// # Errors
    /// The database's.
    pub async fn unrouted_topics(&self) -> Result<Vec<String>, EngineError> {
        let destinations = Destinations::new(&self.settings.destinations)?;
        let mut db = self.pools.engine().acquire().await?;
        aggregate::unrouted(&mut db, destinations.routes(), TOPICS).await
    }
}
