//! Nobody but the one function writes the log, and whoever does it by hand is found, with tenant and
//! place (T30).

use domain::{
    access::Role,
    view::{ChainFault, ChainFindings},
};
use engine::audit::{AnchoredHead, Auditor};
use sqlx::{AssertSqlSafe, Executor as _, PgConnection};

use crate::fixture::{Fixture, add_tenant, person};

/// The code of a statement that the database refused.
async fn refused(db: &mut PgConnection, sql: &str) -> String {
    let mut inner = sqlx::Acquire::begin(db).await.unwrap();
    let error = inner.execute(AssertSqlSafe(sql)).await.expect_err(sql);
    inner.rollback().await.unwrap();
    let code = error.as_database_error().and_then(|error| error.code().map(String::from));
    code.unwrap_or_else(|| panic!("{sql}: {error}"))
}

#[tokio::test]
async fn nobody_but_the_one_function_writes_and_nobody_at_all_rewrites() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id();
    let row = format!(
        "insert into audit values ('{tenant}', 99, now(), 'staff', null, 'x', 'x', 'x', 'x', 'done', null, null,
           null, null, null, '', '')"
    );
    let head = format!("insert into audit_heads values ('{tenant}', 99, '')");
    let statements = [
        row.as_str(),
        "update audit set actor = 'x'",
        "delete from audit",
        "truncate audit",
        head.as_str(),
        "update audit_heads set seq = 0",
        "delete from audit_heads",
        "truncate audit_heads",
    ];
    let mut tried = 0;
    for role in ["onceover_app", "onceover_engine"] {
        let mut tx = fixture.pool().begin().await.unwrap();
        let sql = format!("set local role {role}; set local app.tenant = '{tenant}'");
        tx.execute(AssertSqlSafe(sql)).await.unwrap();
        for sql in statements {
            assert_eq!(refused(&mut tx, sql).await, "42501", "{role}: {sql}");
            tried += 1;
        }
        tx.rollback().await.unwrap();
    }
    // The owner, a superuser even, is stopped by the triggers.
    let mut tx = fixture.pool().begin().await.unwrap();
    for sql in [
        "update audit set actor = 'x'",
        "delete from audit",
        "truncate audit",
        "delete from audit_heads",
        "truncate audit_heads",
    ] {
        assert_eq!(refused(&mut tx, sql).await, "23514", "owner: {sql}");
        tried += 1;
    }
    testkit::threat("T30", tried, 0);
}

#[tokio::test]
async fn only_the_two_roles_and_the_owner_may_call_the_one_function() {
    let fixture = Fixture::new().await;
    let others: Vec<String> = sqlx::query_scalar(
        "select a.grantee::regrole::text from pg_proc p, aclexplode(p.proacl) a
         where p.proname = 'audit_add' and a.grantee <> p.proowner order by 1",
    )
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    assert_eq!(others, ["onceover_app", "onceover_engine"]);
    let unsafe_path: i64 = fixture
        .count(
            "select count(*) from pg_proc where prosecdef and pronamespace = 'public'::regnamespace
               and not coalesce(proconfig::text like '%search_path%', false)",
        )
        .await;
    assert_eq!(unsafe_path, 0, "a function of the owner's rights says where it looks for names");
}

/// Two tenants, each with some entries.
async fn scene() -> Fixture {
    let fixture = Fixture::new().await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    person(&fixture.db, &fixture.engine, "globex", "grace", Role::Auditor).await;
    for name in ["ann", "bob", "cid", "dan", "eve"] {
        fixture.person(name, Role::Viewer).await;
    }
    let rows = fixture.count(
        "select seq from audit_heads h join tenants t on t.id = h.tenant_id where slug = 'acme'",
    );
    assert!(rows.await >= 9);
    fixture
}

async fn verify(fixture: &Fixture, slug: &str) -> ChainFindings {
    let mut auditor = Auditor::connect(&fixture.db.url()).await.unwrap();
    let tenant = auditor.tenant(slug).await.unwrap().unwrap();
    auditor.verify(tenant).await.unwrap()
}

