//! The sandbox's consumer of events beside a scene: what it took, in order, is the oracle of the
//! outbox.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    sync::Mutex,
    time::Duration,
};

use engine::Destination;
use sandbox::{
    client::ConsumerControl,
    consumer::{self, Config},
};
use serde_json::{Map, Value};
use tokio::sync::oneshot;

use crate::{
    invariants::Violation,
    scene::{SECRET, Scene},
};

/// The suite moves the database's clock by days, and events are signed by it.
const TOLERANCE: Duration = Duration::from_hours(24 * 3_650);

/// An event that was taken.
struct Taken {
    id: String,
    /// The tenant's, with its name before it.
    aggregate: String,
    sequence: u64,
}

pub struct Consumer {
    control: ConsumerControl,
    /// What came by another way, before everything that comes here.
    elsewhere: Mutex<Vec<Taken>>,
    /// Stops it when dropped.
    _stop: oneshot::Sender<()>,
}

impl Consumer {
    /// Starts it with its ledger below `folder`.
    pub async fn start(folder: &Path) -> Self {
        let config = Config::new(folder.join("consumer"), SECRET.into());
        let consumer =
            consumer::Consumer::bind(Config { tolerance: TOLERANCE, ..config }).await.unwrap();
        let control = ConsumerControl::new(&consumer.url()).unwrap();
        let (stop, stopped) = oneshot::channel();
        tokio::spawn(consumer.run(async {
            let _ = stopped.await;
        }));
        Self { control, elsewhere: Mutex::default(), _stop: stop }
    }

    /// What a process is told so that it publishes here.
    pub fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("ONCEOVER_DESTINATIONS", format!("consumer={}", self.control.events_url())),
            ("ONCEOVER_DESTINATION_SECRETS", format!("consumer={SECRET}")),
            ("ONCEOVER_PRIVATE_DESTINATIONS", "consumer".into()),
        ]
    }

    /// The same, as an engine is told.
    pub fn destination(&self) -> Destination {
        Destination {
            name: "consumer".into(),
            url: self.control.events_url(),
            topics: Vec::new(),
            secret: Some(SECRET.into()),
            allow_private: true,
            tenant: None,
        }
    }

    /// Takes an event that came by another way, in its order; answers with its id.
    pub fn take(&self, body: &[u8]) -> Option<String> {
        let event = serde_json::from_slice::<Value>(body).ok()?;
        let text = |name: &str| Some(event.get(name)?.as_str()?.to_owned());
        let taken = Taken {
            id: text("id")?,
            aggregate: text("partitionkey")?,
            sequence: text("sequence")?.parse().ok()?,
        };
        let id = taken.id.clone();
        self.elsewhere.lock().unwrap().push(taken);
        Some(id)
    }

    async fn ledger(&self) -> Vec<Map<String, Value>> {
        self.control.ledger(&[]).await.unwrap()
    }

    /// How often something came again.
    pub async fn repeats(&self) -> u64 {
        self.ledger().await.iter().map(|taken| taken["deliveries"].as_u64().unwrap() - 1).sum()
    }

    /// I11: every event was taken, once, and none before one that stands before it in its
    /// aggregate.
    pub async fn judge(&self, scene: &Scene, found: &mut Vec<Violation>) {
        let stored: Vec<(String, String)> = sqlx::query_as("select id::text, status from outbox")
            .fetch_all(scene.database.owner_pool())
            .await
            .unwrap();
        let text = |value: &Value| value.as_str().unwrap().to_owned();
        let mut all = std::mem::take(&mut *self.elsewhere.lock().unwrap());
        all.extend(self.ledger().await.iter().map(|taken| Taken {
            id: text(&taken["id"]),
            aggregate: format!("{}/{}", text(&taken["tenant"]), text(&taken["aggregate"])),
            sequence: taken["sequence"].as_u64().unwrap(),
        }));
        let ids: HashSet<_> = all.iter().map(|taken| taken.id.as_str()).collect();
        if ids.len() != all.len() {
            let what = format!("{} events stand in {} entries", ids.len(), all.len());
            found.push(Violation { invariant: "I11 one effect at the consumer", what });
        }
        for (id, status) in stored {
            if status != "published" || !ids.contains(id.as_str()) {
                let what = format!("event {id} is {status}, taken: {}", ids.contains(id.as_str()));
                found.push(Violation { invariant: "loss", what });
            }
        }
        let mut heads = HashMap::new();
        for taken in &all {
            let head = heads.entry(taken.aggregate.as_str()).or_insert(0);
            if taken.sequence != *head + 1 {
                let what = format!("{} of {} came after {head}", taken.id, taken.aggregate);
                found.push(Violation { invariant: "I11 no inversion or gap", what });
            }
            *head = taken.sequence;
        }
    }
}
