//! Publishers that die or are paused: nothing is lost, and nobody writes with an old fence.

use std::sync::Arc;

use axum::{http::StatusCode, response::IntoResponse as _};
use domain::outbox::MAX_TAKEOVERS;
use testkit::eventually;
use tokio::sync::Semaphore;

use super::{LEASE, LIMIT, receiver::Receiver, relay_to, rounds, standing, tell, to};
use crate::fixture::Fixture;

/// A receiver that answers 200 once its gate is opened.
async fn gated() -> (Receiver, Arc<Semaphore>) {
    let gate = Arc::new(Semaphore::new(0));
    let held = Arc::clone(&gate);
    let receiver = Receiver::answering(move |_| {
        let held = Arc::clone(&held);
        Box::pin(async move {
            let _open = held.acquire().await;
            StatusCode::OK.into_response()
        })
    })
    .await;
    (receiver, gate)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_that_lost_its_lease_cannot_mark_an_event_as_published() {
    let fixture = Fixture::new().await;
    let (slow, opens_slow) = gated().await;
    let (other, opens_other) = gated().await;
    tell(&fixture, "a", "thing.happened").await;
    let mut paused = relay_to(&fixture, vec![to(&slow.url)]).await;
    paused.claim_some().await.unwrap();
    eventually("the delivery is under way", LIMIT, async || slow.came().len() == 1).await;

    fixture.db.advance_clock(LEASE).await;
    assert_eq!(fixture.engine.release_lapsed_events().await.unwrap().handled, 1);
    let mut owner = relay_to(&fixture, vec![to(&other.url)]).await;
    owner.claim_some().await.unwrap();
    eventually("the new owner delivers", LIMIT, async || other.came().len() == 1).await;
    opens_slow.add_permits(1);
    paused.drain().await;
    assert_eq!(
        fixture
            .count("select count(*) from outbox where status = 'publishing' and fence = 3")
            .await,
        1,
        "the old fence wrote nothing: the new owner still has the word"
    );
    assert_eq!(
        fixture.count("select count(*) from outbox_attempts where outcome = 'published'").await,
        0
    );
    opens_other.add_permits(1);
    owner.drain().await;
    assert_eq!(standing(&fixture, "published").await, 1);
    assert_eq!(slow.came()[0].text("id"), other.came()[0].text("id"), "one id at each delivery");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_publisher_that_dies_in_mid_delivery_leaves_its_events_to_the_others() {
    let fixture = Fixture::new().await;
    let (receiver, gate) = gated().await;
    for n in 0..10 {
        tell(&fixture, &format!("a-{n}"), "thing.happened").await;
        tell(&fixture, &format!("a-{n}"), "thing.happened").await;
    }
    let mut dying = relay_to(&fixture, vec![to(&receiver.url)]).await;
    dying.claim_some().await.unwrap();
    eventually("all heads are under way", LIMIT, async || receiver.came().len() == 10).await;
    drop(dying);
    gate.add_permits(1_000);
    assert_eq!(standing(&fixture, "publishing").await, 10);
    fixture.db.advance_clock(LEASE).await;
    assert_eq!(fixture.engine.release_lapsed_events().await.unwrap().handled, 10);
    let mut next = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut next, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 20);

    // The consumer tells repeats by their id, and then sees each once and in order.
    let mut known = std::collections::HashSet::new();
    let mut last = std::collections::HashMap::new();
    for delivered in receiver.came() {
        assert_eq!(delivered.headers["idempotency-key"], delivered.text("id"));
        if known.insert(delivered.text("id").to_owned()) {
            let before = last.insert(delivered.text("subject").to_owned(), delivered.sequence());
            assert_eq!(delivered.sequence(), before.unwrap_or(0) + 1);
        }
    }
    assert_eq!((known.len(), receiver.came().len()), (20, 30));
    assert_eq!(fixture.count("select count(*) from outbox where attempts > 0").await, 0);
}

#[tokio::test]
async fn an_event_that_ends_each_of_its_publishers_is_dead_at_the_bound_and_says_why() {
    let fixture = Fixture::new().await;
    let mut losing = Losing::at(&fixture).await;
    tell(&fixture, "bad", "thing.happened").await;
    for lost in 1..MAX_TAKEOVERS {
        losing.lose_one().await;
        let counted = fixture.count("select takeovers::bigint from outbox").await;
        assert_eq!(counted, i64::from(lost), "each is counted on the row");
        assert_eq!(standing(&fixture, "pending").await, 1, "after {lost}");
    }
    // It comes back later and later, so that what was lost beside it gets through first.
    let waits = "select extract(epoch from next_at - onceover_now())::bigint from aggregates";
    let waits = fixture.count(waits).await;
    assert!((400..=1_100).contains(&waits), "{waits} s");
    losing.lose_one().await;
    assert_eq!(standing(&fixture, "dead").await, 1);
    assert_eq!(fixture.count("select attempts::bigint from outbox").await, 0, "none was burned");
    let (cause, rule): (String, String) = sqlx::query_as(
        "select u.last_error, e.rule from outbox u join machine_events e on e.record_id = u.id",
    )
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    assert_eq!(rule, "X7b");
    assert!(cause.starts_with("12 publishers in a row were lost"), "{cause}");

    // It blocks its own aggregate alone, and a person may put it in line again from the beginning.
    tell(&fixture, "good", "thing.happened").await;
    let receiver = Receiver::start().await;
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut relay, &fixture).await;
    assert_eq!((receiver.came().len(), standing(&fixture, "dead").await), (1, 1));
    super::staff::requeue(&fixture).await;
    assert_eq!(
        fixture.count("select takeovers::bigint from outbox where aggregate = 'bad'").await,
        0
    );
    rounds(&mut relay, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 2);
}

#[tokio::test]
async fn one_answer_proves_that_a_publisher_outlives_an_event() {
    let fixture = Fixture::new().await;
    let mut losing = Losing::at(&fixture).await;
    tell(&fixture, "a", "thing.happened").await;
    for _ in 0..3 {
        losing.lose_one().await;
    }
    fixture.db.advance_clock(std::time::Duration::from_secs(3_600)).await;
    // Nobody listens there: the transport is down, and that is an answer.
    let mut relay = relay_to(&fixture, vec![to("http://127.0.0.1:1")]).await;
    super::round(&mut relay).await;
    assert_eq!(standing(&fixture, "pending").await, 1);
    assert_eq!(fixture.count("select takeovers::bigint from outbox").await, 0);
}

/// Publishers that end while they hold an event.
struct Losing<'a> {
    fixture: &'a Fixture,
    receiver: Receiver,
}

impl<'a> Losing<'a> {
    async fn at(fixture: &'a Fixture) -> Self {
        let (receiver, _gate) = gated().await;
        Self { fixture, receiver }
    }

    async fn lose_one(&mut self) {
        let before = self.receiver.came().len();
        // Past the pause of those that were lost before.
        self.fixture.db.advance_clock(std::time::Duration::from_secs(3_600)).await;
        let mut relay = relay_to(self.fixture, vec![to(&self.receiver.url)]).await;
        relay.claim_some().await.unwrap();
        eventually("it is under way", LIMIT, async || self.receiver.came().len() > before).await;
        drop(relay);
        self.fixture.db.advance_clock(LEASE).await;
        assert_eq!(self.fixture.engine.release_lapsed_events().await.unwrap().handled, 1);
    }
}
