//! The worker of this process: claims and carries out queued operations until the stop, then lets its
//! calls end. Beats go on till then; what does not end in time becomes unknown, never lost (O10).

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use engine::{Engine, EngineError, background::Worker};
use tokio::sync::watch;

use super::{
    board::Board,
    driver::{LONGEST_PAUSE, longer, rest},
};
use crate::refusal::chain;

/// How the worker is called among the tasks.
const NAME: &str = "carry out operations";
/// Operations that this process carries out at a time.
const WORKERS: usize = 4;
/// How long a worker that found nothing rests.
const EVERY: Duration = Duration::from_millis(500);

/// The worker, begun again after a panic.
pub(super) async fn keep_working(
    engine: Engine,
    board: Arc<Board>,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) {
    while !*stop.borrow() {
        match tokio::spawn(work(engine.clone(), Arc::clone(&board), stop.clone(), drain)).await {
            Ok(Ok(())) => return,
            Ok(Err(error)) => tracing::error!(error = chain(&error), "the worker does not start"),
            Err(error) => tracing::error!(%error, "the worker panicked"),
        }
        rest(&mut stop, LONGEST_PAUSE).await;
    }
}

async fn work(
    engine: Engine,
    board: Arc<Board>,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) -> Result<(), EngineError> {
    let mut worker = Worker::new(&engine, WORKERS)?;
    board.watch(worker.load());
    let mut pause = EVERY;
    while !*stop.borrow() {
        let begun = Instant::now();
        let claimed = worker.claim_some().await;
        match &claimed {
            Ok(_) => pause = EVERY,
            Err(error) => {
                tracing::error!(error = chain(error), "no work was claimed");
                pause = longer(pause, EVERY);
            }
        }
        board.ran(NAME, begun.elapsed(), claimed.map_err(|error| error.to_string()));
        rest(&mut stop, pause).await;
    }
    let left = worker.drain(drain).await;
    if left > 0 {
        tracing::warn!(calls = left, "calls did not end in time: their outcomes are unknown now");
    }
    Ok(())
}
