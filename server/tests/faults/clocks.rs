//! Workers whose clocks are wrong, some ahead, some behind and one that runs too fast (R18, I16): every
//! lease, pause and date is the database's, so nothing changes.

use testkit::eventually;

use crate::{
    invariants::invariants,
    report::{Tally, say},
    scene::{LIMIT, Scene},
    seed,
};

/// Where Debian, Fedora and Homebrew put the library.
const PLACES: [&str; 4] = [
    "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1",
    "/usr/lib64/faketime/libfaketime.so.1",
    "/usr/lib/faketime/libfaketime.so.1",
];

const AT_WORK: &str =
    "select count(distinct actor) from operation_events where actor_kind = 'worker'";

/// An hour either way, and three seconds too many in each minute.
pub const FEW: [&str; 3] = ["+1h", "-1h", "+0 x1.05"];
/// Ten minutes either way, too.
pub const ALL: [&str; 5] = ["+1h", "-1h", "+0 x1.05", "+10m", "-10m"];

/// Work under wrong clocks, a worker for each; `None`, and a sentence, where libfaketime is not installed.
///
/// # Panics
/// Where a lease ended early or an invariant does not hold.
pub async fn wrong_clocks(offsets: &[&str], operations: usize) -> Option<Tally> {
    let Some(library) = PLACES.into_iter().find(|path| std::path::Path::new(path).exists()) else {
        say("R18: NOT RUN: libfaketime is not installed (Debian: apt-get install faketime)");
        return None;
    };
    let scene = Scene::open("clocks", true).await;
    let mut rng = seed::of("clocks");
    let wrong = |offset| {
        scene.worker(&[
            ("LD_PRELOAD", library),
            ("FAKETIME", offset),
            ("FAKETIME_DONT_FAKE_MONOTONIC", "1"),
        ])
    };
    let workers: Vec<_> = offsets.iter().copied().map(wrong).collect();
    for _ in 0..operations {
        scene.queue(&mut rng).await;
    }
    eventually("each of them works", LIMIT, async || {
        scene.queue(&mut rng).await;
        scene.count(AT_WORK).await == offsets.len() as i64
    })
    .await;
    eventually("all is done", LIMIT, async || {
        scene.count("select count(*) from operations where status <> 'succeeded'").await == 0
    })
    .await;
    assert_eq!(
        scene.count("select sum(takeovers)::bigint from operations").await,
        0,
        "no early expiry"
    );
    for worker in workers {
        assert_eq!(worker.stop(), Some(0));
    }
    scene.quiet().await;
    say(&format!("R18: {} wrong clocks ({}), no early expiry", offsets.len(), offsets.join(", ")));
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell("clocks", "");
    Some(tally)
}
