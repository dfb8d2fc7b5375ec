//! The loop that drives one task. A batch that has begun is never dropped: a cancelled `begin()`
//! would poison its connection (F4), so the stop is only looked for between batches.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use engine::Engine;
use tokio::{sync::watch, time};

use super::{Task, Waiting, board::Board};
use crate::{refusal::chain, shutdown::stopped};

/// The longest pause after faults in a row.
pub(super) const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// Between two looks at what waits for a task.
const LOOK_EVERY: Duration = Duration::from_secs(15);

/// Runs a task until the stop.
pub(super) async fn drive(
    task: &'static Task,
    engine: Engine,
    board: Arc<Board>,
    mut stop: watch::Receiver<bool>,
) {
    let mut pause = task.every;
    let mut looked: Option<Instant> = None;
    while !*stop.borrow() {
        let begun = Instant::now();
        // In a task of its own, so that a panic costs one batch and not the loop (R22).
        let result = match tokio::spawn((task.batch)(engine.clone())).await {
            Ok(Ok(report)) => {
                pause = if report.handled > 0 { Duration::ZERO } else { task.every };
                Ok(report)
            }
            Ok(Err(error)) => {
                tracing::error!(
                    task = task.name,
                    error = chain(&error),
                    "a background batch failed"
                );
                pause = longer(pause, task.every);
                Err(error.to_string())
            }
            Err(error) => {
                tracing::error!(task = task.name, %error, "a background batch panicked");
                pause = longer(pause, task.every);
                Err("the batch panicked".to_owned())
            }
        };
        board.ran(task.name, begun.elapsed(), result);
        if let Some(backlog) = task.backlog {
            count(&engine, &board, task.name, backlog, &mut looked).await;
        }
        if !pause.is_zero() {
            rest(&mut stop, pause).await;
        }
    }
}

/// Counts what waits for a task, where it was not looked at lately.
pub(super) async fn count(
    engine: &Engine,
    board: &Board,
    task: &'static str,
    backlog: fn(Engine) -> Waiting,
    looked: &mut Option<Instant>,
) {
    if looked.is_some_and(|at| at.elapsed() < LOOK_EVERY) {
        return;
    }
    *looked = Some(Instant::now());
    match backlog(engine.clone()).await {
        Ok(backlog) => board.waits(task, backlog),
        Err(error) => tracing::warn!(task, error = chain(&error), "its queue was not counted"),
    }
}

/// Waits for the pause or the stop.
pub(super) async fn rest(stop: &mut watch::Receiver<bool>, pause: Duration) {
    tokio::select! {
        () = time::sleep(pause) => {}
        () = stopped(stop) => {}
    }
}

/// The pause after another fault.
pub(super) fn longer(pause: Duration, every: Duration) -> Duration {
    (pause.max(every) * 2).min(LONGEST_PAUSE.max(every))
}
