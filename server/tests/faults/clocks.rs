//! Workers whose clocks are wrong by ten minutes, one ahead and one behind (R18, I16): every lease,
//! pause and date is the database's, so nothing changes.

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

/// Work under two wrong clocks; `None`, and a sentence, where libfaketime is not installed.
///
/// # Panics
/// Where a lease ended early or an invariant does not hold.
pub async fn wrong_clocks(operations: usize) -> Option<Tally> {
    let Some(library) = PLACES.into_iter().find(|path| std::path::Path::new(path).exists()) else {
        say("clocks: NOT RUN, libfaketime is not installed (Debian: apt-get install faketime)");
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
    let (ahead, behind) = (wrong("+10m"), wrong("-10m"));
    for _ in 0..operations {
        scene.queue(&mut rng).await;
    }
    eventually("all is done", LIMIT, async || {
        scene.count("select count(*) from operations where status <> 'succeeded'").await == 0
    })
    .await;
    assert_eq!(
        scene.count("select sum(takeovers)::bigint from operations").await,
        0,
        "no early expiry"
    );
    assert_eq!(ahead.stop(), Some(0));
    assert_eq!(behind.stop(), Some(0));
    scene.quiet().await;
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell("clocks", "");
    Some(tally)
}
