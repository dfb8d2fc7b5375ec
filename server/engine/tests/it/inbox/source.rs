//! A real broker as a source: what is lost between commit and acknowledgement comes again and is
//! known; what fails comes later; what is poison stops coming.

use std::time::Duration;

use async_nats::{HeaderMap, jetstream};
use engine::{
    InboxSource,
    inbox::{Source, SourceError, Verdict},
};
use testkit::{NatsServer, eventually, within};
use tokio::sync::watch;

use super::PAYLOAD;
use crate::fixture::Fixture;

const LIMIT: Duration = Duration::from_secs(30);

struct Broker {
    server: NatsServer,
    jetstream: jetstream::Context,
}

impl Broker {
    async fn start() -> Self {
        let server = NatsServer::start().await;
        let client = async_nats::connect(server.url()).await.unwrap();
        let jetstream = jetstream::new(client);
        jetstream
            .create_stream(jetstream::stream::Config {
                name: "ORDERS".into(),
                subjects: vec!["orders.>".into()],
                ..Default::default()
            })
            .await
            .unwrap();
        Self { server, jetstream }
    }

    fn source(&self) -> InboxSource {
        InboxSource {
            name: "orders".into(),
            url: self.server.url(),
            stream: "ORDERS".into(),
            subject: "orders.placed".into(),
            durable: "onceover".into(),
            tenant: "acme".into(),
            consumer: "billing".into(),
            operation: Some("invoice.charge".into()),
            ack_wait: Duration::from_secs(1),
            first_pause: Duration::from_millis(20),
        }
    }

    async fn publish(&self, headers: &[(&str, &str)], payload: &str) {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.insert(*name, *value);
        }
        let payload = payload.as_bytes().to_vec().into();
        let sent = self.jetstream.publish_with_headers("orders.placed", map, payload).await;
        sent.unwrap().await.unwrap();
    }

    /// Messages that the broker still has to deliver, or to be told about.
    async fn open(&self) -> u64 {
        let mut consumer: jetstream::consumer::PullConsumer =
            self.jetstream.get_consumer_from_stream("onceover", "ORDERS").await.unwrap();
        let info = consumer.info().await.unwrap();
        info.num_pending + info.num_ack_pending as u64
    }
}

#[tokio::test]
async fn a_consumer_killed_between_commit_and_acknowledgement_does_it_once() {
    let fixture = Fixture::new().await;
    let broker = Broker::start().await;
    broker.publish(&[("Nats-Msg-Id", "order-1")], PAYLOAD).await;
    let mut source = Source::connect(&fixture.engine, &broker.source()).await.unwrap();
    let delivery = within("a delivery", LIMIT, source.next()).await.unwrap();
    assert_eq!(source.take(&delivery).await, Verdict::Acknowledge);
    // Committed, and the broker is never told.
    drop((delivery, source));
    assert_eq!(fixture.operations().await, 1);
    let mut source = Source::connect(&fixture.engine, &broker.source()).await.unwrap();
    let again = within("a delivery", LIMIT, source.next()).await.unwrap();
    assert_eq!(source.take(&again).await, Verdict::Acknowledge);
    source.answer(&again, Verdict::Acknowledge).await.unwrap();
    eventually("the broker has nothing left", LIMIT, async || broker.open().await == 0).await;
    assert_eq!(fixture.operations().await, 1, "one effect");
    let known = "select count(*) from inbox where source = 'nats:ORDERS' and message_id = 'order-1'
        and deliveries = 2 and status = 'processed'";
    assert_eq!(fixture.count(known).await, 1);
}

