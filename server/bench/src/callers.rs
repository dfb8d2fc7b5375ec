//! Callers of the engine in this process, each with one operation at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use engine::Engine;
use tokio::{sync::watch, task::JoinSet};

use crate::{fault::Fault, tenant::Tenant};

/// What they did.
#[derive(Debug, Default)]
pub struct Lived {
    /// Lives per second.
    pub per_second: f64,
    /// What each took, in milliseconds.
    pub took_ms: Vec<f64>,
}

/// Lives by so many callers for a while.
pub async fn lives(
    tenant: &Arc<Tenant>,
    engine: &Engine,
    callers: usize,
    time: Duration,
) -> Result<Lived, Fault> {
    let begun = Instant::now();
    let mut running = JoinSet::new();
    for _ in 0..callers {
        let (tenant, engine) = (Arc::clone(tenant), engine.clone());
        running.spawn(async move {
            let mut took_ms = Vec::new();
            while begun.elapsed() < time {
                let from = Instant::now();
                tenant.life(&engine).await?;
                took_ms.push(from.elapsed().as_secs_f64() * 1e3);
            }
            Ok::<_, Fault>(took_ms)
        });
    }
    let mut took_ms = Vec::new();
    while let Some(ended) = running.join_next().await {
        took_ms.extend(ended.map_err(|error| panicked(&error))??);
    }
    Ok(Lived { per_second: took_ms.len() as f64 / begun.elapsed().as_secs_f64(), took_ms })
}

/// Callers that go on until they are stopped.
pub struct Calling {
    lived: Arc<AtomicU64>,
    stop: watch::Sender<bool>,
    running: JoinSet<Result<(), Fault>>,
}

impl Calling {
    /// Begins.
    pub fn start(tenant: &Arc<Tenant>, engine: &Engine, callers: usize) -> Self {
        let lived = Arc::new(AtomicU64::new(0));
        let (stop, stopped) = watch::channel(false);
        let mut running = JoinSet::new();
        for _ in 0..callers {
            let (tenant, engine) = (Arc::clone(tenant), engine.clone());
            let (lived, stopped) = (Arc::clone(&lived), stopped.clone());
            running.spawn(async move {
                while !*stopped.borrow() {
                    tenant.life(&engine).await?;
                    lived.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            });
        }
        Self { lived, stop, running }
    }

    /// How many lives there have been.
    pub fn lived(&self) -> u64 {
        self.lived.load(Ordering::Relaxed)
    }

    /// Ends them, the lives under way first.
    pub async fn stop(mut self) -> Result<(), Fault> {
        self.stop.send_replace(true);
        while let Some(ended) = self.running.join_next().await {
            ended.map_err(|error| panicked(&error))??;
        }
        Ok(())
    }
}

fn panicked(error: &tokio::task::JoinError) -> Fault {
    Fault::Said(format!("a caller panicked: {error}"))
}
