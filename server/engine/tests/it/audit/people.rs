//! The actor is who acted, however many act at once (T31); nobody reads another tenant's log (T32).

use domain::{access::Role, action::Verb, listing::AuditFilter, problem::Code};
use futures_util::future::join_all;
use sqlx::Executor as _;
use testkit::TestDatabase;

use crate::fixture::{self, Fixture, add_tenant, code, done, person};

const PEOPLE: usize = 20;
const EACH: usize = 200;
/// As many as the engine has connections here: none waits for one.
const ABREAST: usize = 10;

/// Each entry of a note against the note that was written in its transaction.
const MISMATCHES: &str = "select count(*) from audit a
    where a.action = 'note' and not exists (
      select from notes n join staff s on s.id = n.staff_id
      where n.tenant_id = a.tenant_id and n.operation_id::text = a.target_id
        and s.email = a.actor and s.id = a.actor_id
        and n.text = s.name || ' saw ' || a.target_id)";

/// Commits do not wait for the disk: the entries of one chain are written one after the other, so that
/// each wait would be all others' too, and what outlives a crash is no question here.
async fn hurried() -> Fixture {
    let db = TestDatabase::create().await;
    let sql = format!("alter database {} set synchronous_commit = off", db.name());
    sqlx::query(sqlx::AssertSqlSafe(sql)).execute(db.owner_pool()).await.unwrap();
    let engine = fixture::engine(&db).await;
    let service = add_tenant(&db, &engine, "acme").await;
    Fixture { db, engine, service }
}

#[tokio::test(flavor = "multi_thread")]
async fn of_twenty_people_at_once_each_entry_names_who_acted() {
    let fixture = hurried().await;
    let keys: Vec<String> = (0..EACH).map(|n| format!("k-{n}")).collect();
    let mut ids = Vec::new();
    for some in keys.chunks(ABREAST) {
        let begun = join_all(some.iter().map(|key| fixture.executing(key))).await;
        ids.extend(begun.into_iter().map(|(id, _)| id));
    }
    let mut people = Vec::new();
    for n in 0..PEOPLE {
        people.push(fixture.person(&format!("p{n}"), Role::Operator).await);
    }
    let mut everybody = tokio::task::JoinSet::new();
    for by in people {
        let (engine, ids) = (fixture.engine.clone(), ids.clone());
        everybody.spawn(async move {
            // Two at a time by each, on the same records as all others.
            for pair in ids.chunks(2) {
                let notes = pair.iter().map(|id| {
                    let text = format!("{} saw {id}", by.name());
                    let (engine, by, id) = (engine.clone(), by.clone(), *id);
                    async move { engine.add_note(&by, id, "form-1", &text).await.unwrap() }
                });
                join_all(notes).await;
            }
        });
    }
    while let Some(person) = everybody.join_next().await {
        person.unwrap();
    }
    let all = i64::try_from(PEOPLE * EACH).unwrap();
    assert_eq!(fixture.count("select count(*) from audit where action = 'note'").await, all);
    assert_eq!(fixture.count(MISMATCHES).await, 0);
    assert_eq!(
        fixture.count("select count(distinct actor) from audit where action = 'note'").await,
        20
    );
    let mut auditor = engine::audit::Auditor::connect(&fixture.db.url()).await.unwrap();
    let found = auditor.verify(fixture.service.tenant_id()).await.unwrap();
    assert!(found.is_whole(), "{found:?}");
    testkit::threat("T31", PEOPLE * EACH, 0);
}

#[tokio::test]
async fn decisions_of_many_at_once_and_their_refusals_name_who_decided() {
    let fixture = Fixture::new().await;
    let mut people = Vec::new();
    for n in 0..10 {
        let role = if n % 2 == 0 { Role::Operator } else { Role::Viewer };
        people.push(fixture.person(&format!("p{n}"), role).await);
    }
    let mut all = tokio::task::JoinSet::new();
    for by in &people {
        let (id, version) = fixture.unknown_mail(by.name()).await;
        let (engine, by) = (fixture.engine.clone(), by.clone());
        all.spawn(async move {
            let request = crate::fixture::action(id, Verb::Reconcile, version);
            let decided = engine.act(&by, request).await;
            if by.role() == Role::Operator {
                assert_eq!(done(decided).receipt.actor_email, by.email());
            } else {
                assert_eq!(code(decided), Code::PermissionMissing);
            }
        });
    }
    while let Some(one) = all.join_next().await {
        one.unwrap();
    }
    // Each operation's key is the name of the one person who decided about it.
    let wrong = "select count(*) from audit a join operations o on o.id::text = a.target_id
        join staff s on s.name = o.key
        where a.action = 'reconcile' and (a.actor, a.actor_id) is distinct from (s.email, s.id)";
    assert_eq!(fixture.count(wrong).await, 0);
    let kinds = "select count(*) from audit where action = 'reconcile' and result =
        case when actor in (select email from staff where name ~ '^p[02468]$') then 'done' else 'denied' end";
    assert_eq!(fixture.count(kinds).await, 10);
    testkit::threat("T31", 1, 0);
}

#[tokio::test]
async fn an_auditor_sees_no_entry_of_another_tenant() {
    let fixture = Fixture::new().await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let (db, engine) = (&fixture.db, &fixture.engine);
    let ours = fixture.person("auditor", Role::Auditor).await;
    let theirs = person(db, engine, "globex", "auditor", Role::Auditor).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    fixture.person("only-of-acme", Role::Viewer).await;
    let page = engine.list_audit(&theirs, &AuditFilter::default()).await.unwrap();
    assert!(!page.items.is_empty());
    assert!(page.items.iter().all(|row| !row.target.contains("acme")), "{page:?}");
    let about = AuditFilter { target: Some("only-of-acme@acme.test".into()), ..Default::default() };
    assert_eq!(engine.list_audit(&theirs, &about).await.unwrap().items, []);
    assert_eq!(engine.list_audit(&ours, &about).await.unwrap().items.len(), 1);
    assert_eq!(code(engine.list_audit(&viewer, &about).await), Code::PermissionMissing);
    assert_eq!(code(engine.audit_chain(&viewer).await), Code::PermissionMissing);
    // The database holds the same wall, whatever a statement forgets.
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_app").await.unwrap();
    for table in ["audit", "audit_heads", "audit_checks"] {
        let rows = sqlx::AssertSqlSafe(format!("select count(*) from {table}"));
        assert_eq!(sqlx::query_scalar::<_, i64>(rows).fetch_one(&mut *tx).await.unwrap(), 0);
    }
    sqlx::query("select set_config('app.tenant', $1, true)")
        .bind(theirs.tenant_id().to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let tenants = "select count(distinct tenant_id) from audit";
    assert_eq!(sqlx::query_scalar::<_, i64>(tenants).fetch_one(&mut *tx).await.unwrap(), 1);
}
