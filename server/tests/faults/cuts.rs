//! Connections that are cut, reset, delayed and refused between a worker and its database, and
//! between a worker and its provider (R04, F05, F06, F09): unknown stays unknown until proven, and
//! no second call is made under another key.

use std::time::Duration;

use rand::RngExt as _;
use testkit::{Fault, Proxy, Upstream};

use crate::{
    invariants::invariants,
    report::{Tally, say},
    scene::{Scene, endpoints},
    seed,
    waiting::until,
};

/// Where the proxy stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    Provider,
    Database,
}

/// Rounds of trouble with a worker behind the proxy.
///
/// # Panics
/// Where nothing was cut, or an invariant does not hold.
pub async fn cut(way: Way, rounds: u32) -> Tally {
    let name = format!("cut-{way:?}").to_lowercase();
    let scene = Scene::open(&name, true).await;
    let mut rng = seed::of(&name);
    let mut limits = Vec::new();
    let (proxy, worker) = match way {
        Way::Provider => {
            let address = scene.providers.url().trim_start_matches("http://").parse().unwrap();
            let proxy = Proxy::start(Upstream::Tcp(address)).await;
            let through = endpoints(&format!("http://{}", proxy.address()));
            let worker = scene.worker(&[("ONCEOVER_PROVIDERS", &through)]);
            (proxy, worker)
        }
        Way::Database => {
            let (proxy, url) = Proxy::before_database(&scene.database.url()).await;
            let worker = scene.worker(&[("DATABASE_URL", &url)]);
            (proxy, worker)
        }
    };
    for _ in 0..rounds {
        for _ in 0..3 {
            scene.queue(&mut rng).await;
        }
        // A provider's answer is short, a session with the database long.
        let limit = rng.random_range(0..if way == Way::Provider { 400 } else { 4_000 });
        let fault = match rng.random_range(0..5) {
            0 => Fault::CutAfterReply(limit),
            1 => Fault::CutAfterSent(limit),
            2 => Fault::ResetReply,
            3 => Fault::Refuse,
            _ => Fault::Delay(Duration::from_millis(20)),
        };
        limits.push(fault);
        let before = proxy.hurt();
        proxy.set(fault);
        tokio::time::sleep(Duration::from_millis(rng.random_range(100..500))).await;
        if !matches!(fault, Fault::Refuse | Fault::Delay(_)) {
            // However slow the machine is: the worker comes by while the fault is in force.
            until(Duration::from_secs(2), || proxy.hurt() > before).await;
        }
        proxy.set(Fault::Pass);
        tokio::time::sleep(Duration::from_millis(rng.random_range(50..300))).await;
        scene.database.advance_clock(crate::effects::PAST_LEASE).await;
    }
    let hurt = proxy.hurt();
    worker.kill();
    scene.quiet().await;
    say(&format!("{name}: {rounds} rounds, connections hurt {hurt}"));
    let tally = Tally::of(0, scene.all_asked().len(), invariants(&scene).await);
    tally.tell(&name, "");
    assert!(hurt > 0, "nothing was cut: {limits:?}");
    tally
}
