//! How often a final answer is given again, for the people who look at the key: counted in this process
//! and written once a second.
//!
//! A replay itself writes nothing, so the count is on no path that waits for it, and a key that a broken
//! client sends a thousand times a second is one row a second. What a killed process had not written yet
//! is not counted: the number is *at least*.

use std::{collections::HashMap, time::Duration};

use sqlx::PgPool;
use tokio::{
    sync::mpsc::{Receiver, Sender, channel},
    time,
};

use crate::{
    error::EngineError,
    store::{Target, replay},
};

/// How long replays are gathered before they are written.
const GATHER: Duration = Duration::from_secs(1);
/// Replays that wait to be gathered; beyond them, they are not counted.
const WAITING: usize = 4_096;

/// Where replays are told; cloning shares it. The task that writes them ends with the last handle.
#[derive(Clone)]
pub(crate) struct Replays(Sender<Target>);

impl Replays {
    /// Starts the task.
    pub(crate) fn start(pool: PgPool) -> Self {
        let (told, waiting) = channel(WAITING);
        tokio::spawn(write(pool, waiting));
        Self(told)
    }

    /// Says that the answer of an operation was given again.
    pub(crate) fn count(&self, target: Target) {
        let _ = self.0.try_send(target);
    }
}

async fn write(pool: PgPool, mut told: Receiver<Target>) {
    while let Some(first) = told.recv().await {
        time::sleep(GATHER).await;
        let mut counts = HashMap::from([(first, 1)]);
        while let Ok(next) = told.try_recv() {
            *counts.entry(next).or_default() += 1;
        }
        let counts: Vec<_> = counts.into_iter().collect();
        let written: Result<(), EngineError> = async {
            let mut db = pool.acquire().await?;
            replay::add(&mut db, &counts).await
        }
        .await;
        if let Err(error) = written {
            tracing::warn!(error = ?error, operations = counts.len(), "replays were not counted");
        }
    }
}
