//! R23: a server that was told to stop waits for calls that do not end, and is killed before they do, as
//! an orchestrator does when its patience is over. The next server takes over what it held.

use rand::rngs::StdRng;
use sandbox::providers::Mode;
use testkit::eventually;

use crate::{
    effects::PAST_LEASE,
    invariants::invariants,
    processes::Process,
    report::{Tally, say},
    scene::{LIMIT, Scene},
    seed,
};

/// Calls that hang in each round: as many as a server's worker has under way at once.
const CALLS: i64 = 4;
/// Longer than the test: nobody but the kill ends a server that stops.
const DRAIN: &str = "3600";

const EXECUTING: &str = "select count(*) from operations where status = 'executing'";
/// Those that were killed stay so: nobody wrote their end down.
const STOPPING: &str = "select count(*) from workers where draining and stopped_at is null";

/// Kills so many servers while they stop.
///
/// # Panics
/// Where the next server does not take over, or an invariant does not hold.
pub async fn killed_while_stopping(times: u32) -> Tally {
    let scene = Scene::open("stopping", true).await;
    let mut rng: StdRng = seed::of("stopping");
    let mut cut = 0;
    for kills in 0..times {
        scene.mode(Mode::Hang).await;
        for _ in 0..CALLS {
            scene.queue(&mut rng).await;
        }
        let server = start(&scene);
        eventually("the calls hang", LIMIT, async || scene.count(EXECUTING).await == CALLS).await;
        server.ask_to_stop();
        eventually("it stops and waits", LIMIT, async || {
            scene.count(STOPPING).await == i64::from(kills) + 1
        })
        .await;
        server.kill();
        let held = scene.count(EXECUTING).await;
        assert!(held > 0, "it had ended its calls: there was nothing to kill");
        cut += held;
        scene.providers.clear().await.unwrap();
        let next = start(&scene);
        scene.database.advance_clock(PAST_LEASE).await;
        eventually("the next one takes over", LIMIT, async || scene.count(EXECUTING).await == 0)
            .await;
        assert_eq!(next.stop(), Some(0));
    }
    scene.quiet().await;
    assert_eq!(scene.count("select count(*) from leases").await, 0, "leases are given back");
    let accepted = scene.all_asked().len();
    say(&format!(
        "R23, stopping: {times} servers killed while they stopped, {cut} calls under way"
    ));
    let tally = Tally::of(times.into(), accepted, invariants(&scene).await);
    tally.tell("stopping", "");
    tally
}

/// The program whole: console, API and workers.
fn start(scene: &Scene) -> Process {
    let settings = [("ONCEOVER_ADDR", "127.0.0.1:0"), ("ONCEOVER_DRAIN_SECONDS", DRAIN)];
    scene.process(&["serve"], "ready: ", &settings).0
}
