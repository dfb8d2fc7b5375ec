//! R16: a pool that is exhausted costs others nothing, and whoever waits for it a 503 in time.

use std::time::{Duration, Instant};

use axum::http::StatusCode;
use testkit::eventually;

use crate::{
    figures::{percentile, say},
    support::Stage,
    wire::LIMIT,
};

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_pool_answers_503_in_time_and_comes_back() {
    const POOL: usize = 4;
    let stage = Stage::open().await;
    let service = stage.service("acme").await;
    service.reserve("before", 1).await.expect(StatusCode::CREATED);
    let browser = stage.browser("viewer@acme.test").await;

    // Whoever wants to write an operation holds a connection and waits.
    let mut holder = stage.database.owner_pool().acquire().await.unwrap();
    for sql in ["begin", "lock table operations in exclusive mode"] {
        sqlx::query(sql).execute(&mut *holder).await.unwrap();
    }
    let keys: Vec<String> = (0..3 * POOL).map(|n| format!("held-{n}")).collect();
    let asked = async {
        let all = keys.iter().map(async |key| {
            let begun = Instant::now();
            let answer = service.reserve(key, 1).await;
            answer.expect(StatusCode::SERVICE_UNAVAILABLE);
            begun.elapsed()
        });
        futures_util::future::join_all(all).await
    };
    let others = async {
        eventually("all connections are held", LIMIT, async || {
            let sql = "select count(*) from pg_locks where relation = 'operations'::regclass and not granted";
            sqlx::query_scalar::<_, i64>(sql).fetch_one(stage.database.owner_pool()).await.unwrap()
                >= 2
        })
        .await;
        // The process lives, and the console has a pool of its own.
        stage.stranger().get("/health/live").await.expect(StatusCode::OK);
        browser.get("/operations").await.expect(StatusCode::OK);
        browser.get("/help").await.expect(StatusCode::OK);
    };
    let (mut times, ()) = tokio::join!(asked, others);
    sqlx::query("rollback").execute(&mut *holder).await.unwrap();
    let freed = Instant::now();
    service.reserve("after", 1).await.expect(StatusCode::CREATED);
    let back = freed.elapsed();
    for key in &keys {
        service.reserve(key, 1).await.expect(StatusCode::CREATED);
    }
    let longest = times.iter().max().copied().unwrap_or_default();
    assert!(longest < Duration::from_secs(30), "{longest:?}");
    say(&format!(
        "R16: {} requests on {POOL} held connections: all 503, p50 {} ms, longest {} ms (acquire timeout \
         3,000 ms); /health/live and pages 200 meanwhile; back after {} ms; nothing half done",
        times.len(),
        percentile(&mut times, 50),
        longest.as_millis(),
        back.as_millis(),
    ));
}
