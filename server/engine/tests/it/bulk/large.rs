//! Fifty thousand records: frozen and looked at in bounded batches, each by an index; more is refused with
//! the number. The long form decides every one of them.

use std::{
    io::Write as _,
    time::{Duration, Instant},
};

use domain::{access::Role, action::Verb, bulk::BulkState, listing::BulkRowFilter};
use sqlx::Executor as _;
use tracing_subscriber::layer::SubscriberExt as _;

use crate::{
    fixture::{Fixture, engine},
    plans::{Plans, judge},
};

const MOST: i64 = 50_000;

/// That many mails whose outcome nobody knows, beside as many that are over.
async fn plant(fixture: &Fixture, unknown: i64) {
    fixture.engine.reserve(&fixture.service, crate::fixture::mail_request("first")).await.unwrap();
    let mut db = fixture.pool().acquire().await.unwrap();
    db.execute("set statement_timeout = 0").await.unwrap();
    db.execute("alter table operations disable trigger user").await.unwrap();
    sqlx::query(
        "insert into operations (tenant_id, id, operation, key, hash, hash_version, status, attempt, max_attempts,
           unknown_since, next_reconcile_at, completed_at, created_by_kind, created_by)
         select o.tenant_id,
           (lpad(to_hex((extract(epoch from now()) * 1000)::bigint - n * 10), 12, '0') || '70008000000000000000')::uuid,
           'campaign.send', 'key-' || n, o.hash, 1, s.status, 1, 3,
           case when s.status = 'unknown' then now() end,
           case when s.status = 'unknown' then now() + interval '1 hour' end,
           case when s.status = 'succeeded' then now() end, 'service', 'planted'
         from (select * from operations limit 1) o, generate_series(1, 2 * $1) n,
           lateral (select case when n % 2 = 0 then 'unknown' else 'succeeded' end as status) s",
    )
    .bind(unknown)
    .execute(&mut *db)
    .await
    .unwrap();
    db.execute("alter table operations enable trigger user").await.unwrap();
    db.execute("vacuum analyze operations").await.unwrap();
}

#[tokio::test]
async fn fifty_thousand_records_are_frozen_in_bounded_batches_by_index() {
    let fixture = Fixture::new().await;
    plant(&fixture, MOST).await;
    let operator = fixture.person("operator", Role::Operator).await;
    Plans::explain_from_now_on(&fixture).await;
    let explained = engine(&fixture.db).await;
    let plans = Plans::default();
    let _guard =
        tracing::subscriber::set_default(tracing_subscriber::registry().with(plans.clone()));
    let filter = [("status", "unknown"), ("operation", "campaign.send")];
    let frozen = fixture.freeze_matching(&operator, Verb::Reconcile, &filter).await.unwrap();
    let mut batches = 0;
    loop {
        let handled = explained.advance_bulks().await.unwrap().handled;
        assert!(handled <= 1_000, "a batch of {handled}");
        let row = fixture.bulk(&operator, frozen.id).await.row;
        batches += 1;
        assert!(batches <= 60, "it gets on: {row:?}");
        if row.status != BulkState::Freezing {
            assert_eq!((row.status, row.total), (BulkState::Checking, MOST));
            break;
        }
    }
    // Looking at them and deciding: a few batches of each, in the middle of so many rows.
    for _ in 0..3 {
        assert!(explained.advance_bulks().await.unwrap().handled <= 100);
    }
    sqlx::query("update bulk_rows set standing = 'eligible' where standing = 'frozen'")
        .execute(fixture.pool())
        .await
        .unwrap();
    sqlx::query("update bulks set eligible = total").execute(fixture.pool()).await.unwrap();
    (&mut *fixture.pool().acquire().await.unwrap())
        .execute("vacuum analyze bulk_rows")
        .await
        .unwrap();
    explained.advance_bulks().await.unwrap();
    crate::fixture::done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    for _ in 0..3 {
        assert_eq!(explained.advance_bulks().await.unwrap().handled, 20);
    }
    let deep = BulkRowFilter { cursor: Some("n40000".into()), ..BulkRowFilter::default() };
    for _ in 0..7 {
        explained.bulk_rows(&operator, frozen.id, &deep).await.unwrap();
        explained.bulk(&operator, frozen.id).await.unwrap();
        explained.list_bulks(&operator, &Default::default()).await.unwrap();
    }
    let told = plans.take();
    let (read, wrong) = judge(told.iter().map(|plan| ("bulk", plan)));
    assert!(
        wrong.is_empty(),
        "{} of {read} plans read too much:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(read > 100, "the database told only {read} plans");
}

#[tokio::test]
async fn more_than_a_bulk_may_have_are_refused_with_the_number() {
    let fixture = Fixture::new().await;
    plant(&fixture, MOST + 1).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let filter = [("status", "unknown")];
    let frozen = fixture.freeze_matching(&operator, Verb::Reconcile, &filter).await.unwrap();
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(bulk.row.status, BulkState::Abandoned);
    assert_eq!(bulk.cause.as_deref(), Some("More than 50000 records match: narrow the filter."));
}

/// A line on the real standard output, past libtest's capture.
fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "  {line}");
}

/// Has the background work until the bulk has left a state; how long that took. Every batch is bounded.
async fn through(
    fixture: &Fixture,
    by: &engine::StaffCaller,
    id: domain::ids::BulkId,
    state: BulkState,
) -> Duration {
    let begun = Instant::now();
    while fixture.bulk(by, id).await.row.status == state {
        let handled = fixture.engine.advance_bulks().await.unwrap().handled;
        assert!(handled <= 1_000, "{state:?}: a batch of {handled}");
        // The batch that finds nothing left is the one that ends the state.
        let left = fixture.bulk(by, id).await.row.status != state;
        assert!(handled > 0 || left, "{state:?}: nothing was done and more is left");
    }
    begun.elapsed()
}

#[tokio::test]
#[ignore = "it decides 50,000 records one by one: make bulk"]
async fn long_form() {
    let fixture = Fixture::new().await;
    plant(&fixture, MOST).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let filter = [("status", "unknown"), ("operation", "campaign.send")];
    let frozen = fixture.freeze_matching(&operator, Verb::Reconcile, &filter).await.unwrap();
    let freezing = through(&fixture, &operator, frozen.id, BulkState::Freezing).await;
    let checking = through(&fixture, &operator, frozen.id, BulkState::Checking).await;
    let ready = fixture.bulk(&operator, frozen.id).await.row;
    assert_eq!((ready.status, ready.total, ready.eligible), (BulkState::Ready, MOST, MOST));
    crate::fixture::done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    let running = through(&fixture, &operator, frozen.id, BulkState::Running).await;

    let over = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(super::results(&over), (BulkState::Over, MOST, 0));
    for (what, expected) in [
        ("select count(*) from operation_events where move = 'O32'", MOST),
        ("select count(distinct operation_id) from operation_events where move = 'O32'", MOST),
        ("select count(*) from audit where action = 'reconcile' and result = 'done'", MOST),
        ("select count(*) from bulk_rows where standing <> 'done'", 0),
    ] {
        assert_eq!(fixture.count(what).await, expected, "{what}");
    }
    let minutes = |took: Duration| took.as_secs_f64() / 60.0;
    say(&format!(
        "bulk: {MOST} records frozen within {:.1} min, looked at within {:.1} min, decided within {:.1} min ({:.0} \
         a second)",
        minutes(freezing),
        minutes(checking),
        minutes(running),
        50_000.0 / running.as_secs_f64(),
    ));
}
