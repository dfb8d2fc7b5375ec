//! Telling: every event arrives, in order within its aggregate, whatever happens to publishers,
//! brokers and receivers (I11, F24 to F28).

mod breakers;
mod broker;
mod crashes;
mod machine;
mod order;
mod plans;
mod poison;
pub mod receiver;
pub mod staff;
mod wake;
mod webhook;

use std::time::Duration;

use engine::{Destination, Engine, Settings, outbox::Relay, store::outbox};
use sqlx::postgres::PgConnection;
use testkit::{eventually, within};
use tokio::{sync::watch, task::JoinHandle};

use crate::fixture::{Fixture, settings};

/// Long enough for any of these on a busy machine; none waits for it to pass.
pub const LIMIT: Duration = Duration::from_secs(60);
/// Past every lease of a publisher.
pub const LEASE: Duration = Duration::from_secs(31);

/// A destination on this machine that takes all topics.
pub fn to(url: &str) -> Destination {
    Destination {
        name: "main".into(),
        url: url.into(),
        topics: Vec::new(),
        secret: None,
        allow_private: true,
        tenant: None,
    }
}

/// Another engine on the same database, as a further process would have it.
pub async fn engine_to(fixture: &Fixture, destinations: Vec<Destination>) -> Engine {
    Engine::connect(Settings { destinations, ..settings(&fixture.db) }).await.unwrap()
}

pub async fn relay_to(fixture: &Fixture, destinations: Vec<Destination>) -> Relay {
    Relay::new(&engine_to(fixture, destinations).await).unwrap()
}

/// One round: what can be claimed now is claimed, delivered and settled.
pub async fn round(relay: &mut Relay) {
    relay.claim_some().await.unwrap();
    relay.drain().await;
}

/// Rounds until nothing waits that could go.
pub async fn rounds(relay: &mut Relay, fixture: &Fixture) {
    eventually("nothing waits any more", LIMIT, async || {
        round(relay).await;
        fixture
            .count("select count(*) from aggregates where not blocked and head_seq < next_seq and next_at <= onceover_now()")
            .await
            == 0
    })
    .await;
}

/// Writes one event, as a transaction of a business change would.
pub async fn tell(fixture: &Fixture, aggregate: &str, topic: &str) {
    let mut db = fixture.pool().acquire().await.unwrap();
    tell_in(&mut db, fixture, aggregate, topic).await;
}

pub async fn tell_in(db: &mut PgConnection, fixture: &Fixture, aggregate: &str, topic: &str) {
    let tenant = fixture.service.tenant_id();
    outbox::add(db, tenant, aggregate, topic, br#"{"told":true}"#, None).await.unwrap();
}

/// How many events stand in a state.
pub async fn standing(fixture: &Fixture, status: &str) -> i64 {
    sqlx::query_scalar("select count(*) from outbox where status = $1")
        .bind(status)
        .fetch_one(fixture.pool())
        .await
        .unwrap()
}

/// A relay that runs as the server runs it, until it is stopped.
pub struct Running {
    stop: watch::Sender<bool>,
    task: JoinHandle<()>,
}

impl Running {
    pub fn start(mut relay: Relay) -> Self {
        let (stop, mut stopped) = watch::channel(false);
        let task = tokio::spawn(async move {
            while !*stopped.borrow() {
                if !relay.claim_some().await.unwrap_or(false) {
                    tokio::select! {
                        () = relay.woken() => {}
                        _ = stopped.changed() => {}
                    }
                }
            }
            relay.drain().await;
        });
        Self { stop, task }
    }

    pub async fn stop(self) {
        self.stop.send_replace(true);
        within("the relay ends", LIMIT, self.task).await.unwrap();
    }
}
