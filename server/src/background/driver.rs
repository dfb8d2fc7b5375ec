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

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering};

    use engine::background::Report;
    use testkit::{TestDatabase, eventually, within};
    use tokio::sync::Semaphore;

    use super::*;
    use crate::config::Config;

    const LIMIT: Duration = Duration::from_secs(30);

    static BROKE: AtomicBool = AtomicBool::new(false);
    /// Keeps later batches from ending before the test has seen what became of the first.
    static SEEN: Semaphore = Semaphore::const_new(0);
    static BREAKS_ONCE: Task = Task {
        name: "break once",
        every: Duration::from_millis(1),
        batch: |_| {
            Box::pin(async {
                assert!(BROKE.swap(true, Ordering::SeqCst), "a batch of the tests");
                let _turn = SEEN.acquire().await.expect("nobody closes it");
                Ok(Report { handled: 0 })
            })
        },
        backlog: None,
    };

    #[tokio::test]
    async fn a_batch_that_panics_costs_itself_and_is_followed_by_the_next() {
        let database = TestDatabase::create().await;
        let settings = [
            ("DATABASE_URL", database.url().as_str()),
            ("ONCEOVER_SEARCH_SECRET", "q8Zk2mWv7Rt4Yx1Lp9Nc5Hs3Jd6Fb0Ga"),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()));
        let config = Config::read(&settings, None).unwrap();
        let engine = Engine::connect(config.engine().unwrap()).await.unwrap();
        let board = Arc::new(Board::default());
        let (stop, stopped) = watch::channel(false);
        let driving = tokio::spawn(drive(&BREAKS_ONCE, engine, Arc::clone(&board), stopped));
        let told = async |failures: i32, error: Option<&str>| {
            let runs = board.fresh();
            runs.iter().any(|run| run.failures == failures && run.last_error.as_deref() == error)
        };
        eventually("it is told", LIMIT, async || told(1, Some("the batch panicked")).await).await;
        SEEN.add_permits(1);
        eventually("the next batch ends well", LIMIT, async || told(0, None).await).await;
        stop.send_replace(true);
        within("the loop ends", LIMIT, driving).await.unwrap();
    }
}
