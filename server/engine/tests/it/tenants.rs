//! Tenants apart: in keys, replies, lists and connections; the database's own rules stand in `walls`.

use domain::{access::Role, problem::Code};
use sqlx::Executor as _;

use crate::fixture::{Fixture, PAYLOAD, add_tenant, code, person, request, won};

#[tokio::test]
async fn the_same_key_in_two_tenants_is_two_operations() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let (ours, _) = won(fixture.reserve("k").await);
    let (theirs, fence) =
        won(fixture.engine.reserve(&globex, request("k", PAYLOAD)).await.unwrap());
    assert_ne!(ours, theirs);
    assert_eq!(
        code(fixture.engine.operation_for_service(&fixture.service, theirs).await),
        Code::NotFound
    );
    assert_eq!(code(fixture.engine.start(&fixture.service, theirs, fence).await), Code::NotFound);
    let stranger = person(&fixture.db, &fixture.engine, "globex", "viewer", Role::Viewer).await;
    assert_eq!(code(fixture.engine.operation(&stranger, ours).await), Code::NotFound);
    let list = fixture.engine.list_operations(&stranger, &Default::default()).await.unwrap();
    assert_eq!(list.items.iter().map(|row| row.id).collect::<Vec<_>>(), [theirs]);
    testkit::threat("T22", 2, 0);
}

#[tokio::test]
async fn the_console_role_sees_nothing_without_a_tenant_and_never_another() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    fixture.reserve("k").await;
    fixture.engine.reserve(&globex, request("k", PAYLOAD)).await.unwrap();
    let tenant = fixture.service.tenant_id().to_string();
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_app").await.unwrap();
    let count = "select count(*) from operations";
    assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut *tx).await.unwrap(), 0);
    sqlx::query("select set_config('app.tenant', $1, true)")
        .bind(&tenant)
        .execute(&mut *tx)
        .await
        .unwrap();
    assert_eq!(sqlx::query_scalar::<_, i64>(count).fetch_one(&mut *tx).await.unwrap(), 1);
    let foreign = sqlx::query("select audit_add($1, 'staff', null, 'x', 'x', 'x', 'x', 'done', null, null, null, null, null, '')")
        .bind(globex.tenant_id().uuid())
        .execute(&mut *tx)
        .await;
    assert!(foreign.is_err(), "an audit row of another tenant is refused");
    tx.rollback().await.unwrap();
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_app").await.unwrap();
    for sql in [
        "insert into audit_heads values (gen_random_uuid(), 1, '')",
        "truncate notes",
        "delete from audit",
    ] {
        let mut inner = sqlx::Acquire::begin(&mut tx).await.unwrap();
        assert!(inner.execute(sql).await.is_err(), "{sql}");
        inner.rollback().await.unwrap();
    }
    tx.rollback().await.unwrap();
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_engine").await.unwrap();
    assert!(tx.execute("select * from staff").await.is_err(), "workers see no staff tables");
    testkit::threat("T21", 6, 0);
}

#[tokio::test]
async fn a_dropped_begin_leaves_no_transaction_open() {
    let fixture = Fixture::new().await;
    for wait in 0..200_u64 {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        let key = format!("dropped-{wait}");
        let task =
            tokio::spawn(async move { engine.reserve(&service, request(&key, PAYLOAD)).await });
        tokio::time::sleep(std::time::Duration::from_micros(wait * 20)).await;
        task.abort();
        let _ = task.await;
    }
    let (id, _) = won(fixture.reserve("after").await);
    assert_eq!(
        fixture.status(id).await,
        "reserved",
        "an acknowledged reserve is visible to everybody"
    );
    let idle = "select count(*) from pg_stat_activity
        where datname = current_database() and state = 'idle in transaction'";
    testkit::eventually(
        "no transaction is left open",
        std::time::Duration::from_secs(10),
        async || fixture.count(idle).await == 0,
    )
    .await;
}

#[tokio::test]
async fn a_connection_that_served_one_tenant_shows_the_next_nothing_of_it() {
    let db = testkit::TestDatabase::create().await;
    // One connection of the console: whoever comes next has the one that was used before.
    let one = engine::Settings { console_connections: 1, ..crate::fixture::settings(&db) };
    let engine = engine::Engine::connect(one).await.unwrap();
    let acme = add_tenant(&db, &engine, "acme").await;
    add_tenant(&db, &engine, "globex").await;
    engine.reserve(&acme, request("k", PAYLOAD)).await.unwrap();
    let ours = person(&db, &engine, "acme", "ann", Role::Viewer).await;
    let theirs = person(&db, &engine, "globex", "gil", Role::Viewer).await;
    for _ in 0..3 {
        let seen =
            async |by| engine.list_operations(by, &Default::default()).await.unwrap().items.len();
        assert_eq!((seen(&ours).await, seen(&theirs).await), (1, 0));
    }
    // Nor does a statement that sets no tenant, on the same kind of connection after its commit (F8).
    let mut connection = db.owner_pool().acquire().await.unwrap();
    connection.execute("set role onceover_app").await.unwrap();
    for end in ["commit", "rollback"] {
        connection.execute("begin").await.unwrap();
        sqlx::query("select set_config('app.tenant', $1, true)")
            .bind(acme.tenant_id().to_string())
            .execute(&mut *connection)
            .await
            .unwrap();
        let rows = "select count(*) from operations";
        assert_eq!(
            sqlx::query_scalar::<_, i64>(rows).fetch_one(&mut *connection).await.unwrap(),
            1
        );
        connection.execute(end).await.unwrap();
        assert_eq!(
            sqlx::query_scalar::<_, i64>(rows).fetch_one(&mut *connection).await.unwrap(),
            0
        );
    }
    connection.execute("reset role").await.unwrap();
    // Three looks in turn, and a statement after each of two ends.
    testkit::threat("T21", 5, 0);
}
