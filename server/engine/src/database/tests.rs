//! R15: a `begin` that is given up leaves no transaction open in its pool (F4).

use std::{future::poll_fn, io::Write as _, pin::pin, task::Poll};

use sqlx::AssertSqlSafe;
use testkit::TestDatabase;

use super::*;
use crate::settings::{Anchors, Limits};

const BEGINS: usize = 400;

/// Begins, and gives it up once it has been asked so often how far it is; says whether it had not
/// begun by then.
#[expect(clippy::disallowed_methods, reason = "what is given up is the begin itself")]
async fn give_up(pool: &PgPool, looks: usize) -> bool {
    let mut work = pin!(pool.begin());
    let mut left = looks;
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(_) => Poll::Ready(false),
        Poll::Pending if left == 0 => Poll::Ready(true),
        Poll::Pending => {
            left -= 1;
            Poll::Pending
        }
    })
    .await
}

/// How many begins were given up, and how often the next borrower's write was acknowledged and is
/// not there.
async fn cancelled_and_lost(pool: &PgPool, seen_by: &PgPool, from: usize) -> (usize, usize) {
    let (mut cancelled, mut lost) = (0, 0);
    let mut n = from;
    while cancelled < BEGINS && n < from + 8 * BEGINS {
        cancelled += usize::from(give_up(pool, n % 4).await);
        let sql = format!("insert into probe values ({n})");
        sqlx::query(AssertSqlSafe(sql)).execute(pool).await.unwrap();
        let sql = format!("select count(*) from probe where n = {n}");
        let there: i64 = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(seen_by).await.unwrap();
        lost += usize::from(there == 0);
        n += 1;
    }
    (cancelled, lost)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_begin_that_is_given_up_poisons_no_connection() {
    let database = TestDatabase::create().await;
    let owner = database.owner_pool();
    for sql in ["create table probe (n int)", "grant insert on probe to onceover_engine"] {
        sqlx::query(sql).execute(owner).await.unwrap();
    }
    let settings = Settings {
        database_url: database.url(),
        engine_connections: 1,
        console_connections: 1,
        providers: Vec::new(),
        webhook_secrets: Vec::new(),
        inbox_sources: Vec::new(),
        search_secret: Vec::new(),
        factor_secret: None,
        workflows: Vec::new(),
        worker_name: "test".into(),
        limits: Limits::default(),
        destinations: Vec::new(),
        anchors: Anchors::default(),
        console_url: None,
        event_retention_days: 30,
    };
    // The control: the same pool without the hook loses what it acknowledged.
    let without = PgPoolOptions::new().max_connections(1);
    let without = without.connect_with(options(&settings, "onceover_engine").unwrap());
    let (_, control) = cancelled_and_lost(&without.await.unwrap(), owner, 0).await;
    assert!(control > 0, "this probe does not see the fault any more");

    let pools = Pools::connect(&settings).await.unwrap();
    let (cancelled, lost) = cancelled_and_lost(pools.engine(), owner, 1_000_000).await;
    assert!(cancelled >= BEGINS, "{cancelled} of {BEGINS} were given up");
    assert_eq!(lost, 0);
    let mut out = std::io::stdout();
    let _ = writeln!(
        out,
        "  R15: {cancelled} cancelled begins, {lost} poisoned (control without the hook: {control} writes lost)"
    );
}
