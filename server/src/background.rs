//! The list of background tasks, and the loop that drives each of them.
//!
//! A task is an idempotent function of the engine that handles one bounded batch and says how
//! many rows that was; here it gets its timer and its stop. A batch that has begun is never
//! dropped: a cancelled `begin()` would poison its connection (F4), so the stop is only looked
//! for between batches.

use std::{future::Future, pin::Pin, time::Duration};

use engine::{
    Engine, EngineError,
    background::{Report, Worker},
    outbox::Relay,
};
use tokio::{sync::watch, task::JoinSet, time};

use crate::{refusal::chain, shutdown::stopped};

/// The longest pause after faults in a row.
const LONGEST_PAUSE: Duration = Duration::from_secs(30);

type Batch = Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>;

/// One background task.
struct Task {
    name: &'static str,
    /// How long it rests after a batch that found nothing.
    every: Duration,
    batch: fn(Engine) -> Batch,
}

/// Every periodic task there is.
const TASKS: [Task; 5] = [
    Task {
        name: "take over expired leases",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.take_over_expired().await }),
    },
    Task {
        name: "reconcile unknown outcomes",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.reconcile_due().await }),
    },
    Task {
        name: "advance workflows",
        every: Duration::from_millis(500),
        batch: |engine| Box::pin(async move { engine.advance_workflows().await }),
    },
    Task {
        name: "block workflows without their version",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.block_unserved_workflows().await }),
    },
    Task {
        name: "expire old operations",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.expire_due().await }),
    },
    Task {
        name: "release events of lost publishers",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.release_lapsed_events().await }),
    },
    Task {
        name: "purge told events",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.purge_told_events().await }),
    },
];

/// Operations that this process carries out at a time.
const WORKERS: usize = 4;
/// How long a worker that found nothing rests.
const WORK_EVERY: Duration = Duration::from_millis(500);
/// How long calls under way may take once the program stops; beyond, their leases tell.
const DRAIN: Duration = Duration::from_secs(20);

/// Runs every task until the stop.
pub async fn run(engine: Engine, stop: watch::Receiver<bool>) {
    let mut loops = JoinSet::new();
    for task in TASKS {
        loops.spawn(drive(task, engine.clone(), stop.clone()));
    }
    loops.spawn(keep_working(engine.clone(), stop.clone()));
    loops.spawn(keep_publishing(engine, stop));
    while let Some(ended) = loops.join_next().await {
        if let Err(error) = ended {
            tracing::error!(%error, "a background loop ended early");
        }
    }
}

/// The worker, begun again after a panic.
async fn keep_working(engine: Engine, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        match tokio::spawn(work(engine.clone(), stop.clone())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(error = chain(&error), "the worker does not start"),
            Err(error) => tracing::error!(%error, "the worker panicked"),
        }
        rest(&mut stop, LONGEST_PAUSE).await;
    }
}

async fn work(engine: Engine, mut stop: watch::Receiver<bool>) -> Result<(), EngineError> {
    let mut worker = Worker::new(&engine, WORKERS)?;
    let mut pause = WORK_EVERY;
    while !*stop.borrow() {
        match worker.claim_some().await {
            Ok(_) => pause = WORK_EVERY,
            Err(error) => {
                tracing::error!(error = chain(&error), "no work was claimed");
                pause = longer(pause, WORK_EVERY);
            }
        }
        rest(&mut stop, pause).await;
    }
    if time::timeout(DRAIN, worker.drain()).await.is_err() {
        tracing::warn!("calls were left under way; their leases run out");
    }
    Ok(())
}

/// The publisher, begun again after a panic.
async fn keep_publishing(engine: Engine, mut stop: watch::Receiver<bool>) {
    while !*stop.borrow() {
        match tokio::spawn(publish(engine.clone(), stop.clone())).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(error = chain(&error), "no event is published"),
            Err(error) => tracing::error!(%error, "the publisher panicked"),
        }
        rest(&mut stop, LONGEST_PAUSE).await;
    }
}

async fn publish(engine: Engine, mut stop: watch::Receiver<bool>) -> Result<(), EngineError> {
    let mut relay = Relay::new(&engine)?;
    let mut pause = WORK_EVERY;
    while !*stop.borrow() {
        match relay.claim_some().await {
            Ok(true) => pause = WORK_EVERY,
            Ok(false) => {
                pause = WORK_EVERY;
                tokio::select! {
                    () = relay.woken() => {}
                    () = stopped(&mut stop) => {}
                }
            }
            Err(error) => {
                tracing::error!(error = chain(&error), "no event was claimed");
                pause = longer(pause, WORK_EVERY);
                rest(&mut stop, pause).await;
            }
        }
    }
    if time::timeout(DRAIN, relay.drain()).await.is_err() {
        tracing::warn!("deliveries were left under way; their leases run out");
    }
    Ok(())
}

async fn rest(stop: &mut watch::Receiver<bool>, pause: Duration) {
    tokio::select! {
        () = time::sleep(pause) => {}
        () = stopped(stop) => {}
    }
}

async fn drive(task: Task, engine: Engine, mut stop: watch::Receiver<bool>) {
    let mut pause = task.every;
    while !*stop.borrow() {
        // In a task of its own, so that a panic costs one batch and not the loop (R22).
        match tokio::spawn((task.batch)(engine.clone())).await {
            Ok(Ok(report)) => {
                pause = if report.handled > 0 { Duration::ZERO } else { task.every };
            }
            Ok(Err(error)) => {
                tracing::error!(
                    task = task.name,
                    error = chain(&error),
                    "a background batch failed"
                );
                pause = longer(pause, task.every);
            }
            Err(error) => {
                tracing::error!(task = task.name, %error, "a background batch panicked");
                pause = longer(pause, task.every);
            }
        }
        if !pause.is_zero() {
            rest(&mut stop, pause).await;
        }
    }
}

fn longer(pause: Duration, every: Duration) -> Duration {
    (pause.max(every) * 2).min(LONGEST_PAUSE)
}
