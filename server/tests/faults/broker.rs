//! The broker is killed and started again, and its connections are refused, hang, are cut and reset,
//! under load (R09, F24, F25): work goes on meanwhile, and once it is back everything is in its
//! stream, once, in order within each aggregate, and no event has lost an attempt.

use std::{collections::HashSet, time::Duration};

use async_nats::jetstream::{
    self,
    consumer::{AckPolicy, DeliverPolicy, pull},
    stream,
};
use engine::store::outbox;
use futures_util::StreamExt as _;
use rand::{RngExt as _, rngs::StdRng};
use testkit::{Fault, NatsServer, Proxy, Upstream, eventually};

use crate::{
    effects::PAST_LEASE,
    invariants::{Violation, invariants},
    processes::Process,
    report::{Tally, say},
    scene::{LIMIT, Scene},
    seed,
    waiting::until,
};

/// Longer than a scene lasts: what the broker still remembers, it must not hold twice.
const REMEMBERS: Duration = Duration::from_secs(900);
const BEGUN: &str =
    "select count(*) from operations where status in ('succeeded', 'failed_terminal')";

/// Rounds of trouble between two publishers and the broker, and one outage of ten minutes.
///
/// # Panics
/// Where nothing was hurt, or an invariant does not hold.
pub async fn broker(rounds: u32) -> Tally {
    let scene = Scene::open("broker", true).await;
    let mut rng = seed::of("broker");
    let mut server = NatsServer::start().await;
    make_stream(&server).await;
    let address = server.url().trim_start_matches("nats://").parse().unwrap();
    let proxy = Proxy::start(Upstream::Tcp(address)).await;
    let destination = format!("broker=nats://{}/faults", proxy.address());
    let told = [("ONCEOVER_DESTINATIONS", destination.as_str())];
    let mut publishers = [scene.worker(&told), scene.worker(&told)];
    for _ in 0..rounds {
        trouble(&scene, &mut server, &proxy, &mut rng).await;
    }
    outage(&scene, &mut server, &mut rng).await;
    all_told(&scene).await;
    let hurt = proxy.hurt();
    end(&mut publishers);
    for publisher in publishers {
        assert_eq!(publisher.stop(), Some(0));
    }
    let mut found = Vec::new();
    let stored = judge(&scene, &server, &mut found).await;
    scene.quiet().await;
    found.extend(invariants(&scene).await);
    let failed = "select count(*) from outbox_attempts where outcome = 'transport_down'";
    let repeats = "select count(*) from outbox_attempts where outcome = 'duplicate'";
    let (failed, repeats) = (scene.count(failed).await, scene.count(repeats).await);
    say(&format!(
        "broker: {rounds} rounds and an outage, connections hurt {hurt}, deliveries that failed {failed}, \
         events in the stream {stored}, repeats that it dropped {repeats}"
    ));
    let tally = Tally::of(0, scene.all_asked().len(), found);
    tally.tell("broker", "");
    assert!(hurt > 0 && failed > 0, "nothing was hurt");
    tally
}

/// No process ends with the broker.
fn end(publishers: &mut [Process]) {
    for publisher in publishers {
        assert!(!publisher.has_ended(), "a publisher ended with the broker");
    }
}