/// What a superuser does who turns the triggers off first. `$acme` stands for the tenant.
async fn by_hand(fixture: &Fixture, sql: &str) {
    let sql = sql.replace("$acme", &format!("'{}'", fixture.service.tenant_id()));
    let mut db = fixture.pool().acquire().await.unwrap();
    db.execute(AssertSqlSafe(format!(
        "set session_replication_role = replica; {sql}; set session_replication_role = origin"
    )))
    .await
    .unwrap();
}

#[tokio::test]
async fn a_log_that_nobody_touched_is_whole_and_tells_its_head() {
    let fixture = scene().await;
    for slug in ["acme", "globex"] {
        let found = verify(&fixture, slug).await;
        assert!(found.is_whole(), "{slug}: {found:?}");
        assert_eq!((found.rows, found.hash.len()), (found.seq, 64), "{slug}");
    }
    let mut auditor = Auditor::connect(&fixture.db.url()).await.unwrap();
    assert_eq!(auditor.tenant("nobody").await.unwrap(), None);
    let mut all = Vec::new();
    while let Some((_, slug)) =
        auditor.tenant_after(all.last().map_or("", String::as_str)).await.unwrap()
    {
        all.push(slug);
    }
    assert_eq!(all, ["acme", "globex"]);
}

#[tokio::test]
async fn whoever_edits_by_hand_is_found_with_the_place() {
    const WHERE: &str = "where tenant_id = $acme and seq";
    let last = "(select max(seq) from audit where tenant_id = $acme)";
    let one_byte = format!("update audit set actor = actor || ' ' {WHERE} = 4");
    let hash = format!(
        "update audit set hash = set_byte(hash, 0, (get_byte(hash, 0) + 1) % 256) {WHERE} = 4"
    );
    let swap = format!(
        "update audit set seq = -3 {WHERE} = 3; update audit set seq = 3 {WHERE} = 6; \
         update audit set seq = 6 {WHERE} = -3"
    );
    let contents = "update audit a set target_id = b.target_id, action = b.action, target_type = b.target_type, \
           after = b.after, at = b.at from audit b \
         where a.tenant_id = $acme and b.tenant_id = $acme and (a.seq, b.seq) in ((3, 6), (6, 3))";
    let middle = format!("delete from audit {WHERE} = 5");
    let first = format!("delete from audit {WHERE} = 1");
    let tail = format!("delete from audit {WHERE} > {last} - 2");
    let all = "delete from audit where tenant_id = $acme";
    let head = "delete from audit_heads where tenant_id = $acme";
    let genesis = format!(
        "update audit set hash = sha256(convert_to(jsonb_build_array(tenant_id, seq, extract(epoch from at), actor_kind, \
           actor_id, actor, action, target_type, target_id, result, code, reason, before, after, receipt, \
           request_id)::text, 'UTF8')) {WHERE} = 4"
    );
    let before = format!("update audit set seq = 0 {WHERE} = 5");
    let rows = verify(&scene().await, "acme").await.rows;
    let cases = [
        (one_byte.as_str(), vec![ChainFault::Altered { from: 4, to: 4 }]),
        // Its own text does not give it, and the next does not follow from it.
        (&hash, vec![ChainFault::Altered { from: 4, to: 5 }]),
        (&swap, vec![ChainFault::Swapped { one: 3, other: 6 }]),
        (contents, vec![ChainFault::Swapped { one: 3, other: 6 }]),
        (&middle, vec![ChainFault::Missing { from: 5, to: 5 }]),
        (&first, vec![ChainFault::Missing { from: 1, to: 1 }]),
        (&tail, vec![ChainFault::TailMissing { from: rows - 1, to: rows }]),
        (all, vec![ChainFault::TailMissing { from: 1, to: rows }]),
        (head, vec![ChainFault::HeadMissing]),
        (
            &genesis,
            vec![ChainFault::SecondBeginning { at: 4 }, ChainFault::Altered { from: 5, to: 5 }],
        ),
        (
            &before,
            vec![ChainFault::BeforeBeginning { at: 0 }, ChainFault::Missing { from: 5, to: 5 }],
        ),
    ];
    let tried = cases.len();
    for (sql, faults) in cases {
        let fixture = scene().await;
        by_hand(&fixture, sql).await;
        assert_eq!(verify(&fixture, "acme").await.faults, faults, "{sql}");
        assert!(verify(&fixture, "globex").await.is_whole(), "the other tenant's is as it was");
    }
    testkit::threat("T30", tried, 0);
}

