//! Breakers: an outage is known to all publishers, and costs one try at a time (D28, X4).

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering::SeqCst},
    },
    time::Duration,
};

use axum::{http::StatusCode, response::IntoResponse as _};
use domain::access::Role;
use engine::Destination;

use super::{receiver::Receiver, relay_to, round, rounds, standing, tell, to};
use crate::fixture::Fixture;

/// Past the longest pause of a breaker and of those who wait behind it.
const MINUTES: Duration = Duration::from_secs(150);

async fn moody() -> (Receiver, Arc<AtomicBool>) {
    let down = Arc::new(AtomicBool::new(true));
    let mood = Arc::clone(&down);
    let receiver = Receiver::answering(move |_| {
        let status =
            if mood.load(SeqCst) { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
        Box::pin(async move { status.into_response() })
    })
    .await;
    (receiver, down)
}

#[tokio::test]
async fn all_publishers_know_of_an_outage_and_one_event_at_a_time_looks_whether_it_is_over() {
    let fixture = Fixture::new().await;
    let (receiver, down) = moody().await;
    tell(&fixture, "first", "thing.happened").await;
    let mut one = relay_to(&fixture, vec![to(&receiver.url)]).await;
    let mut two = relay_to(&fixture, vec![to(&receiver.url)]).await;
    round(&mut one).await;
    assert_eq!(receiver.came().len(), 1);
    for n in 0..50 {
        tell(&fixture, &format!("a-{n}"), "thing.happened").await;
    }
    round(&mut two).await;
    round(&mut one).await;
    assert_eq!(receiver.came().len(), 1, "the other publisher sends nothing either");

    for probes in 1..=8 {
        fixture.db.advance_clock(MINUTES).await;
        let (_, _) = tokio::join!(round(&mut one), round(&mut two));
        assert_eq!(receiver.came().len(), 1 + probes, "one probe for both");
    }
    let failures = fixture.count("select failures::bigint from breakers").await;
    assert_eq!(failures, 9);
    assert_eq!(fixture.count("select count(*) from outbox where attempts > 0").await, 0);
    let open = fixture
        .count("select extract(epoch from onceover_now() - opened_at)::bigint from breakers")
        .await;
    assert!(open >= 600, "it is known since when: {open} s");

    down.store(false, SeqCst);
    fixture.db.advance_clock(MINUTES).await;
    round(&mut one).await;
    assert_eq!(
        fixture.count("select count(*) from breakers where state = 'closed'").await,
        1,
        "a probe that gets through closes it"
    );
    fixture.db.advance_clock(MINUTES).await;
    rounds(&mut two, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 51);
}

#[tokio::test]
async fn a_probe_whose_publisher_dies_is_taken_over() {
    let fixture = Fixture::new().await;
    let (receiver, down) = moody().await;
    tell(&fixture, "a", "thing.happened").await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    round(&mut relay).await;
    sqlx::query(
        "update breakers set state = 'half_open', probe_at = onceover_now() + interval '30 seconds'",
    )
    .execute(fixture.pool())
    .await
    .unwrap();
    down.store(false, SeqCst);
    fixture.db.advance_clock(Duration::from_secs(10)).await;
    round(&mut relay).await;
    assert_eq!(standing(&fixture, "published").await, 0, "another holds the probe");
    fixture.db.advance_clock(MINUTES).await;
    rounds(&mut relay, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 1);
}

#[tokio::test]
async fn an_outage_of_one_destination_is_no_other_ones() {
    let fixture = Fixture::new().await;
    let (broken, _down) = moody().await;
    let works = Receiver::start().await;
    let named = |name: &str, url: &str, topic: &str| Destination {
        name: name.into(),
        topics: vec![topic.into()],
        ..to(url)
    };
    for n in 0..40 {
        tell(&fixture, &format!("bad-{n}"), "bad.happened").await;
        tell(&fixture, &format!("good-{n}"), "good.happened").await;
        tell(&fixture, &format!("nobody-{n}"), "unheard").await;
    }
    let destinations =
        vec![named("broken", &broken.url, "bad."), named("works", &works.url, "good.")];
    let engine = super::engine_to(&fixture, destinations).await;
    let mut relay = engine::outbox::Relay::new(&engine).unwrap();
    rounds(&mut relay, &fixture).await;
    assert_eq!(works.came().len(), 40);
    assert_eq!(standing(&fixture, "published").await, 40);
    // Nobody takes them: they wait without an error, out of the way, and somebody can be told.
    assert_eq!(
        fixture
            .count(
                "select count(*) from outbox u join aggregates a using (tenant_id, aggregate)
                 where u.topic = 'unheard' and u.status = 'pending' and u.attempts = 0 and u.fence = 0
                   and u.last_error is null and a.next_at > onceover_now() + interval '2 minutes'"
            )
            .await,
        40
    );
    assert_eq!(engine.unrouted_topics().await.unwrap(), ["unheard"]);
}

#[tokio::test]
async fn a_breaker_that_nobody_asks_any_more_is_forgotten_and_the_next_event_tries_at_once() {
    let fixture = Fixture::new().await;
    let (receiver, _down) = moody().await;
    tell(&fixture, "a", "thing.happened").await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    round(&mut relay).await;
    drop(relay);
    fixture.db.advance_clock(Duration::from_secs(300)).await;
    assert_eq!(
        fixture.engine.forget_dead_workers().await.unwrap().handled,
        0,
        "it may be asked yet"
    );
    fixture.db.advance_clock(Duration::from_secs(302)).await;
    assert_eq!(fixture.engine.forget_dead_workers().await.unwrap().handled, 1);
    assert_eq!(fixture.count("select count(*) from breakers").await, 0);

    // The destination is another by now; what waited goes there.
    let works = Receiver::start().await;
    let moved = Destination { name: "other".into(), ..to(&works.url) };
    let mut relay = relay_to(&fixture, vec![moved]).await;
    rounds(&mut relay, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 1);
}

#[tokio::test]
async fn the_first_page_names_a_destination_that_is_down_with_since_when_and_why_until_it_is_up() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let breakers = async || fixture.engine.overview(&viewer, None).await.unwrap().health.breakers;
    let (receiver, down) = moody().await;
    tell(&fixture, "a", "thing.happened").await;
    assert_eq!(breakers().await, []);
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    round(&mut relay).await;
    let open = breakers().await;
    assert_eq!(open.len(), 1, "{open:?}");
    let first = open[0].clone();
    assert_eq!((first.destination.as_str(), first.failures), ("main", 1));
    assert!(first.probe_in_ms <= 1_000, "{first:?}");
    assert!(first.last_error.as_deref().is_some_and(|said| said.contains("503")), "{first:?}");

    // Where it is known to be another tenant's own, its name is nobody else's business.
    let seen_by = async |owner: &str| {
        let own = Destination { tenant: Some(owner.into()), ..to(&receiver.url) };
        let engine = super::engine_to(&fixture, vec![own]).await;
        engine.overview(&viewer, None).await.unwrap().health.breakers.len()
    };
    assert_eq!((seen_by("globex").await, seen_by(viewer.tenant_slug()).await), (0, 1));

    fixture.db.advance_clock(MINUTES).await;
    round(&mut relay).await;
    let open = breakers().await;
    assert_eq!((open[0].failures, open[0].opened_at), (2, first.opened_at), "one outage, not two");

    down.store(false, SeqCst);
    fixture.db.advance_clock(MINUTES).await;
    round(&mut relay).await;
    assert_eq!(breakers().await, []);
}
