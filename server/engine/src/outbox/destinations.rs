//! The destinations of this process: which topics go where, by which way, and how many at a time.
//!
//! Each has a bound of its own, so that one that hangs does not take all deliveries (I18).

use std::{collections::HashMap, sync::Arc};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use url::Url;

use super::{
    mail::MailPublisher, nats::NatsPublisher, publish::Publisher, webhook::WebhookPublisher,
};
use crate::{
    error::EngineError,
    settings::Destination,
    store::{
        aggregate::{Rooms, Routes},
        breaker::OpenBreaker,
    },
};

/// Deliveries to one destination at a time.
const AT_A_TIME: usize = 32;
/// How long an event waits whose destination has all its deliveries under way.
const FULL_MS: i64 = 200;
/// The least and the most that an event waits behind an open breaker: a quarter of the outage, so
/// that a long one does not keep a large backlog stirring.
const OPEN_MS: std::ops::RangeInclusive<i64> = 500..=60_000;

/// One destination.
#[derive(Clone)]
pub(super) struct Way {
    pub(super) publisher: Arc<dyn Publisher>,
    permits: Arc<Semaphore>,
}

impl Way {
    /// A place for a delivery that was claimed within the room there is.
    pub(super) fn place(&self) -> Option<OwnedSemaphorePermit> {
        Arc::clone(&self.permits).try_acquire_owned().ok()
    }
}

/// All of them.
pub(super) struct Destinations {
    names: Vec<String>,
    ways: HashMap<String, Way>,
    routes: Routes,
}

impl Destinations {
    pub(super) fn new(configured: &[Destination]) -> Result<Self, EngineError> {
        let mut all = Self { names: Vec::new(), ways: HashMap::new(), routes: Routes::default() };
        for destination in configured {
            let name = &destination.name;
            let publisher = publisher(destination)
                .map_err(|fault| EngineError::Destination(name.clone(), fault))?;
            let permits = Arc::new(Semaphore::new(AT_A_TIME));
            if all.ways.insert(name.clone(), Way { publisher, permits }).is_some() {
                return Err(EngineError::Destination(name.clone(), "it is named twice".into()));
            }
            all.names.push(name.clone());
            let takes_all = [String::new()];
            let topics =
                if destination.topics.is_empty() { &takes_all[..] } else { &destination.topics };
            for topic in topics {
                all.routes.prefixes.push(topic.clone());
                all.routes.destinations.push(name.clone());
                all.routes.tenants.push(destination.tenant.clone().unwrap_or_default());
            }
        }
        Ok(all)
    }

    pub(super) const fn routes(&self) -> &Routes {
        &self.routes
    }

    pub(super) fn names(&self) -> &[String] {
        &self.names
    }

    pub(super) fn way(&self, name: &str) -> Option<&Way> {
        self.ways.get(name)
    }

    /// How many events may go where: none behind an open breaker, one where this process holds
    /// its probe.
    pub(super) fn rooms(&self, open: &[OpenBreaker], probing: &[String]) -> Rooms {
        let mut rooms = Rooms::default();
        for name in &self.names {
            let free = self.ways.get(name).map_or(0, |way| way.permits.available_permits());
            let free = i64::try_from(free).unwrap_or(0);
            let (room, wait) = match open.iter().find(|breaker| breaker.destination == *name) {
                None => (free, FULL_MS),
                Some(breaker) => {
                    let wait = breaker.probe_in_ms.max(breaker.open_for_ms / 4);
                    let room = i64::from(probing.contains(name)).min(free);
                    (room, wait.clamp(*OPEN_MS.start(), *OPEN_MS.end()))
                }
            };
            rooms.destinations.push(name.clone());
            rooms.rooms.push(room);
            rooms.wait_ms.push(wait);
        }
        rooms
    }
}

/// The way to one destination.
pub(super) fn publisher(destination: &Destination) -> Result<Arc<dyn Publisher>, String> {
    if destination.name.is_empty() || destination.name.len() > 100 {
        return Err("a name has 1 to 100 characters".into());
    }
    let url = Url::parse(&destination.url).map_err(|error| format!("its address: {error}"))?;
    match url.scheme() {
        "nats" | "tls" => Ok(Arc::new(NatsPublisher::new(destination, url)?)),
        "http" | "https" => Ok(Arc::new(WebhookPublisher::new(destination, url)?)),
        "smtp" | "smtps" => Ok(Arc::new(MailPublisher::new(destination, &url)?)),
        _ => Err("its address is neither nats://, tls://, https://, http:// nor smtp://".into()),
    }
}