/// Business events, several of each aggregate: order is kept where there is one.
async fn tell(scene: &Scene, rng: &mut StdRng) {
    let mut db = scene.database.owner_pool().acquire().await.unwrap();
    for _ in 0..8 {
        let aggregate = format!("order-{}", rng.random_range(0..4));
        let tenant = scene.service.tenant_id();
        outbox::add(&mut db, tenant, &aggregate, "order.changed", br#"{"told":true}"#, None)
            .await
            .unwrap();
    }
}

/// One fault under load, and its end.
async fn trouble(scene: &Scene, server: &mut NatsServer, proxy: &Proxy, rng: &mut StdRng) {
    let killed = rng.random_range(0..4) == 0;
    let limit = rng.random_range(0..2_000);
    let fault = match rng.random_range(0..5) {
        0 => Fault::CutAfterReply(limit),
        1 => Fault::CutAfterSent(limit),
        2 => Fault::ResetReply,
        3 => Fault::Refuse,
        // Longer than an acknowledgement is waited for.
        _ => Fault::Delay(Duration::from_secs(6)),
    };
    for _ in 0..4 {
        scene.queue(rng).await;
    }
    tell(scene, rng).await;
    let before = proxy.hurt();
    if killed {
        server.kill();
    } else {
        proxy.set(fault);
    }
    for _ in 0..4 {
        scene.queue(rng).await;
    }
    tell(scene, rng).await;
    tokio::time::sleep(Duration::from_millis(rng.random_range(100..600))).await;
    if killed || fault != Fault::Delay(Duration::from_secs(6)) {
        until(Duration::from_secs(2), || proxy.hurt() > before).await;
    }
    if killed {
        server.restart().await;
    }
    proxy.set(Fault::Pass);
    scene.database.advance_clock(Duration::from_secs(2)).await;
}

/// Ten minutes without a broker: work goes on, nothing is told, and nothing is given up.
async fn outage(scene: &Scene, server: &mut NatsServer, rng: &mut StdRng) {
    server.kill();
    tell(scene, rng).await;
    let (done, asked) = (scene.count(BEGUN).await, 10);
    for _ in 0..asked {
        scene.queue(rng).await;
    }
    eventually("work goes on without a broker", LIMIT, async || {
        scene.count(BEGUN).await >= done + asked
    })
    .await;
    for _ in 0..10 {
        let probes =
            "select coalesce(max(failures), 0)::bigint from breakers where state <> 'closed'";
        let before = scene.count(probes).await;
        scene.database.advance_clock(PAST_LEASE).await;
        eventually("a probe finds it still down", LIMIT, async || {
            scene.count(probes).await > before
        })
        .await;
    }
    server.restart().await;
}

async fn all_told(scene: &Scene) {
    eventually("all is told", LIMIT * 4, async || {
        scene.database.advance_clock(Duration::from_secs(1)).await;
        scene.count("select count(*) from outbox where status <> 'published'").await == 0
            && scene.count("select count(*) from operations where status not in ('succeeded', 'failed_terminal')").await == 0
    })
    .await;
}

/// What the broker's stream holds goes to the scene's consumer, which judges it with the rest; the
/// broker's own duplicates are judged here. Returns how many events it holds.
async fn judge(scene: &Scene, server: &NatsServer, found: &mut Vec<Violation>) -> usize {
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    let mut stream = context.get_stream("faults").await.unwrap();
    let count = stream.info().await.unwrap().state.messages;
    let all = pull::Config {
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::None,
        ..pull::Config::default()
    };
    let consumer = stream.create_consumer(all).await.unwrap();
    let mut messages = consumer.messages().await.unwrap();
    let mut ids = HashSet::new();
    for _ in 0..count {
        let message = tokio::time::timeout(LIMIT, messages.next()).await.unwrap();
        let payload = message.unwrap().unwrap().payload.clone();
        let id = scene.consumer.take(&payload).unwrap();
        if !ids.insert(id.clone()) {
            let what = format!("event {id} is in the stream twice");
            found.push(Violation { invariant: "double", what });
        }
    }
    let burnt = "select count(*) from outbox where attempts > 0 or status in ('dead', 'skipped')";
    let burnt = scene.count(burnt).await;
    if burnt > 0 {
        let what = format!("{burnt} events lost an attempt to an outage");
        found.push(Violation { invariant: "I18 tries are bounded", what });
    }
    ids.len()
}

async fn make_stream(server: &NatsServer) {
    let config = stream::Config {
        name: "faults".into(),
        subjects: vec!["faults.>".into()],
        duplicate_window: REMEMBERS,
        ..stream::Config::default()
    };
    let context = jetstream::new(async_nats::connect(server.url()).await.unwrap());
    context.create_stream(config).await.unwrap();
}
