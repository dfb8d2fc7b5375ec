//! What changes is told to whoever follows its tenant: after the commit, by ids alone, and never what
//! was rolled back (D26, docs/live.md).

use std::time::Duration;

use domain::{
    access::Role,
    problem::Code,
    record::{RecordName, RecordType},
};
use engine::{EngineError, FinishOutcome, Following, RequestOrigin};
use testkit::{eventually, within};

use crate::fixture::{Fixture, add_tenant, code, done, engine, happened, person, request, won};

const LIMIT: Duration = Duration::from_secs(30);

/// Follows the tenant of a person with a session, once the listener stands.
async fn follow(fixture: &Fixture, email: &str) -> Following {
    let engine = &fixture.engine;
    let attempt = engine.begin_sign_in(email).await.unwrap();
    let session = engine.finish_sign_in(attempt, true, RequestOrigin::here("r-1")).await.unwrap();
    let standing = engine.session_standing(&session.token).await.unwrap().unwrap();
    let following = engine.follow(&standing, None);
    eventually("the listener stands", LIMIT, async || {
        let listening = "select count(*) from pg_stat_activity where datname = current_database()
             and application_name = 'onceover listener' and state = 'idle' and query like '%onceover_now%'";
        fixture.count(listening).await == 1
    })
    .await;
    following
}

/// Waits until a record is named; returns all that was named up to then, without instants.
async fn until(following: &mut Following, record: &str) -> Vec<String> {
    let mut named = Vec::new();
    while !named.iter().any(|known: &String| known.trim_start_matches('+') == record) {
        let news = within(record, LIMIT, following.next()).await;
        for item in news.records.split(' ') {
            let (name, at) = item.split_once('@').unwrap();
            assert!(at.parse::<i64>().unwrap() <= news.latest_ms);
            named.push(name.to_owned());
        }
    }
    named
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_command_changes_is_told_with_all_that_hangs_on_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let mut following = follow(&fixture, "operator@acme.test").await;
    let (id, _) = won(fixture.reserve("k").await);
    let operation = format!("operation/{id}");
    assert_eq!(until(&mut following, &operation).await, [format!("+{operation}")]);

    let (asked, version) = fixture.needs_person("m").await;
    let asked = (asked, format!("operation/{asked}"));
    until(&mut following, &asked.1).await;
    let receipt = done(fixture.engine.act(&operator, happened(asked.0, version, "ch_1")).await);
    assert!(!receipt.replayed);
    // The decision settles the operation and adds an event; the decision's own row is no record of a list.
    let event: uuid::Uuid = sqlx::query_scalar("select id from outbox order by id desc limit 1")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let named = until(&mut following, &format!("event/{event}")).await;
    assert!(named.contains(&asked.1) && named.contains(&format!("+event/{event}")), "{named:?}");
    assert!(named.iter().all(|name| !name.contains(&receipt.receipt.id.to_string())), "{named:?}");

    fixture.engine.add_note(&operator, id, "form-1", "I rang them").await.unwrap();
    assert_eq!(until(&mut following, &operation).await.join(" "), operation);
    let about = RecordName { record: RecordType::Event, id: event };
    fixture.engine.add_note(&operator, about, "form-2", "it is told later").await.unwrap();
    let told = format!("event/{event}");
    assert_eq!(until(&mut following, &told).await.join(" "), told);
    let other = r#"{"invoice_id":"INV-2","amount_minor":1,"currency":"EUR"}"#;
    assert_eq!(code(fixture.reserve_as("k", other).await), Code::KeyReused);
    let named = until(&mut following, &operation).await;
    assert!(named.iter().any(|name| name.starts_with("+conflict/")), "{named:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_rolled_back_is_never_told() {
    let fixture = Fixture::new().await;
    fixture.person("operator", Role::Operator).await;
    let (broken, fence) = fixture.executing("broken").await;
    let mut following = follow(&fixture, "operator@acme.test").await;
    let (first, _) = won(fixture.reserve("first").await);
    until(&mut following, &format!("operation/{first}")).await;
    // The operation has moved by the time its event is refused.
    let run = async |sql: &'static str| sqlx::query(sql).execute(fixture.pool()).await.unwrap();
    run("alter table outbox add constraint nothing check (false) not valid").await;
    let refused = fixture.finish(broken, fence, FinishOutcome::Done, Some("ch_1")).await;
    assert!(matches!(refused, Err(EngineError::Database(_))), "{refused:?}");
    run("alter table outbox drop constraint nothing").await;
    let (id, _) = won(fixture.reserve("k").await);
    let named = until(&mut following, &format!("operation/{id}")).await;
    assert_eq!(named, [format!("+operation/{id}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_tenant_is_told_of_its_own_records_by_every_process() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    fixture.person("operator", Role::Operator).await;
    person(&fixture.db, &fixture.engine, "globex", "operator", Role::Operator).await;
    let mut acme = follow(&fixture, "operator@acme.test").await;
    let mut theirs = follow(&fixture, "operator@globex.test").await;
    // Another process, as a worker is one.
    let other = engine(&fixture.db).await;
    let (foreign, _) =
        won(other.reserve(&globex, request("k", crate::fixture::PAYLOAD)).await.unwrap());
    let (own, _) = won(fixture.reserve("k").await);
    let named = until(&mut acme, &format!("operation/{own}")).await;
    assert_eq!(named, [format!("+operation/{own}")]);
    let named = until(&mut theirs, &format!("operation/{foreign}")).await;
    assert_eq!(named, [format!("+operation/{foreign}")]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_listener_comes_back_and_says_that_it_may_have_missed_something() {
    let fixture = Fixture::new().await;
    fixture.person("operator", Role::Operator).await;
    let mut following = follow(&fixture, "operator@acme.test").await;
    let cut = "select count(pg_terminate_backend(pid)) from pg_stat_activity
         where datname = current_database() and application_name = 'onceover listener'";
    assert_eq!(fixture.count(cut).await, 1);
    until(&mut following, "*").await;
    let (id, _) = won(fixture.reserve("k").await);
    until(&mut following, &format!("operation/{id}")).await;
}

#[tokio::test]
async fn a_transaction_that_changes_very_much_says_so_in_bounded_words() {
    let fixture = Fixture::new().await;
    let (id, _) = won(fixture.reserve("k").await);
    let mut db = fixture.pool().acquire().await.unwrap();
    sqlx::query(
        "insert into evidence (tenant_id, operation_id, source, says, actor_kind, actor)
         select o.tenant_id, o.id, 'lookup', 'absent', 'database', 'test'
         from operations o, generate_series(1, 500) where o.id = $1",
    )
    .bind(id.uuid())
    .execute(&mut *db)
    .await
    .unwrap();
    let told: String =
        sqlx::query_scalar("show onceover.changed").fetch_one(&mut *db).await.unwrap();
    assert!(told.len() < 6_500, "{}", told.len());
    assert_eq!(told.matches(" *@").count(), 1);
}
