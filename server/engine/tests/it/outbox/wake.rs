//! Hints make it quick; the poll makes it a promise (D26, F28).

use std::time::Duration;

use engine::FinishOutcome;
use testkit::eventually;

use super::{LIMIT, Running, receiver::Receiver, relay_to, tell, to};
use crate::fixture::Fixture;

const LISTENERS: &str = "select count(*) from pg_stat_activity
   where datname = current_database() and application_name = 'onceover listener'";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_of_any_process_wakes_the_publishers_by_a_hint() {
    let fixture = Fixture::new().await;
    let mut heard = sqlx::postgres::PgListener::connect(&fixture.db.url()).await.unwrap();
    heard.listen(engine::outbox::CHANNEL).await.unwrap();
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    tokio::time::timeout(LIMIT, heard.recv()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_commits_are_a_few_hints() {
    let fixture = Fixture::new().await;
    let mut heard = sqlx::postgres::PgListener::connect(&fixture.db.url()).await.unwrap();
    heard.listen(engine::outbox::CHANNEL).await.unwrap();
    let begun = std::time::Instant::now();
    for n in 0..100 {
        fixture.reserve(&format!("k-{n}")).await;
    }
    tokio::time::timeout(LIMIT, heard.recv()).await.unwrap().unwrap();
    let mut hints = 1;
    while let Ok(Ok(_)) = tokio::time::timeout(Duration::from_millis(300), heard.recv()).await {
        hints += 1;
    }
    let most = begun.elapsed().as_millis() / 100 + 1;
    assert!(hints <= most, "{hints} hints, at most {most}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_no_hint_tells_of_is_found_by_the_poll_and_a_killed_listener_comes_back() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::start().await;
    let running = Running::start(relay_to(&fixture, vec![to(&receiver.url)]).await);
    eventually("the relay listens", LIMIT, async || fixture.count(LISTENERS).await == 1).await;
    let killed = fixture
        .count(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity
             where datname = current_database() and application_name = 'onceover listener'",
        )
        .await;
    assert_eq!(killed, 1);
    // Written behind the engine's back: no hint is sent at all.
    tell(&fixture, "a", "thing.happened").await;
    let begun = std::time::Instant::now();
    eventually("it is told all the same", LIMIT, async || receiver.came().len() == 1).await;
    assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    eventually("the relay listens again", LIMIT, async || fixture.count(LISTENERS).await == 1)
        .await;
    running.stop().await;
}
