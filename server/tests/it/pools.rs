//! R16: a pool that is exhausted costs others nothing, and whoever waits for it a 503 in time.

use std::{
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use axum::http::StatusCode;
use serde_json::json;
use testkit::eventually;

use crate::{
    figures::{percentile, say},
    support::Stage,
    wire::LIMIT,
};

/// Connections of each pool on a stage.
const POOL: usize = 4;
/// Whoever waits for a connection is told within three seconds; as long again for a machine that runs
/// all tests at once.
const TOLD_WITHIN: Duration = Duration::from_secs(6);
/// A free connection is given within a second; ten times that for the same reason.
const BACK_WITHIN: Duration = Duration::from_secs(10);

async fn all_are_held(stage: &Stage) {
    eventually("all connections are held", LIMIT, async || {
        let sql = "select count(*) from pg_stat_activity
                   where datname = current_database() and wait_event = 'PgSleep'";
        let held: i64 =
            sqlx::query_scalar(sql).fetch_one(stage.database.owner_pool()).await.unwrap();
        held == POOL as i64
    })
    .await;
}

/// How long those of the answers took that had this status.
fn of(answers: &[(StatusCode, Duration)], wanted: StatusCode) -> Vec<Duration> {
    let of = answers.iter().filter(|(status, _)| *status == wanted);
    of.map(|(_, took)| *took).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_pool_answers_503_in_time_and_comes_back() {
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
        all_are_held(&stage).await;
        // The process lives, and the console has a pool of its own.
        stage.stranger().get("/health/live").await.expect(StatusCode::OK);
        browser.get("/operations").await.expect(StatusCode::OK);
        browser.get("/help").await.expect(StatusCode::OK);
    };
    let (answers, ()) = tokio::join!(asked, others);
    let served = of(&answers, StatusCode::CREATED);
    let mut turned = of(&answers, StatusCode::SERVICE_UNAVAILABLE);
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
    assert!(longest < TOLD_WITHIN, "{longest:?}");
    assert!(back < BACK_WITHIN, "{back:?}");
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

#[tokio::test(flavor = "multi_thread")]
async fn an_exhausted_console_keeps_no_service_waiting() {
    let stage = Stage::open().await;
    let about = stage.unknown("acme", "INV-1").await;
    // The use of a token is noted once a minute: of one of these it will be, while the call waits.
    let (used, fresh) = (stage.service("acme").await, stage.service("acme").await);
    used.reserve("before", 1).await.expect(StatusCode::CREATED);
    let answered = AtomicUsize::new(0);
    let staff = stage.staff("operator@acme.test").await;
    for sql in [
        "create function slowly() returns trigger language plpgsql
         as $$ begin perform pg_sleep(3.5); return new; end $$",
        "create trigger slowly before insert on notes for each row execute function slowly()",
    ] {
        sqlx::query(sql).execute(stage.database.owner_pool()).await.unwrap();
    }
    let path = format!("/operations/{}/notes", about.id);
    let asked = async {
        let all = (0..3 * POOL).map(async |n| {
            let note = json!({ "form_key": format!("form-{n}"), "text": "seen" });
            let begun = Instant::now();
            let status = staff.post(&path, &note).await.status;
            answered.fetch_add(1, Ordering::Relaxed);
            (status, begun.elapsed())
        });
        futures_util::future::join_all(all).await
    };
    let others = async {
        all_are_held(&stage).await;
        for (service, key) in [(&used, "one"), (&fresh, "two")] {
            service.reserve(key, 1).await.expect(StatusCode::CREATED);
        }
        answered.load(Ordering::Relaxed)
    };
    let (answers, before) = tokio::join!(asked, others);
    assert_eq!(before, 0, "services were served while nobody of the console was");
    let served = of(&answers, StatusCode::NO_CONTENT).len();
    let turned = of(&answers, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!((served, turned.len()), (POOL, 2 * POOL), "{answers:?}");
    assert!(turned.iter().all(|took| *took < TOLD_WITHIN), "{turned:?}");
    say(&format!(
        "R16: {} slow notes on {POOL} connections of the console: {served} served, {} answered 503; services \
         201 meanwhile",
        answers.len(),
        turned.len(),
    ));
}
