//! A million waiting events, and among them thousands of blocked aggregates: what publishers ask
//! reads by its index and a bounded number of rows.

use sqlx::Executor as _;
use tracing_subscriber::layer::SubscriberExt as _;

use super::{engine_to, receiver::Receiver, round, to};
use crate::{
    fixture::Fixture,
    plans::{Plans, judge},
};

async fn plant(fixture: &Fixture) {
    let tenant = fixture.service.tenant_id();
    let pool = fixture.pool();
    for sql in [
        // Every tenth aggregate is blocked by a dead head, every hundredth has a long tail told.
        format!(
            "insert into aggregates (tenant_id, aggregate, next_seq, head_seq, blocked, next_at)
             select '{tenant}', 'a-' || n, 3, 2, n % 10 = 0, onceover_now() - n * interval '1 millisecond'
             from generate_series(1, 600000) n"
        ),
        format!(
            "insert into outbox (tenant_id, aggregate, seq, topic, payload, status, settled_at, attempts)
             select '{tenant}', 'a-' || n, seq, case when n % 1000 = 7 then 'unheard' else 'thing.happened' end, '1',
               case when seq = 1 then 'published' when n % 10 = 0 then 'dead' else 'pending' end,
               case when seq = 1 then onceover_now() - n * interval '1 minute' end,
               case when seq = 2 and n % 10 = 0 then 12 else 0 end
             from generate_series(1, 600000) n, generate_series(1, 2) seq"
        ),
        "vacuum analyze aggregates".to_owned(),
        "vacuum analyze outbox".to_owned(),
    ] {
        // The server's own time limit is for requests.
        let mut db = pool.acquire().await.unwrap();
        db.execute("set statement_timeout = 0").await.unwrap();
        db.execute(sqlx::AssertSqlSafe(sql)).await.unwrap();
    }
}

#[tokio::test]
async fn publishers_read_by_index_at_a_million_events() {
    let fixture = Fixture::new().await;
    plant(&fixture).await;
    Plans::explain_from_now_on(&fixture).await;
    let receiver = Receiver::start().await;
    let heard = engine::Destination { topics: vec!["thing.".into()], ..to(&receiver.url) };
    let engine = engine_to(&fixture, vec![heard]).await;
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    let mut relay = engine::outbox::Relay::new(&engine).unwrap();
    // More than five times, so that a cached generic plan is looked at too.
    for _ in 0..12 {
        round(&mut relay).await;
        engine.release_lapsed_events().await.unwrap();
        engine.purge_told_events().await.unwrap();
        engine.unrouted_topics().await.unwrap();
    }
    assert!(receiver.came().len() > 300, "{}", receiver.came().len());
    let told = plans.take();
    let (read, wrong) = judge(told.iter().map(|plan| ("outbox", plan)));
    assert!(
        wrong.is_empty(),
        "{} of {read} plans read too much:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read > 300, "the database told only {read} plans");
}
