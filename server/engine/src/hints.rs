//! The hint that there may be something to publish: sent after a commit, never inside a business
//! transaction, where one NOTIFY each cost two thirds of the commits (D26).
//!
//! A hint may be lost at any time; publishers poll. Nothing here is a promise.

use std::{sync::Arc, time::Duration};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    task::JoinHandle,
    time,
};

use crate::{database, error::EngineError, settings::Settings};

/// Where hints are sent.
pub const CHANNEL: &str = "onceover_outbox";

/// At most ten a second and process: what commits in between is one hint.
const BETWEEN: Duration = Duration::from_millis(100);
/// How long a listener whose connection failed waits before the next.
const RECONNECT: Duration = Duration::from_secs(1);

/// Where commits are told; cloning shares it.
#[derive(Clone)]
pub(crate) struct Hints {
    committed: Sender<()>,
}

impl Hints {
    /// Starts the task that sends them; it ends with the last handle.
    pub(crate) fn start(settings: Settings) -> Self {
        // Room for one: a hint that is waiting stands for all that commit until it is sent.
        let (committed, waiting) = channel(1);
        tokio::spawn(send(settings, waiting));
        Self { committed }
    }

    /// Says that a transaction was committed.
    pub(crate) fn committed(&self) {
        let _ = self.committed.try_send(());
    }
}

async fn send(settings: Settings, mut waiting: Receiver<()>) {
    let mut connection = None;
    while waiting.recv().await.is_some() {
        let sent: Result<(), EngineError> = async {
            if connection.is_none() {
                connection = Some(database::dedicated(&settings, "onceover hints").await?);
            }
            match &mut connection {
                Some(connection) => database::notify(connection, CHANNEL).await,
                None => Ok(()),
            }
        }
        .await;
        if let Err(error) = sent {
            tracing::debug!(error = ?error, "a hint was not sent; publishers poll");
            connection = None;
        }
        time::sleep(BETWEEN).await;
    }
}

/// A listener that wakes `awake` with each hint, on a connection of its own; stops when dropped.
pub(crate) struct Listener(JoinHandle<()>);

impl Listener {
    pub(crate) fn start(settings: Settings, awake: Arc<Notify>) -> Self {
        Self(tokio::spawn(async move {
            loop {
                if let Err(error) = listen(&settings, &awake).await {
                    tracing::debug!(error = ?error, "hints cannot be heard; the poll goes on");
                }
                time::sleep(RECONNECT).await;
            }
        }))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn listen(settings: &Settings, awake: &Notify) -> Result<(), EngineError> {
    let options: PgConnectOptions = settings.database_url.parse()?;
    let own: PgPool = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(options.application_name("onceover listener"))
        .await?;
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen(CHANNEL).await?;
    // What was written before the subscription stood is looked for once.
    awake.notify_one();
    // `None`: the connection was lost, and with it what was sent meanwhile.
    while listener.try_recv().await?.is_some() {
        awake.notify_one();
    }
    Ok(())
}
