//! Poison: an event that nobody takes costs a bounded number of tries and stops its own aggregate
//! alone (I18, F26).

use std::time::Duration;

use axum::{http::StatusCode, response::IntoResponse as _};
use domain::outbox::MAX_ATTEMPTS;

use super::{receiver::Receiver, relay_to, rounds, standing, tell, to};
use crate::fixture::Fixture;

#[tokio::test]
async fn a_hundred_poison_events_block_their_own_aggregates_and_no_neighbour() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::answering(|delivered| {
        let status = if delivered.text("type") == "poison" {
            StatusCode::INTERNAL_SERVER_ERROR
        } else {
            StatusCode::OK
        };
        Box::pin(async move { status.into_response() })
    })
    .await;
    for n in 0..100 {
        tell(&fixture, &format!("sick-{n}"), "poison").await;
        tell(&fixture, &format!("sick-{n}"), "fine").await;
        tell(&fixture, &format!("well-{n}"), "fine").await;
        tell(&fixture, &format!("well-{n}"), "fine").await;
    }
    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    rounds(&mut relay, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 200, "neighbours went on at once");
    // A slow machine may fit a second try into a round: the number of tries below is what is exact.
    for _ in 1..MAX_ATTEMPTS {
        fixture.db.advance_clock(Duration::from_secs(3_601)).await;
        rounds(&mut relay, &fixture).await;
    }
    assert_eq!(standing(&fixture, "dead").await, 100);
    assert_eq!(standing(&fixture, "published").await, 200, "what stands behind them waits");
    assert_eq!(
        fixture.count("select count(*) from aggregates where blocked").await,
        100,
        "and is not looked at again"
    );
    let tries = receiver.came().iter().filter(|one| one.text("type") == "poison").count();
    assert_eq!(i32::try_from(tries).unwrap(), 100 * MAX_ATTEMPTS, "a bounded number of tries");
    assert_eq!(fixture.count("select count(*) from breakers").await, 0, "the transport works");
    assert_eq!(
        fixture
            .count("select count(*) from machine_events where machine = 'outbox' and rule = 'X6'")
            .await,
        100,
        "each death stands in the timeline"
    );
}