/// Writes an entry and says its place; without an address as a build does that knows of none.
async fn entry(fixture: &Fixture, client: Option<&str>) -> i64 {
    let client = client.map(|client| format!(", '{client}'")).unwrap_or_default();
    let sql = format!(
        "select audit_add('{}', 'staff', null, 'ann@acme.test', 'note', 'operation', 'x', 'done', null, 'seen',
           null, null, null, 'r'{client})",
        fixture.service.tenant_id()
    );
    sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(fixture.pool()).await.unwrap()
}

#[tokio::test]
async fn an_address_is_part_of_the_chain_and_entries_without_one_are_hashed_as_ever() {
    const OTHERWISE: &str = "select count(*) from (select client, hash = sha256(coalesce(lag(hash) over w, '') ||
        convert_to(jsonb_build_array(tenant_id, seq, extract(epoch from at), actor_kind, actor_id, actor, action,
          target_type, target_id, result, code, reason, before, after, receipt, request_id)::text, 'UTF8'))
          as as_ever
        from audit window w as (partition by tenant_id order by seq)) links where as_ever <> (client is null)";
    for (edit, of_an_address) in [
        ("client = '198.51.100.1'", true),
        ("client = null", true),
        ("client = '198.51.100.1'", false),
    ] {
        let fixture = scene().await;
        let bare = entry(&fixture, None).await;
        let addressed = entry(&fixture, Some("203.0.113.7")).await;
        entry(&fixture, None).await;
        assert_eq!(fixture.count(OTHERWISE).await, 0);
        let found = verify(&fixture, "acme").await;
        assert!(found.is_whole(), "{found:?}");
        let at = if of_an_address { addressed } else { bare };
        let sql = format!("update audit set {edit} where tenant_id = $acme and seq = {at}");
        by_hand(&fixture, &sql).await;
        let altered = [ChainFault::Altered { from: at, to: at }];
        assert_eq!(verify(&fixture, "acme").await.faults, altered, "{sql}");
    }
    testkit::threat("T30", 3, 0);
}

/// The head of a tenant as it would be anchored now.
async fn anchored(fixture: &Fixture) -> AnchoredHead {
    let found = verify(fixture, "acme").await;
    AnchoredHead {
        at: fixture.now().await,
        tenant: "acme".into(),
        tenant_id: fixture.service.tenant_id().uuid(),
        seq: found.seq,
        hash: found.hash,
    }
}

#[tokio::test]
async fn a_tail_that_went_with_its_head_is_seen_by_what_was_kept_outside() {
    let fixture = scene().await;
    let head = anchored(&fixture).await;
    by_hand(
        &fixture,
        "delete from audit where tenant_id = $acme and seq > 5; \
         update audit_heads h set seq = 5, hash = a.hash from audit a \
         where h.tenant_id = $acme and a.tenant_id = $acme and a.seq = 5",
    )
    .await;
    assert!(verify(&fixture, "acme").await.is_whole(), "the database alone cannot tell");
    let mut auditor = Auditor::connect(&fixture.db.url()).await.unwrap();
    let heads = [head.clone()];
    let seen = auditor.compare(&heads).await.unwrap();
    assert_eq!(seen, [Some(ChainFault::AnchoredMissing { at: head.seq })]);
    // Entries that are written after it do not hide it.
    while anchored(&fixture).await.seq < head.seq {
        fixture.person(&format!("p{}", anchored(&fixture).await.seq), Role::Viewer).await;
    }
    assert!(verify(&fixture, "acme").await.is_whole());
    let seen = auditor.compare(&heads).await.unwrap();
    assert_eq!(seen, [Some(ChainFault::AnchoredOtherwise { at: head.seq })]);
    assert_eq!(auditor.compare(&[anchored(&fixture).await]).await.unwrap(), [None]);
    testkit::threat("T30", 1, 0);
}

#[tokio::test]
async fn a_check_can_write_nothing() {
    let fixture = Fixture::new().await;
    let before = super::everything(&fixture).await;
    verify(&fixture, "acme").await;
    assert_eq!(super::everything(&fixture).await, before);
}
