//! Order: within an aggregate nothing overtakes and nothing is missing, whoever publishes (D25).

use std::collections::HashMap;

use async_nats::jetstream::{self, consumer::pull, stream};
use futures_util::StreamExt as _;
use serde_json::Value;
use testkit::{NatsServer, eventually, within};

use super::{LIMIT, Running, relay_to, standing, tell_in, to};
use crate::fixture::Fixture;

const AGGREGATES: usize = 50;
const TRANSACTIONS: usize = 400;
const EVENTS_EACH: usize = 25;

/// Everything that a stream holds, in the broker's own order.
pub async fn stored(server: &NatsServer, count: usize) -> Vec<Value> {
    let client = async_nats::connect(server.url()).await.unwrap();
    let context = jetstream::new(client);
    let stream = context.get_stream("events").await.unwrap();
    let consumer = stream
        .create_consumer(pull::Config {
            deliver_policy: jetstream::consumer::DeliverPolicy::All,
            ack_policy: jetstream::consumer::AckPolicy::None,
            ..pull::Config::default()
        })
        .await
        .unwrap();
    let mut messages = consumer.messages().await.unwrap();
    let mut all = Vec::new();
    while all.len() < count {
        let message = within("the next message", LIMIT, messages.next()).await.unwrap().unwrap();
        all.push(serde_json::from_slice(&message.payload).unwrap());
    }
    all
}

/// A stream for all that is told here.
pub async fn make_stream(server: &NatsServer, subjects: &[&str]) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let config = stream::Config {
        name: "events".into(),
        subjects: subjects.iter().map(|subject| (*subject).to_owned()).collect(),
        max_message_size: 100_000,
        ..stream::Config::default()
    };
    jetstream::new(client).create_stream(config).await.unwrap();
}

pub async fn count_stored(server: &NatsServer) -> u64 {
    let client = async_nats::connect(server.url()).await.unwrap();
    let mut stream = jetstream::new(client).get_stream("events").await.unwrap();
    stream.info().await.unwrap().state.messages
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn four_publishers_keep_the_order_of_ten_thousand_events_of_interleaved_commits() {
    let fixture = Fixture::new().await;
    let server = NatsServer::start().await;
    make_stream(&server, &["thing.>"]).await;
    let mut running = Vec::new();
    for _ in 0..4 {
        running.push(Running::start(relay_to(&fixture, vec![to(&server.url())]).await));
    }
    let producer = async |n: usize| {
        for t in (n..TRANSACTIONS).step_by(4) {
            let mut tx = fixture.pool().begin().await.unwrap();
            // Sorted, as every transaction writes them, so that locks cannot cross.
            let mut aggregates: Vec<usize> =
                (0..EVENTS_EACH).map(|i| (t * 7 + i * i) % AGGREGATES).collect();
            aggregates.sort_unstable();
            for aggregate in aggregates {
                tell_in(&mut tx, &fixture, &format!("a-{aggregate:02}"), "thing.happened").await;
            }
            tx.commit().await.unwrap();
        }
    };
    tokio::join!(producer(0), producer(1), producer(2), producer(3));
    let count = TRANSACTIONS * EVENTS_EACH;
    eventually("all events are told", LIMIT * 2, async || {
        standing(&fixture, "published").await == i64::try_from(count).unwrap()
    })
    .await;
    for relay in running {
        relay.stop().await;
    }
    assert_eq!(count_stored(&server).await, u64::try_from(count).unwrap(), "each is there once");
    let mut last: HashMap<String, i64> = HashMap::new();
    for event in stored(&server, count).await {
        let subject = event["subject"].as_str().unwrap().to_owned();
        let sequence: i64 = event["sequence"].as_str().unwrap().parse().unwrap();
        let before = last.insert(subject.clone(), sequence).unwrap_or(0);
        assert_eq!(sequence, before + 1, "an inversion or a gap in {subject}");
    }
    assert_eq!(last.values().sum::<i64>(), i64::try_from(count).unwrap());
    assert_eq!(
        fixture.count("select count(*) from outbox where attempts > 0 or fence <> 1").await,
        0,
        "each was claimed once"
    );
}
