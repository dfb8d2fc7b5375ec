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

    // Every reservation of these keys holds its connection for longer than another may wait for one.
    for sql in [
        "create function slowly() returns trigger language plpgsql
         as $$ begin perform pg_sleep(3.5); return new; end $$",
        "create trigger slowly before insert on operations for each row
         when (new.key like 'slow-%') execute function slowly()",
    ] {
        sqlx::query(sql).execute(stage.database.owner_pool()).await.unwrap();
    }
    let keys: Vec<String> = (0..3 * POOL).map(|n| format!("slow-{n}")).collect();
    let asked = async {
        let all = keys.iter().map(async |key| {
            let begun = Instant::now();
            let status = service.reserve(key, 1).await.status;
            (status, begun.elapsed())
        });
        futures_util::future::join_all(all).await
    };
    let others = async {
        eventually("all connections are held", LIMIT, async || {
            let sql = "select count(*) from pg_stat_activity
                       where datname = current_database() and wait_event = 'PgSleep'";
            let held: i64 =
                sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap();
            held == POOL as i64
        })
        .await;
        // The process lives, and the console has a pool of its own.
        stage.stranger().get("/health/live").await.expect(StatusCode::OK);
        browser.get("/operations").await.expect(StatusCode::OK);
        browser.get("/help").await.expect(StatusCode::OK);
    };
    let (answers, ()) = tokio::join!(asked, others);
    let of = |wanted| {
        let of = answers.iter().filter(move |(status, _)| *status == wanted);
        of.map(|(_, took)| *took).collect::<Vec<_>>()
    };
    let (served, mut turned) = (of(StatusCode::CREATED), of(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!((served.len(), turned.len()), (POOL, 2 * POOL), "{answers:?}");

    sqlx::query("drop trigger slowly on operations")
        .execute(stage.database.owner_pool())
        .await
        .unwrap();
    let freed = Instant::now();
    service.reserve("after", 1).await.expect(StatusCode::CREATED);
    let back = freed.elapsed();
    for (key, (before, _)) in keys.iter().zip(&answers) {
        let again = service.reserve(key, 1).await;
        // Whoever was turned away left nothing; whoever was served holds the key.
        let wanted =
            if *before == StatusCode::CREATED { StatusCode::CONFLICT } else { StatusCode::CREATED };
        again.expect(wanted);
    }
    let longest = turned.iter().max().copied().unwrap_or_default();
    assert!(longest < Duration::from_secs(30), "{longest:?}");
    say(&format!(
        "R16: {} slow requests on {POOL} connections: {} served, {} answered 503 (p50 {} ms, longest {} ms; \
         acquire timeout 3,000 ms); /health/live and pages 200 meanwhile; back after {} ms; nothing half done",
        answers.len(),
        served.len(),
        turned.len(),
        percentile(&mut turned, 50),
        longest.as_millis(),
        back.as_millis(),
    ));
}
