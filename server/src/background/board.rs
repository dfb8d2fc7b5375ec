//! What the tasks of this process last did, kept in memory and written down by one loop: all of
//! them in one statement every few seconds, so that an empty poll costs no write. The same loop
//! beats for the process.

use std::{
    collections::BTreeMap,
    sync::{Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use engine::{
    Engine,
    background::{Backlog, Load, ProcessBeat, Report, TaskStatus},
};
use tokio::{sync::watch, time};

use crate::{refusal::chain, shutdown::stopped};

/// Between two beats, and between two writes of what the tasks did.
const EVERY: Duration = Duration::from_secs(5);

/// What the tasks last did.
#[derive(Default)]
pub(super) struct Board {
    runs: Mutex<BTreeMap<&'static str, Run>>,
    load: Mutex<Load>,
}

/// The last run of one task.
#[derive(Clone)]
struct Run {
    ended: Instant,
    took: Duration,
    handled: u64,
    error: Option<String>,
    failures: i32,
    backlog: Option<Backlog>,
    /// Not written down yet.
    fresh: bool,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    /// Notes a run; `error` is what its failure is called, without its inner causes.
    pub(super) fn ran(&self, task: &'static str, took: Duration, result: Result<Report, String>) {
        let mut runs = open(&self.runs);
        let before = runs.get(task);
        let run = Run {
            ended: Instant::now(),
            took,
            handled: result.as_ref().map_or(0, |report| report.handled),
            failures: if result.is_ok() { 0 } else { before.map_or(1, |run| run.failures + 1) },
            error: result.err(),
            backlog: before.and_then(|run| run.backlog),
            fresh: true,
        };
        runs.insert(task, run);
    }

    /// Notes what waits for a task.
    pub(super) fn waits(&self, task: &'static str, backlog: Backlog) {
        if let Some(run) = open(&self.runs).get_mut(task) {
            run.backlog = Some(backlog);
        }
    }

    /// Whose calls are counted.
    pub(super) fn watch(&self, load: Load) {
        *open(&self.load) = load;
    }

    /// What has happened since the last write.
    pub(super) fn fresh(&self) -> Vec<TaskStatus> {
        let small = |number: u128| i32::try_from(number).unwrap_or(i32::MAX);
        open(&self.runs)
            .iter_mut()
            .filter_map(|(task, run)| std::mem::take(&mut run.fresh).then_some((task, run)))
            .map(|(task, run)| TaskStatus {
                task,
                ago_ms: i64::try_from(run.ended.elapsed().as_millis()).unwrap_or(i64::MAX),
                took_ms: small(run.took.as_millis()),
                handled: small(run.handled.into()),
                backlog: run.backlog.map(|backlog| small(backlog.waiting.into())),
                backlog_is_more: run.backlog.is_some_and(|backlog| backlog.is_more),
                oldest_at: run.backlog.and_then(|backlog| backlog.oldest_at),
                last_error: run.error.clone(),
                failures: run.failures,
            })
            .collect()
    }
}

/// Beats and writes down until `ended` turns true: a process that drains is seen as such to the
/// last of its calls.
pub(super) async fn report(
    engine: Engine,
    board: std::sync::Arc<Board>,
    mut stop: watch::Receiver<bool>,
    mut ended: watch::Receiver<bool>,
) {
    let mut first = true;
    loop {
        let (draining, last) = (*stop.borrow(), *ended.borrow());
        if let Err(error) = write(&engine, &board, first, draining, last).await {
            tracing::warn!(error = chain(&error), "the state of the background was not written");
        } else {
            first = false;
        }
        if last {
            return;
        }
        tokio::select! {
            () = time::sleep(EVERY) => {}
            () = stopped(&mut stop), if !draining => {}
            () = stopped(&mut ended) => {}
        }
    }
}

async fn write(
    engine: &Engine,
    board: &Board,
    first: bool,
    draining: bool,
    stopped: bool,
) -> Result<(), engine::EngineError> {
    let load = open(&board.load).clone();
    let kinds = load.kinds();
    engine
        .beat(&ProcessBeat {
            first,
            draining,
            stopped,
            busy: load.busy(),
            kinds: &kinds,
            program_version: env!("CARGO_PKG_VERSION"),
        })
        .await?;
    engine.report_tasks(&board.fresh()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hundred_polls_between_two_writes_are_one_row_and_none_without_a_poll() {
        let board = Board::default();
        for _ in 0..100 {
            board.ran("sweep", Duration::from_millis(3), Ok(Report { handled: 0 }));
        }
        assert_eq!(board.fresh().len(), 1);
        assert!(board.fresh().is_empty());
    }

    #[test]
    fn failures_in_a_row_are_counted_until_a_run_without_one() {
        let board = Board::default();
        for _ in 0..3 {
            board.ran("sweep", Duration::ZERO, Err("the database failed".into()));
        }
        let failing = board.fresh();
        assert_eq!(
            (failing[0].failures, failing[0].last_error.as_deref()),
            (3, Some("the database failed"))
        );
        board.waits("sweep", Backlog { waiting: 7, ..Backlog::default() });
        board.ran("sweep", Duration::ZERO, Ok(Report { handled: 2 }));
        let well = board.fresh();
        assert_eq!((well[0].failures, well[0].last_error.as_deref()), (0, None));
        assert_eq!((well[0].handled, well[0].backlog), (2, Some(7)));
    }
}
