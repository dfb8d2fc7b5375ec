//! The engine's relay at work, as the program drives it: claim, and wait for a hint where there is
//! nothing more.

use std::time::Duration;

use engine::{Engine, outbox::Relay};
use tokio::{sync::watch, task::JoinHandle};

use crate::fault::Fault;

/// A relay that publishes until it is stopped.
pub struct Relaying {
    stop: watch::Sender<bool>,
    task: JoinHandle<Result<(), Fault>>,
}

impl Relaying {
    /// Begins.
    pub fn start(engine: Engine) -> Self {
        let (stop, stopped) = watch::channel(false);
        Self { stop, task: tokio::spawn(publish(engine, stopped)) }
    }

    /// Ends it, its deliveries first.
    pub async fn stop(self) -> Result<(), Fault> {
        self.stop.send_replace(true);
        self.task.await.map_err(|error| Fault::Said(format!("the relay panicked: {error}")))?
    }
}

async fn publish(engine: Engine, mut stop: watch::Receiver<bool>) -> Result<(), Fault> {
    let mut relay = Relay::new(&engine)?;
    while !*stop.borrow() {
        if !relay.claim_some().await? {
            tokio::select! {
                () = relay.woken() => {}
                _ = stop.wait_for(|stop| *stop) => {}
            }
        }
    }
    if tokio::time::timeout(Duration::from_secs(30), relay.drain()).await.is_err() {
        return Err(Fault::Said("deliveries did not end within 30 seconds".into()));
    }
    Ok(())
}
