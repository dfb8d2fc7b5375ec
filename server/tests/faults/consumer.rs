//! The sandbox's consumer of events beside a scene: what it took, in order, is the oracle of the
//! outbox.

use std::{
    collections::{HashMap, HashSet},
    path::Path,
    time::Duration,
};

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

pub struct Consumer {
    control: ConsumerControl,
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
        Self { control, _stop: stop }
    }

    /// What a process is told so that it publishes here.
    pub fn settings(&self) -> [(&'static str, String); 3] {
        [
            ("ONCEOVER_DESTINATIONS", format!("consumer={}", self.control.events_url())),
            ("ONCEOVER_DESTINATION_SECRETS", format!("consumer={SECRET}")),
            ("ONCEOVER_PRIVATE_DESTINATIONS", "consumer".into()),
        ]
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
        let ledger = self.ledger().await;
        let ids: HashSet<_> = ledger.iter().filter_map(|taken| taken["id"].as_str()).collect();
        if ids.len() != ledger.len() {
            let what = format!("{} events stand in {} entries", ids.len(), ledger.len());
            found.push(Violation { invariant: "I11 one effect at the consumer", what });
        }
        for (id, status) in stored {
            if status != "published" || !ids.contains(id.as_str()) {
                let what = format!("event {id} is {status}, taken: {}", ids.contains(id.as_str()));
                found.push(Violation { invariant: "loss", what });
            }
        }
        let mut heads = HashMap::new();
        for taken in &ledger {
            let aggregate = format!("{}/{}", taken["tenant"], taken["aggregate"]);
            let head = heads.entry(aggregate).or_insert(0);
            let sequence = taken["sequence"].as_u64().unwrap();
            if sequence != *head + 1 {
                let what = format!("{} of {} came after {head}", taken["id"], taken["aggregate"]);
                found.push(Violation { invariant: "I11 no inversion or gap", what });
            }
            *head = sequence;
        }
    }
}
