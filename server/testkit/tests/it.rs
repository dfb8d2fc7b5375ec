//! The test kit on a real server. Run through `make test`, or
//! `cargo run -p cluster -- run -- cargo test -p testkit`.

use std::time::Duration;

use sqlx::PgPool;
use testkit::{TestDatabase, eventually};

async fn number(pool: &PgPool, query: &'static str) -> i64 {
    sqlx::query_scalar(query).fetch_one(pool).await.expect("answers")
}

async fn databases_named(pool: &PgPool, name: &str) -> i64 {
    sqlx::query_scalar("select count(*) from pg_database where datname = $1")
        .bind(name)
        .fetch_one(pool)
        .await
        .expect("answers")
}

#[tokio::test]
async fn tests_do_not_see_each_other() {
    let (one, two) = tokio::join!(TestDatabase::create(), TestDatabase::create());
    sqlx::query("create table mine ()").execute(one.owner_pool()).await.expect("made");
    let seen = "select count(*) from pg_tables where tablename = 'mine'";
    assert_eq!(number(one.owner_pool(), seen).await, 1);
    assert_eq!(number(two.owner_pool(), seen).await, 0);
}

#[tokio::test]
async fn an_hour_passes_at_once_and_only_here() {
    let (here, there) = tokio::join!(TestDatabase::create(), TestDatabase::create());
    here.advance_clock(Duration::from_secs(3600)).await;
    here.advance_clock(Duration::from_millis(1500)).await;
    let ahead =
        "select round(1000 * extract(epoch from onceover_now() - clock_timestamp()))::bigint";
    let moved = number(here.owner_pool(), ahead).await;
    assert!((3_601_490..=3_601_510).contains(&moved), "{moved} ms");
    let unmoved = number(there.owner_pool(), ahead).await;
    assert!((-10..=10).contains(&unmoved), "{unmoved} ms");
}

#[tokio::test(flavor = "multi_thread")]
async fn many_at_once_share_one_template() {
    let made: Vec<_> = (0..8).map(|_| tokio::spawn(TestDatabase::create())).collect();
    for one in made {
        let database = one.await.expect("made");
        assert_eq!(number(database.owner_pool(), "select 1::bigint").await, 1);
    }
}

#[tokio::test]
async fn a_database_goes_with_its_test_even_when_somebody_is_connected() {
    let watching = TestDatabase::create().await;
    let closed = TestDatabase::create().await;
    let name = closed.name().to_owned();
    let pool = PgPool::connect(&closed.url()).await.expect("connects");
    assert_eq!(databases_named(watching.owner_pool(), &name).await, 1);
    closed.close().await;
    assert_eq!(databases_named(watching.owner_pool(), &name).await, 0);
    drop(pool);

    let dropped = TestDatabase::create().await;
    let name = dropped.name().to_owned();
    drop(dropped);
    assert_eq!(databases_named(watching.owner_pool(), &name).await, 0);
}

#[tokio::test]
async fn waiting_ends_as_soon_as_it_holds() {
    let mut looks = 0;
    eventually("the third look", Duration::from_secs(60), async || {
        looks += 1;
        looks == 3
    })
    .await;
    assert_eq!(looks, 3);
}

#[tokio::test]
#[should_panic(expected = "pigs fly")]
async fn waiting_in_vain_names_what_was_awaited() {
    eventually("pigs fly", Duration::from_millis(30), async || false).await;
}
