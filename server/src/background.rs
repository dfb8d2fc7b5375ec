//! The list of background tasks.
//!
//! A task is an idempotent function of the engine that handles one bounded batch and says how
//! many rows that was; the driver gives it its timer and its stop, and notes what it did for
//! people to see (docs/reliability.md, *Background*).

mod board;
mod driver;
mod publish;
mod sources;
mod work;

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use engine::{
    Engine, EngineError,
    background::{Backlog, LAPSED_EVERY, Queue, Report},
};
use tokio::{sync::watch, task::JoinSet, time};

use board::Board;

type Batch = Pin<Box<dyn Future<Output = Result<Report, EngineError>> + Send>>;
type Waiting = Pin<Box<dyn Future<Output = Result<Backlog, EngineError>> + Send>>;

/// One background task.
struct Task {
    name: &'static str,
    /// How long it rests after a batch that found nothing.
    every: Duration,
    batch: fn(Engine) -> Batch,
    /// What waits for it; `None` for a task without a queue.
    backlog: Option<fn(Engine) -> Waiting>,
}

/// Every periodic task there is.
const TASKS: &[Task] = &[
    Task {
        name: "take over expired leases",
        every: LAPSED_EVERY,
        batch: |engine| Box::pin(async move { engine.take_over_expired().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::LapsedCalls).await })),
    },
    Task {
        name: "reconcile unknown outcomes",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.reconcile_due().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Unknown).await })),
    },
    Task {
        name: "advance workflows",
        every: Duration::from_millis(500),
        batch: |engine| Box::pin(async move { engine.advance_workflows().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Workflows).await })),
    },
    Task {
        name: "block workflows without their version",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.block_unserved_workflows().await }),
        backlog: None,
    },
    Task {
        name: "unwind what is to be undone",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.unwind_due().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Undoing).await })),
    },
    Task {
        name: "expire old operations",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.expire_due().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Expiry).await })),
    },
    Task {
        name: "remove old tombstones",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.purge_due().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Purge).await })),
    },
    Task {
        name: "forget dead processes",
        every: Duration::from_secs(600),
        batch: |engine| Box::pin(async move { engine.forget_dead_workers().await }),
        backlog: None,
    },
    Task {
        name: "release events of lost publishers",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.release_lapsed_events().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::LapsedEvents).await })),
    },
    Task {
        name: "purge told events",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.purge_told_events().await }),
        backlog: None,
    },
    Task {
        name: "shrink the inbox",
        every: Duration::from_secs(60),
        batch: |engine| Box::pin(async move { engine.shrink_inbox().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Inbox).await })),
    },
    Task {
        name: "advance bulks",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.advance_bulks().await }),
        backlog: None,
    },
    Task {
        name: "expire bulks that nobody started",
        every: Duration::from_secs(10),
        batch: |engine| Box::pin(async move { engine.expire_bulks().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Bulks).await })),
    },
    Task {
        name: "count outcomes",
        every: Duration::from_secs(1),
        batch: |engine| Box::pin(async move { engine.fold_outcomes().await }),
        backlog: None,
    },
    Task {
        name: "check audit chains",
        every: Duration::from_secs(5),
        batch: |engine| Box::pin(async move { engine.advance_audit_checks().await }),
        backlog: None,
    },
    Task {
        name: "anchor audit heads",
        every: Duration::from_secs(30),
        batch: |engine| Box::pin(async move { engine.anchor_due().await }),
        backlog: None,
    },
    Task {
        name: "expire requests for approval",
        every: Duration::from_secs(10),
        batch: |engine| Box::pin(async move { engine.expire_approvals().await }),
        backlog: Some(|engine| Box::pin(async move { engine.backlog(Queue::Requests).await })),
    },
];

/// How long the tasks' last batches and writes may take beyond the drain.
const LAST_WORDS: Duration = Duration::from_secs(10);

/// Runs every task until the stop, then lets calls under way end for at most `drain`.
pub async fn run(engine: Engine, stop: watch::Receiver<bool>, drain: Duration) {
    let board = Arc::new(Board::default());
    let (ended, end) = watch::channel(false);
    let reporter =
        tokio::spawn(board::report(engine.clone(), Arc::clone(&board), stop.clone(), end));
    let mut loops = JoinSet::new();
    for task in TASKS {
        loops.spawn(driver::drive(task, engine.clone(), Arc::clone(&board), stop.clone()));
    }
    for source in &engine.settings().inbox_sources {
        loops.spawn(sources::keep_consuming(engine.clone(), source.clone(), stop.clone()));
    }
    let (publisher, publishing) = (engine.clone(), Arc::clone(&board));
    loops.spawn(publish::keep_publishing(publisher, publishing, stop.clone(), drain));
    loops.spawn(work::keep_working(engine, Arc::clone(&board), stop.clone(), drain));
    let over = async {
        while let Some(ended) = loops.join_next().await {
            if let Err(error) = ended {
                tracing::error!(%error, "a background loop ended early");
            }
        }
    };
    let limit = async {
        crate::shutdown::stopped(&mut stop.clone()).await;
        time::sleep(drain + LAST_WORDS).await;
    };
    tokio::select! {
        () = over => {}
        () = limit => tracing::warn!("a background batch did not end in time; what it held comes back by its lease"),
    }
    ended.send_replace(true);
    if time::timeout(LAST_WORDS, reporter).await.is_err() {
        tracing::warn!("the last beat was not written in time");
    }
}
