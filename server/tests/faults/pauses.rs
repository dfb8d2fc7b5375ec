//! SIGSTOP at crash points (R05): a worker stands still beyond its lease, others end what it held,
//! and it wakes up: it changes nothing, and what it sends late is the same effect under the same key.

use std::time::Duration;

use crate::{
    invariants::invariants,
    report::{Tally, reached, say},
    scene::Scene,
    seed,
    waiting::until,
};

/// Where: before the last look at the lease, after it, and with the answer in hand.
pub const POINTS: [&str; 3] = ["L2", "P1", "P3"];

/// Pauses at one point, as often as asked.
///
/// # Panics
/// Where it was paused fewer times, or an invariant does not hold.
pub async fn pause_at(point: &'static str, asked: u64) -> Tally {
    let name = format!("pause-{point}");
    let scene = Scene::open(&name, true).await;
    let mut rng = seed::of(&name);
    let report = scene.report(point);
    let order = format!("{point}:nth=every");
    let worker = scene.worker(&[("PAUSE_AT", &order), ("CRASH_REPORT", &report)]);
    let mut missed = 0;
    while reached(&report, point).1 < asked {
        scene.queue(&mut rng).await;
        let before = reached(&report, point).1;
        if !until(Duration::from_secs(5), || worker.is_stopped()).await {
            missed += 1;
            assert!(missed < 10, "{point}: the worker does not come by");
            continue;
        }
        // All that it held is ended by others while it stands.
        scene.settle().await;
        worker.wake();
        until(Duration::from_secs(2), || {
            !worker.is_stopped() || reached(&report, point).1 > before.max(1)
        })
        .await;
    }
    // Its last words are heard before it is judged.
    while worker.is_stopped() {
        worker.wake();
        until(Duration::from_millis(300), || worker.is_stopped()).await;
    }
    worker.stop();
    scene.quiet().await;
    let (_, paused) = reached(&report, point);
    let late = scene.count("select count(*) from evidence where source = 'worker'").await;
    say(&format!("{name}: paused {paused}, late words kept {late}"));
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell(&name, "");
    assert!(paused >= asked);
    assert!(late > 0, "{point}: nothing came late: the pauses were none");
    tally
}
