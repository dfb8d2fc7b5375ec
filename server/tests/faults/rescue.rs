//! How long work of the dead waits, in real time (R07): leases are short here, and nobody moves the
//! clock.

use std::time::Duration;

use engine::identity::Admin;
use testkit::eventually;

use crate::{
    effects::Effect,
    invariants::invariants,
    report::{Tally, reached, say},
    scene::Scene,
    seed,
    waiting::ended,
};

const LEASE_MS: i64 = 3_000;

/// Kills workers that hold calls; answers with the longest rescue in leases.
///
/// # Panics
/// Where it took longer than two leases.
pub async fn rescue(kills: u64) -> (Tally, String) {
    let scene = Scene::open("rescue", true).await;
    let mut admin = Admin::connect(&scene.database.url()).await.unwrap();
    let tenant = admin.ensure_tenant("acme", "Acme").await.unwrap();
    for effect in Effect::ALL {
        let mut policy = effect.policy(true);
        policy.lease_ms = LEASE_MS;
        policy.call_deadline_ms = 1_000;
        admin.put_kind(tenant, &policy).await.unwrap();
    }
    let mut rng = seed::of("rescue");
    let report = scene.report("P3");
    for _ in 0..kills {
        scene.queue(&mut rng).await;
        let mut worker = scene.worker(&[("CRASH_AT", "P3:nth=1"), ("CRASH_REPORT", &report)]);
        assert!(ended(&mut worker, Duration::from_secs(10)).await);
    }
    let _alive = scene.worker(&[]);
    eventually("all is rescued", Duration::from_secs(30), async || {
        scene.count("select count(*) from operations where status <> 'succeeded'").await == 0
    })
    .await;
    // From the last sign of life of the holder, which a lease follows, to the take-over.
    let longest: f64 = sqlx::query_scalar(
        "select coalesce(max(extract(epoch from e.at - (e.detail->>'lease_until')::timestamptz)), 0)::float8
         from operation_events e where e.move = 'O11'",
    )
    .fetch_one(scene.database.owner_pool())
    .await
    .unwrap();
    let leases = 1.0 + longest * 1_000.0 / LEASE_MS as f64;
    let (_, killed) = reached(&report, "P3");
    say(&format!("rescue: longest {leases:.2} leases of {LEASE_MS} ms"));
    scene.quiet().await;
    let tally = Tally::of(killed, scene.all_asked().len(), invariants(&scene).await);
    tally.tell("rescue", "");
    assert!(leases <= 2.0, "{leases} leases");
    (tally, format!("{leases:.2} leases"))
}
