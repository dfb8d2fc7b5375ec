//! The database is restarted under load as by a crash (R03, R17): nothing acknowledged is lost, no
//! process ends, nothing happens twice.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use testkit::{TestDatabase, eventually};

use crate::{
    invariants::invariants,
    postgres::Server,
    processes::Process,
    report::{Tally, say},
    scene::{LIMIT, Scene},
    seed,
};

/// Restarts under load, as often as asked.
///
/// # Panics
/// Where an invariant does not hold or a process ended.
pub async fn restart(times: u32) -> Tally {
    let mut server = tokio::task::spawn_blocking(Server::start).await.unwrap();
    let database = TestDatabase::create_at(&server.url()).await;
    let scene = Arc::new(Scene::open_on("restart", true, database).await);
    let mut workers = [scene.worker(&[]), scene.worker(&[]), server_of(&scene)];
    let over = Arc::new(AtomicBool::new(false));
    let load = tokio::spawn(load(scene.clone(), over.clone()));
    let mut outages: Vec<Duration> = Vec::new();
    for _ in 0..times {
        // Some work is accepted and some under way before each cut.
        let before = scene.all_asked().len();
        eventually("the load goes on", LIMIT, async || scene.all_asked().len() >= before + 5).await;
        let begun = Instant::now();
        server = tokio::task::spawn_blocking(move || {
            server.restart();
            server
        })
        .await
        .unwrap();
        let accepted = scene.all_asked().len();
        eventually("service is back", LIMIT, async || scene.all_asked().len() > accepted).await;
        outages.push(begun.elapsed());
    }
    over.store(true, Ordering::Relaxed);
    let refused = load.await.unwrap();
    for worker in &mut workers {
        assert!(!worker.has_ended(), "no process ends with the database");
    }
    for worker in workers {
        assert_eq!(worker.stop(), Some(0));
    }
    scene.quiet().await;
    let accepted = scene.all_asked().len();
    outages.sort_unstable();
    let seconds = |outage: Option<&Duration>| outage.map_or(0.0, Duration::as_secs_f64);
    say(&format!(
        "R17, restart: {times} restarts, 0 of 3 processes ended, accepted {accepted}, told to try again {refused}, \
         outage p50 {:.1} s, longest {:.1} s",
        seconds(outages.get(outages.len() / 2)),
        seconds(outages.last()),
    ));
    let tally = Tally::of(0, accepted, invariants(&scene).await);
    tally.tell("restart", "");
    // The database's folder goes last.
    drop(Arc::into_inner(scene));
    tokio::task::spawn_blocking(move || drop(server)).await.unwrap();
    tally
}

/// Console and API, without workers: it has pools and a listener of its own to lose.
fn server_of(scene: &Scene) -> Process {
    let place = [("ONCEOVER_ADDR", "127.0.0.1:0")];
    scene.process(&["serve", "--no-workers"], "ready: ", &place).0
}

/// Requests one after the other; each that fails is sent again under its key, as a client does.
/// Returns how many were not answered at first.
async fn load(scene: Arc<Scene>, over: Arc<AtomicBool>) -> u64 {
    let mut rng = seed::of("restart");
    let mut refused = 0;
    while !over.load(Ordering::Relaxed) {
        if scene.try_queue(&mut rng).await.is_err() {
            refused += 1;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    refused
}
