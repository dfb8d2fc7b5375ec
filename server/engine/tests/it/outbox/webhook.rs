//! Webhooks: signed, under the event's id, and only where events are meant to go.

use axum::{
    http::{StatusCode, header::LOCATION},
    response::IntoResponse as _,
};
use engine::{Destination, EngineError, outbox::check, store::outbox};
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;

use super::{receiver::Receiver, relay_to, round, rounds, standing, tell, to};
use crate::fixture::{Fixture, add_tenant};

const SECRET: &str = "a secret of the destination";

#[tokio::test]
async fn a_receiver_can_check_who_sent_what_and_when() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::start().await;
    tell(&fixture, "INV-1", "invoice.paid").await;
    let signed = Destination { secret: Some(SECRET.into()), ..to(&receiver.url) };
    round(&mut relay_to(&fixture, vec![signed]).await).await;
    let delivered = receiver.came().remove(0);
    assert_eq!(delivered.headers["content-type"], "application/cloudevents+json");
    assert_eq!(delivered.headers["idempotency-key"], delivered.text("id"));
    assert_eq!(delivered.text("specversion"), "1.0");
    assert_eq!(delivered.text("subject"), "INV-1");
    assert_eq!(delivered.text("source"), "/onceover/acme");
    let signature = delivered.headers["onceover-webhook-signature"].to_str().unwrap();
    let (time, given) = signature.strip_prefix("t=").unwrap().split_once(",v1=").unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(SECRET.as_bytes()).unwrap();
    mac.update(format!("{time}.").as_bytes());
    mac.update(&delivered.body);
    mac.verify_slice(&hex::decode(given).unwrap()).unwrap();
    let apart = fixture.count("select extract(epoch from onceover_now())::bigint").await
        - time.parse::<i64>().unwrap();
    assert!((0..30).contains(&apart), "signed {apart} s ago by the database's clock");
}

#[tokio::test]
async fn a_destination_of_one_tenant_hears_of_that_one_and_the_next_of_the_others() {
    let fixture = Fixture::new().await;
    let (own, rest) = (Receiver::start().await, Receiver::start().await);
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    tell(&fixture, "a", "thing.happened").await;
    let mut db = fixture.pool().acquire().await.unwrap();
    outbox::add(&mut db, globex.tenant_id(), "b", "thing.happened", b"{}", None).await.unwrap();
    drop(db);
    let acme = Destination { name: "acme".into(), tenant: Some("acme".into()), ..to(&own.url) };
    let mut relay = relay_to(&fixture, vec![acme, to(&rest.url)]).await;
    rounds(&mut relay, &fixture).await;
    let sources = |came: Vec<super::receiver::Delivered>| -> Vec<String> {
        came.iter().map(|event| event.text("source").to_owned()).collect()
    };
    assert_eq!(sources(own.came()), ["/onceover/acme"]);
    assert_eq!(sources(rest.came()), ["/onceover/globex"]);
}

#[tokio::test]
async fn a_receiver_that_knew_it_already_is_believed() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::answering(|_| {
        Box::pin(async { ([("idempotent-replayed", "true")], "").into_response() })
    })
    .await;
    tell(&fixture, "a", "thing.happened").await;
    round(&mut relay_to(&fixture, vec![to(&receiver.url)]).await).await;
    assert_eq!(
        fixture.count("select count(*) from outbox_attempts where outcome = 'duplicate'").await,
        1
    );
    assert_eq!(standing(&fixture, "published").await, 1);
}

#[tokio::test]
async fn a_redirect_is_not_followed() {
    let fixture = Fixture::new().await;
    let elsewhere = Receiver::start().await;
    let target = elsewhere.url.clone();
    let receiver = Receiver::answering(move |_| {
        let target = target.clone();
        Box::pin(
            async move { (StatusCode::TEMPORARY_REDIRECT, [(LOCATION, target)]).into_response() },
        )
    })
    .await;
    tell(&fixture, "a", "thing.happened").await;
    round(&mut relay_to(&fixture, vec![to(&receiver.url)]).await).await;
    assert_eq!((receiver.came().len(), elsewhere.came().len()), (1, 0));
    assert_eq!(fixture.count("select count(*) from outbox where attempts = 1").await, 1);
}

#[test]
fn private_addresses_and_plain_http_are_refused_before_anything_is_sent() {
    let public = |url: &str| check(&[Destination { allow_private: false, ..to(url) }]);
    for url in [
        "https://127.0.0.1/hook",
        "https://127.1/hook",
        "https://0x7f000001/hook",
        "https://2130706433/hook",
        "https://169.254.169.254/latest/meta-data",
        "https://10.0.0.1/hook",
        "https://[::1]/hook",
        "https://[::ffff:127.0.0.1]/hook",
        "https://[::ffff:169.254.169.254]/hook",
        "https://[fd00::1]/hook",
        "http://example.com/hook",
        "file:///etc/passwd",
        "not an address",
        "nats:///",
        "nats://broker/a..b",
    ] {
        match public(url) {
            Err(EngineError::Destination(name, _)) => assert_eq!(name, "main"),
            other => panic!("{url}: {other:?}"),
        }
    }
    for url in ["https://example.com/hook", "https://8.8.8.8/hook", "nats://broker:4222/a.b"] {
        public(url).unwrap();
    }
    assert!(check(&[to("nats://a"), to("nats://b")]).is_err(), "one name for two");
}

#[tokio::test]
async fn a_name_that_leads_to_a_private_address_is_not_connected_to() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::start().await;
    let port = receiver.url.rsplit(':').next().unwrap().split('/').next().unwrap().to_owned();
    tell(&fixture, "a", "thing.happened").await;
    let public = Destination {
        url: format!("https://localhost:{port}/hook"),
        allow_private: false,
        ..to(&receiver.url)
    };
    round(&mut relay_to(&fixture, vec![public]).await).await;
    assert_eq!(receiver.came().len(), 0);
    let said: String = sqlx::query_scalar("select last_error from outbox")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    assert!(said.contains("not a public address"), "{said}");
    assert_eq!(fixture.count("select count(*) from outbox where attempts > 0").await, 0);
}

#[tokio::test]
async fn an_event_that_is_too_large_is_not_sent_and_an_endless_answer_is_not_read() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::answering(|_| {
        Box::pin(async { (StatusCode::BAD_REQUEST, vec![b'\n'; 20_000_000]).into_response() })
    })
    .await;
    let mut db = fixture.pool().acquire().await.unwrap();
    let large = vec![b'x'; 1_100_000];
    let tenant = fixture.service.tenant_id();
    engine::store::outbox::add(&mut db, tenant, "large", "thing.happened", &large, None)
        .await
        .unwrap();
    tell(&fixture, "small", "thing.happened").await;
    round(&mut relay_to(&fixture, vec![to(&receiver.url)]).await).await;
    assert_eq!(receiver.came().len(), 1);
    assert_eq!(receiver.came()[0].text("subject"), "small");
    assert_eq!(
        fixture
            .count(
                "select count(*) from outbox where attempts = 1 and char_length(last_error) < 400"
            )
            .await,
        2
    );
}
