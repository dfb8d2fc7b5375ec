//! What is kept of a message, and until when (N6, I19).

use domain::inbox::InboxState;

use super::DAY;
use crate::fixture::{Fixture, code};

const FULL: &str = "select count(*) from inbox where payload is not null";

#[tokio::test]
async fn past_its_window_a_message_is_its_bare_id_which_goes_on_guarding() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    fixture.expect(&message, InboxState::Processed).await;
    let mut other = message.clone();
    other.payload = b"{}".to_vec();
    assert!(fixture.receive(&other).await.is_err());
    fixture.quarantined("old").await;
    assert_eq!(fixture.engine.shrink_inbox().await.unwrap().handled, 0, "within the window");
    fixture.db.advance_clock(8 * DAY).await;
    assert_eq!(fixture.engine.shrink_inbox().await.unwrap().handled, 1);
    assert_eq!(fixture.engine.shrink_inbox().await.unwrap().handled, 0, "twice is once");
    assert_eq!(fixture.count(FULL).await, 1, "what waits for a person is kept whole");
    let bodies = "select count(*) from inbox_conflicts where payload is not null";
    assert_eq!(fixture.count(bodies).await, 0);
    assert!(!fixture.expect(&message, InboxState::Processed).await.first, "still known");
    assert_eq!(code(fixture.receive(&other).await), domain::problem::Code::MessageReused);
    assert_eq!(fixture.count(bodies).await, 0, "nothing is kept again of what has gone");
    assert_eq!(fixture.operations().await, 1);
    fixture.db.advance_clock(400 * DAY).await;
    fixture.engine.shrink_inbox().await.unwrap();
    assert_eq!(fixture.messages().await, 2, "without a policy ids are kept for ever");
}

#[tokio::test]
async fn a_bare_id_goes_past_the_furthest_horizon_alone() {
    let fixture = Fixture::new().await;
    fixture
        .put_consumer(|policy| {
            policy.window_ms = 86_400_000;
            policy.retention_ms = Some(86_400_000);
        })
        .await;
    let message = fixture.message("m-1").await;
    fixture.expect(&message, InboxState::Processed).await;
    fixture.db.advance_clock(DAY + DAY / 2).await;
    fixture.engine.shrink_inbox().await.unwrap();
    assert_eq!((fixture.count(FULL).await, fixture.messages().await), (0, 1));
    // The window was made longer meanwhile: its horizon counts.
    fixture
        .put_consumer(|policy| {
            policy.window_ms = 3 * 86_400_000;
            policy.retention_ms = Some(86_400_000);
        })
        .await;
    fixture.db.advance_clock(DAY).await;
    fixture.engine.shrink_inbox().await.unwrap();
    assert_eq!(fixture.messages().await, 1);
    fixture.db.advance_clock(2 * DAY).await;
    fixture.engine.shrink_inbox().await.unwrap();
    assert_eq!(fixture.messages().await, 0);
    fixture.expect(&message, InboxState::Quarantined).await;
    assert_eq!(fixture.operations().await, 1, "what was forgotten is not run");
}

#[tokio::test]
async fn counts_of_failures_that_never_come_again_are_forgotten_after_the_window() {
    let fixture = Fixture::new().await;
    let mut message = fixture.message("m-1").await;
    message.then = Some(br#"{"operation":{"operation":"letter.send"}}"#.into());
    assert!(fixture.receive(&message).await.is_err());
    fixture.db.advance_clock(6 * DAY).await;
    assert_eq!(fixture.engine.shrink_inbox().await.unwrap().handled, 0);
    fixture.db.advance_clock(2 * DAY).await;
    assert_eq!(fixture.engine.shrink_inbox().await.unwrap().handled, 1);
}
