//! R15: a `begin` that is given up leaves no transaction open in its pool (F4). R27, T38: no statement, lock
//! or idle transaction of any pool goes on for longer than its limit.

use std::{future::poll_fn, io::Write as _, pin::pin, task::Poll};

use sqlx::{AssertSqlSafe, Executor as _};
use testkit::{TestDatabase, eventually, within};

use super::*;
use crate::settings::{Anchors, Limits};

const BEGINS: usize = 400;
/// How long a limit may take to be felt; far more than each of them, and less than what it ends.
const LIMIT: Duration = Duration::from_secs(45);

fn settings(database: &TestDatabase) -> Settings {
    Settings {
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
    }
}

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
    let settings = settings(&database);
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

/// The SQLSTATE by which PostgreSQL ends a statement, in each pool at the same time.
async fn ended_in_each(pools: &Pools, sql: &'static str) -> [String; 3] {
    let ended = async |pool: &PgPool| {
        let error = within(sql, LIMIT, sqlx::query(sql).execute(pool)).await.unwrap_err();
        let state = error.as_database_error().and_then(|error| error.code());
        state.unwrap_or_else(|| panic!("{error:?}")).into_owned()
    };
    tokio::join!(ended(&pools.engine), ended(&pools.console), ended(&pools.identity)).into()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_statement_that_goes_on_is_cancelled_in_every_pool() {
    let database = TestDatabase::create().await;
    let pools = Pools::connect(&settings(&database)).await.unwrap();
    assert_eq!(ended_in_each(&pools, "select pg_sleep(60)").await, ["57014"; 3]);
    // The connections are as good as before.
    pools.ping().await.unwrap();
    testkit::threat("T38", 3, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_waits_for_a_lock_is_let_go_in_every_pool() {
    let database = TestDatabase::create().await;
    let pools = Pools::connect(&settings(&database)).await.unwrap();
    let mut holder = database.owner_pool().acquire().await.unwrap();
    holder.execute("begin; lock table operations in access exclusive mode").await.unwrap();
    let waiting = "select count(*) from operations";
    assert_eq!(ended_in_each(&pools, waiting).await, ["55P03"; 3], "sooner than a statement");
    holder.execute("rollback").await.unwrap();
    pools.ping().await.unwrap();
    testkit::threat("T38", 3, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_transaction_that_does_nothing_is_ended_and_holds_no_lock() {
    let database = TestDatabase::create().await;
    let pools = Pools::connect(&settings(&database)).await.unwrap();
    let mut idle = [pools.begin_engine().await.unwrap(), pools.begin_session().await.unwrap()];
    let mut pids: Vec<i32> = Vec::new();
    for tx in &mut idle {
        tx.execute("lock table operations in access share mode").await.unwrap();
        let pid = sqlx::query_scalar("select pg_backend_pid()").fetch_one(&mut **tx).await;
        pids.push(pid.unwrap());
    }
    eventually("the transactions are ended", LIMIT, async || {
        let open = "select count(*) from pg_stat_activity where pid = any($1)";
        let open: i64 =
            sqlx::query_scalar(open).bind(&pids).fetch_one(database.owner_pool()).await.unwrap();
        open == 0
    })
    .await;
    for tx in idle {
        assert!(tx.commit().await.is_err(), "what it did is not there");
    }
    pools.ping().await.unwrap();
    testkit::threat("T38", 2, 0);
}
