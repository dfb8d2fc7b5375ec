//! NATS JetStream as it really answers: outages, repeats, and what it does not take.

use testkit::{NatsServer, eventually};

use super::{
    LEASE, LIMIT, Running,
    order::{count_stored, make_stream, stored},
    relay_to, round, rounds, standing, tell, to,
};
use crate::fixture::Fixture;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_outage_of_the_broker_costs_no_attempt_and_ends_by_itself() {
    let fixture = Fixture::new().await;
    let mut server = NatsServer::start().await;
    make_stream(&server, &["thing.>"]).await;
    let running = Running::start(relay_to(&fixture, vec![to(&server.url())]).await);
    tell(&fixture, "before", "thing.happened").await;
    eventually("the first is told", LIMIT, async || standing(&fixture, "published").await == 1)
        .await;
    server.kill();
    for n in 0..20 {
        tell(&fixture, &format!("a-{n}"), "thing.happened").await;
        tell(&fixture, &format!("a-{n}"), "thing.happened").await;
    }
    eventually("the breaker opens, and a probe finds it still down", LIMIT, async || {
        fixture
            .count("select count(*) from breakers where state <> 'closed' and failures > 1")
            .await
            == 1
    })
    .await;
    assert_eq!(standing(&fixture, "published").await, 1);
    server.restart().await;
    eventually("all are told once it is back", LIMIT, async || {
        // The minutes of a long outage pass on the database's clock.
        fixture.db.advance_clock(std::time::Duration::from_secs(1)).await;
        standing(&fixture, "published").await == 41
    })
    .await;
    running.stop().await;
    assert_eq!(fixture.count("select count(*) from outbox where attempts > 0").await, 0);
    assert_eq!(fixture.count("select count(*) from breakers where state = 'closed'").await, 1);
    assert_eq!(count_stored(&server).await, 41);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crash_after_the_brokers_ack_is_one_repeat_that_the_broker_drops() {
    let fixture = Fixture::new().await;
    let server = NatsServer::start().await;
    make_stream(&server, &["thing.>"]).await;
    tell(&fixture, "a", "thing.happened").await;
    tell(&fixture, "a", "thing.happened").await;
    // The publisher gets the broker's word and cannot write it down: where a crash leaves it.
    for sql in [
        "create function lose_the_answer() returns trigger language plpgsql as $$
           begin if new.move = 'X3' then raise exception 'the publisher is gone'; end if; return new; end $$",
        "create trigger a_crash before update on outbox for each row execute function lose_the_answer()",
    ] {
        sqlx::raw_sql(sql).execute(fixture.pool()).await.unwrap();
    }
    let mut lost = relay_to(&fixture, vec![to(&server.url())]).await;
    round(&mut lost).await;
    drop(lost);
    assert_eq!((standing(&fixture, "publishing").await, count_stored(&server).await), (1, 1));
    sqlx::raw_sql("drop trigger a_crash on outbox").execute(fixture.pool()).await.unwrap();

    let mut next = relay_to(&fixture, vec![to(&server.url())]).await;
    assert_eq!(fixture.engine.release_lapsed_events().await.unwrap().handled, 0, "still held");
    round(&mut next).await;
    assert_eq!(count_stored(&server).await, 1, "nothing goes out while the first may be alive");
    fixture.db.advance_clock(LEASE).await;
    assert_eq!(fixture.engine.release_lapsed_events().await.unwrap().handled, 1);
    rounds(&mut next, &fixture).await;
    assert_eq!(standing(&fixture, "published").await, 2);
    let outcomes: Vec<String> =
        sqlx::query_scalar("select outcome from outbox_attempts order by id")
            .fetch_all(fixture.pool())
            .await
            .unwrap();
    assert_eq!(outcomes, ["lease_lost", "duplicate", "published"]);
    let sequences: Vec<_> =
        stored(&server, 2).await.iter().map(|event| event["sequence"].clone()).collect();
    assert_eq!(sequences, ["00000000000000000001", "00000000000000000002"]);
    assert_eq!(fixture.count("select count(*) from outbox where attempts > 0").await, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_the_broker_does_not_take_is_refused_and_stops_nobody_else() {
    let fixture = Fixture::new().await;
    let server = NatsServer::start().await;
    make_stream(&server, &["thing.*"]).await;
    tell(&fixture, "no stream", "other.happened").await;
    tell(&fixture, "no subject", "thing happened").await;
    let mut db = fixture.pool().acquire().await.unwrap();
    let big = format!("\"{}\"", "x".repeat(120_000));
    let bigger = format!("\"{}\"", "x".repeat(1_100_000));
    for (aggregate, payload) in [("too big", &big), ("far too big", &bigger)] {
        let tenant = fixture.service.tenant_id();
        engine::store::outbox::add(
            &mut db,
            tenant,
            aggregate,
            "thing.happened",
            payload.as_bytes(),
            None,
        )
        .await
        .unwrap();
    }
    tell(&fixture, "good", "thing.happened").await;
    let mut relay = relay_to(&fixture, vec![to(&server.url())]).await;
    round(&mut relay).await;
    assert_eq!(standing(&fixture, "published").await, 1);
    let said: Vec<(String, String)> = sqlx::query_as(
        "select aggregate, last_error from outbox where status = 'pending' and attempts = 1 order by 1",
    )
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    let about: Vec<_> = said.iter().map(|(aggregate, _)| aggregate.as_str()).collect();
    assert_eq!(about, ["far too big", "no stream", "no subject", "too big"], "{said:?}");
    assert!(said[1].1.contains("no stream takes the subject other.happened"), "{said:?}");
    assert_eq!(fixture.count("select count(*) from breakers").await, 0, "the transport works");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn subjects_begin_with_the_path_of_the_address() {
    let fixture = Fixture::new().await;
    let server = NatsServer::start().await;
    make_stream(&server, &["shop.onceover.>"]).await;
    tell(&fixture, "a", "thing.happened").await;
    let url = format!("{}/shop.onceover", server.url());
    let mut relay = relay_to(&fixture, vec![to(&url)]).await;
    round(&mut relay).await;
    let event = stored(&server, 1).await.remove(0);
    assert_eq!(event["type"], "thing.happened");
    assert_eq!(event["source"], "/onceover/acme");
    assert_eq!(event["data"]["told"], true);
}
