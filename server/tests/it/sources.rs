//! Brokers as sources while the program runs: what is published becomes work once, also when the
//! broker goes away and comes back.

use std::time::Duration;

use async_nats::jetstream;
use engine::{Engine, InboxSource, identity::Admin};
use server::{background, config::Config};
use testkit::{NatsServer, TestDatabase, eventually};
use tokio::sync::watch;

use crate::support::{WEBHOOK_SECRET, charge};

const LIMIT: Duration = Duration::from_secs(60);

async fn publish(server: &NatsServer, n: u32) {
    let client = async_nats::connect(server.url()).await.unwrap();
    let jetstream = jetstream::new(client);
    let config = jetstream::stream::Config {
        name: "ORDERS".into(),
        subjects: vec!["orders.>".into()],
        ..Default::default()
    };
    jetstream.get_or_create_stream(config).await.unwrap();
    let payload = format!(r#"{{"invoice_id":"INV-{n}","amount_minor":100,"currency":"EUR"}}"#);
    jetstream.publish("orders.placed", payload.into()).await.unwrap().await.unwrap();
}

#[tokio::test]
async fn a_broker_that_goes_away_and_comes_back_loses_no_message_and_doubles_none() {
    let mut broker = NatsServer::start().await;
    publish(&broker, 1).await;
    let database = TestDatabase::create().await;
    let mut admin = Admin::connect(&database.url()).await.unwrap();
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    // Of a kind that no worker of this process can call: what is queued stays to be counted.
    let kind = engine::store::kind::KindPolicy { provider: None, ..charge() };
    admin.put_kind(tenant, &kind).await.unwrap();
    let sources = format!(
        "orders={}/ORDERS?subject=orders.placed&durable=d&tenant=acme&consumer=billing&operation=invoice.charge",
        broker.url()
    );
    let settings = [
        ("DATABASE_URL", database.url().as_str()),
        ("ONCEOVER_SEARCH_SECRET", WEBHOOK_SECRET),
        ("ONCEOVER_INBOX_SOURCES", &sources),
    ]
    .map(|(name, value)| (name.to_owned(), value.to_owned()));
    let config = Config::read(&settings, None).unwrap();
    let engine = Engine::connect(config.engine().unwrap()).await.unwrap();
    let source: &InboxSource = &engine.settings().inbox_sources[0];
    assert_eq!(source.operation.as_deref(), Some("invoice.charge"));
    let (stop, stopped) = watch::channel(false);
    let running = tokio::spawn(background::run(engine, stopped, Duration::from_secs(5)));
    let done = async |wanted: i64| {
        let sql = "select count(*) from inbox i join operations o on o.id = i.operation_id
            where i.status = 'processed'";
        let done: i64 = sqlx::query_scalar(sql).fetch_one(database.owner_pool()).await.unwrap();
        done == wanted
    };
    eventually("the first is taken in", LIMIT, async || done(1).await).await;
    broker.kill();
    broker.restart().await;
    publish(&broker, 2).await;
    eventually("the second is taken in", LIMIT, async || done(2).await).await;
    stop.send(true).unwrap();
    tokio::time::timeout(LIMIT, running).await.unwrap().unwrap();
    let operations: i64 = sqlx::query_scalar("select count(*) from operations")
        .fetch_one(database.owner_pool())
        .await
        .unwrap();
    assert_eq!(operations, 2);
}