#[tokio::test]
async fn poison_and_what_is_no_json_end_dead_and_their_neighbours_go_on() {
    let fixture = Fixture::new().await;
    let broker = Broker::start().await;
    fixture.put_consumer(|policy| policy.max_failures = 3).await;
    broker.publish(&[], "not json \u{1}").await;
    broker.publish(&[], r#"{"invoice_id":"INV-9"}"#).await;
    for n in 0..5 {
        broker.publish(&[], &PAYLOAD.replace("INV-1", &format!("INV-{n}"))).await;
    }
    let (stop, stopped) = watch::channel(false);
    let source = Source::connect(&fixture.engine, &broker.source()).await.unwrap();
    let running = tokio::spawn(source.run(stopped));
    let settled = "select count(*) from inbox";
    eventually("all seven are on record", LIMIT, async || fixture.count(settled).await == 7).await;
    eventually("the broker has nothing left", LIMIT, async || broker.open().await == 0).await;
    stop.send(true).unwrap();
    within("the source ends", LIMIT, running).await.unwrap().unwrap();
    assert_eq!(fixture.operations().await, 5);
    let dead = "select count(*) from inbox where status = 'dead' and failures = 3 and message_id in ('ORDERS:1', 'ORDERS:2')";
    assert_eq!(fixture.count(dead).await, 2, "known by their place in the stream");
    let kept: Vec<u8> =
        sqlx::query_scalar("select payload from inbox where message_id = 'ORDERS:1'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    assert_eq!(kept, "not json \u{1}".as_bytes(), "nothing is lost");
}

#[tokio::test]
async fn an_id_with_another_content_and_a_message_past_its_window_are_not_run() {
    let fixture = Fixture::new().await;
    let broker = Broker::start().await;
    let mut source = Source::connect(&fixture.engine, &broker.source()).await.unwrap();
    let take = async |source: &mut Source| {
        let delivery = within("a delivery", LIMIT, source.next()).await.unwrap();
        let verdict = source.take(&delivery).await;
        source.answer(&delivery, verdict).await.unwrap();
        verdict
    };
    broker.publish(&[("Idempotency-Key", "order-1")], PAYLOAD).await;
    assert_eq!(take(&mut source).await, Verdict::Acknowledge);
    assert_eq!(fixture.count("select count(*) from operations where key = 'order-1'").await, 1);
    // The stream was made anew: its numbers begin again, and mean other messages.
    sqlx::query("update inbox set message_id = 'ORDERS:2'")
        .execute(fixture.pool())
        .await
        .unwrap_err();
    sqlx::query("alter table inbox disable trigger user").execute(fixture.pool()).await.unwrap();
    sqlx::query("update inbox set message_id = 'ORDERS:2'").execute(fixture.pool()).await.unwrap();
    sqlx::query("alter table inbox enable trigger user").execute(fixture.pool()).await.unwrap();
    broker.publish(&[], &PAYLOAD.replace("INV-1", "INV-2")).await;
    assert_eq!(take(&mut source).await, Verdict::Terminate);
    assert_eq!(fixture.count("select count(*) from inbox_conflicts").await, 1);
    // It lay at the broker longer than anybody remembers.
    broker.publish(&[], &PAYLOAD.replace("INV-1", "INV-3")).await;
    fixture.db.advance_clock(8 * super::DAY).await;
    assert_eq!(take(&mut source).await, Verdict::Terminate);
    let kept = "select count(*) from inbox where status = 'quarantined'";
    assert_eq!(fixture.count(kept).await, 1);
    assert_eq!(fixture.operations().await, 1);
    eventually("the broker has nothing left", LIMIT, async || broker.open().await == 0).await;
}

#[tokio::test]
async fn a_source_that_cannot_work_says_why_and_one_whose_broker_dies_ends() {
    let fixture = Fixture::new().await;
    let mut broker = Broker::start().await;
    let good = broker.source();
    let with = |change: fn(&mut InboxSource)| {
        let mut source = good.clone();
        change(&mut source);
        source
    };
    for (source, words) in [
        (with(|source| source.tenant = "nobody".into()), "no tenant nobody"),
        (with(|source| source.consumer = "provider:payments".into()), "cannot be used"),
        (with(|source| source.operation = Some("console.confirm".into())), "cannot be used"),
        (with(|source| source.stream = "NONE".into()), "the stream cannot be had"),
    ] {
        let error = Source::connect(&fixture.engine, &source).await.err().expect(words);
        assert!(error.to_string().contains(words), "{error}");
    }
    Source::connect(&fixture.engine, &good).await.unwrap();
    let other = with(|source| source.subject = "orders.returned".into());
    let error = Source::connect(&fixture.engine, &other).await.err().unwrap();
    assert!(error.to_string().contains("orders.placed"), "{error}");

    let (_stop, stopped) = watch::channel(false);
    let source = Source::connect(&fixture.engine, &good).await.unwrap();
    let running = tokio::spawn(source.run(stopped));
    broker.server.kill();
    let ended = within("the source ends", LIMIT, running).await.unwrap();
    assert!(matches!(ended, Err(SourceError::Broker { .. })), "{ended:?}");
    let error = Source::connect(&fixture.engine, &good).await.err().unwrap();
    assert!(error.to_string().contains("cannot be reached"), "{error}");
    broker.server.restart().await;
    broker.publish(&[], PAYLOAD).await;
    let mut source = Source::connect(&fixture.engine, &good).await.unwrap();
    let delivery = within("a delivery", LIMIT, source.next()).await.unwrap();
    assert_eq!(source.take(&delivery).await, Verdict::Acknowledge);
    assert_eq!(fixture.count("select count(*) from inbox where status = 'processed'").await, 1);
}
