//! The wall between tenants as the catalogue has it (F8, T21, T22): a table, a view, a key or a right
//! that a migration adds without it fails here, by name.

use sqlx::Executor as _;

use crate::fixture::{Fixture, PAYLOAD, add_tenant, request};

/// Without walls: read and written before a tenant is known, by the hash of what somebody shows.
const BEFORE_A_TENANT: [&str; 1] = ["sessions"];

/// Read before a tenant is known: who belongs where, and the hash of what a program shows. Written they
/// are within one alone.
const READ_BEFORE_A_TENANT: [&str; 2] = ["memberships", "tokens"];

/// Rights over a tenant's rows of a role that has no policy there, with the reason.
const UNPOLICED_RIGHTS: [&str; 0] = [];

/// Unique keys that do not begin with the tenant, with the reason. None may be a text that a tenant
/// chooses: whoever is refused one would learn that another has it (T22).
const GLOBAL_KEYS: [(&str, &str); 6] = [
    ("sessions_pkey", "an id that the database made"),
    ("sessions_token_hash_key", "the hash of 256 random bits"),
    ("tokens_pkey", "an id that the database made"),
    ("tokens_token_hash_key", "the hash of 256 random bits"),
    ("tenants_pkey", "the tenant itself"),
    ("tenants_slug_key", "the name of a tenant; the owner alone makes one"),
];

/// Tables whose rows are of no tenant, with the reason. None holds what a tenant has or decides.
const OF_NO_TENANT: [(&str, &str); 18] = [
    ("_sqlx_migrations", "which migrations have run"),
    ("audit_anchors", "when the heads of all chains are due at the file and at the destination"),
    ("breakers", "destinations that the configuration names, and whether they answer"),
    ("machine_moves", "the rules, the same for all"),
    ("onceover_clock", "the clock that tests move; no migration makes it"),
    ("operation_moves", "the rules, the same for all"),
    ("pending_sign_ins", "hashes of sign-ins on their way: nobody is known yet"),
    ("recovery_codes", "a person's, who may belong to several tenants"),
    ("second_factors", "a person's, who may belong to several tenants"),
    ("sign_in_addresses", "tries by the hash of an address: nobody is known yet"),
    ("sign_in_attempts", "tries by the hash of an account's name: nobody is known yet"),
    ("sign_in_tickets", "a person whose password was right, before a tenant is chosen"),
    ("staff", "people, who may belong to several tenants; memberships say to which"),
    ("staff_identities", "how a person signs in, whatever the tenant"),
    ("staff_preferences", "how a person wants pages, whatever the tenant"),
    ("task_status", "what processes are at"),
    ("tenants", "the tenants themselves"),
    ("workers", "processes that work for all tenants"),
];

/// Tables that have rows of tenants.
async fn of_tenants(fixture: &Fixture) -> Vec<String> {
    let found = names(
        fixture,
        "select c.relname::text from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace order by 1",
    )
    .await;
    assert!(found.len() > 30, "{found:?}");
    found
}

async fn names(fixture: &Fixture, sql: &'static str) -> Vec<String> {
    sqlx::query_scalar(sql).fetch_all(fixture.pool()).await.unwrap()
}

#[tokio::test]
async fn a_table_without_a_tenant_is_known_by_name_and_reason() {
    let fixture = Fixture::new().await;
    let mut without = names(
        &fixture,
        "select c.relname::text from pg_class c
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
           and not exists (select from pg_attribute a
             where a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped)",
    )
    .await;
    without.sort();
    assert_eq!(without, OF_NO_TENANT.map(|(table, _)| table));
    testkit::threat("T21", without.len(), 0);
}

#[tokio::test]
async fn every_table_of_tenants_is_policed_on_its_owner_too() {
    let fixture = Fixture::new().await;
    let open = names(
        &fixture,
        "select c.relname::text from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
           and not (c.relrowsecurity and c.relforcerowsecurity)
         order by 1",
    )
    .await;
    assert_eq!(open, BEFORE_A_TENANT);
    testkit::threat("T21", of_tenants(&fixture).await.len(), 0);
}

#[tokio::test]
async fn whoever_has_a_right_to_a_table_of_tenants_has_a_policy_there_for_it() {
    let fixture = Fixture::new().await;
    // Column rights count as rights.
    let unpoliced = names(
        &fixture,
        "select format('%s: %s of %s', c.relname, p.word, r.rolname) from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
         cross join (values ('SELECT', 'r'), ('INSERT', 'a'), ('UPDATE', 'w'), ('DELETE', 'd')) as p(word, cmd)
         join pg_roles r on r.rolname in ('onceover_app', 'onceover_engine')
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relrowsecurity
           and (case when p.word = 'DELETE' then has_table_privilege(r.oid, c.oid, p.word)
                else has_any_column_privilege(r.oid, c.oid, p.word) end)
           and not exists (select from pg_policy y where y.polrelid = c.oid and r.oid = any (y.polroles)
             and y.polcmd in ('*', p.cmd::\"char\"))
         order by 1",
    )
    .await;
    assert_eq!(unpoliced, UNPOLICED_RIGHTS);
    // And no policy is for everybody, nor lets the console past its tenant: sign-in alone reads who
    // belongs where before a tenant is known.
    let wide = names(
        &fixture,
        "select format('%s on %s', y.polname, y.polrelid::regclass) from pg_policy y
         where 0 = any (y.polroles)
            or ('onceover_app'::regrole::oid = any (y.polroles)
                and not (coalesce(pg_get_expr(y.polqual, y.polrelid), '') || ' '
                  || coalesce(pg_get_expr(y.polwithcheck, y.polrelid), '')) like '%onceover_tenant()%')
         order by 1",
    )
    .await;
    assert_eq!(wide, READ_BEFORE_A_TENANT.map(|table| format!("app_reads_{table} on {table}")));
    // What may be written is what may be read.
    let unchecked = names(
        &fixture,
        "select format('%s on %s', y.polname, y.polrelid::regclass) from pg_policy y
         where 'onceover_app'::regrole::oid = any (y.polroles) and y.polcmd in ('a', 'w')
           and coalesce(pg_get_expr(y.polwithcheck, y.polrelid), '') not like '%onceover_tenant()%'
         order by 1",
    )
    .await;
    assert_eq!(unchecked, Vec::<String>::new());
    // Four rights of two roles.
    testkit::threat("T21", 8 * of_tenants(&fixture).await.len(), 0);
}

#[tokio::test]
async fn a_view_looks_with_the_rights_of_whoever_looks() {
    let fixture = Fixture::new().await;
    let owners = names(
        &fixture,
        "select c.relname::text from pg_class c
         where c.relkind in ('v', 'm') and c.relnamespace = 'public'::regnamespace
           and not coalesce('security_invoker=true' = any (c.reloptions) or 'security_invoker=on' = any (c.reloptions), false)
         order by 1",
    )
    .await;
    assert_eq!(owners, Vec::<String>::new());
}

#[tokio::test]
async fn no_role_truncates_bypasses_or_owns() {
    let fixture = Fixture::new().await;
    let truncating = names(
        &fixture,
        "select format('%s by %s', c.relname, r.rolname) from pg_class c
         join pg_roles r on r.rolname in ('onceover_app', 'onceover_engine')
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
           and (has_table_privilege(r.oid, c.oid, 'TRUNCATE') or has_table_privilege(r.oid, c.oid, 'REFERENCES')
             or has_table_privilege(r.oid, c.oid, 'TRIGGER'))
         order by 1",
    )
    .await;
    assert_eq!(truncating, Vec::<String>::new());
    let above = names(
        &fixture,
        "select rolname::text from pg_roles where rolname like 'onceover%'
           and (rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolcanlogin or rolreplication)
         union all
         select format('%s belongs to %s', m.member::regrole, m.roleid::regrole) from pg_auth_members m
           where m.member in ('onceover_app'::regrole, 'onceover_engine'::regrole)
         union all
         select format('%s owned by %s', c.relname, c.relowner::regrole) from pg_class c
           where c.relowner in ('onceover_app'::regrole, 'onceover_engine'::regrole)
         order by 1",
    )
    .await;
    assert_eq!(above, Vec::<String>::new());
    let everybodys = names(
        &fixture,
        "select c.relname::text from pg_class c, aclexplode(c.relacl) a
         where c.relnamespace = 'public'::regnamespace and a.grantee = 0
           -- The clock that tests move; no migration makes it.
           and c.relname <> 'onceover_clock'
         order by 1",
    )
    .await;
    assert_eq!(everybodys, Vec::<String>::new(), "nothing is granted to everybody");
    let workers = names(
        &fixture,
        "select t::text from unnest(array['staff', 'memberships', 'sessions', 'tokens', 'sign_in_attempts', 'audit',
           'reveals', 'staff_preferences', 'saved_views']) t
         where has_any_column_privilege('onceover_engine', t, 'SELECT')",
    )
    .await;
    assert_eq!(workers, Vec::<String>::new(), "workers see nothing of people, and no log");
    // Three rights of two roles.
    testkit::threat("T21", 6 * of_tenants(&fixture).await.len(), 0);
}

#[tokio::test]
async fn every_unique_key_begins_with_the_tenant() {
    let fixture = Fixture::new().await;
    let global = names(
        &fixture,
        "select x.relname::text from pg_index i
         join pg_class c on c.oid = i.indrelid join pg_class x on x.oid = i.indexrelid
         left join pg_attribute t on t.attrelid = c.oid and t.attname = 'tenant_id' and not t.attisdropped
         where i.indisunique and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace
           and (t.attnum is not null or c.relname = 'tenants')
           and i.indkey[0] is distinct from t.attnum
         order by 1",
    )
    .await;
    let mut known: Vec<_> = GLOBAL_KEYS.iter().map(|(key, _)| (*key).to_owned()).collect();
    known.sort();
    assert_eq!(global, known);
    // The same of what an exclusion constraint compares.
    let exclusions = names(
        &fixture,
        "select conname::text from pg_constraint where contype = 'x' and connamespace = 'public'::regnamespace",
    )
    .await;
    assert_eq!(exclusions, Vec::<String>::new());
    let keys = fixture
        .count(
            "select count(*) from pg_index i join pg_class c on c.oid = i.indrelid
             where i.indisunique and c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace",
        )
        .await;
    testkit::threat("T22", usize::try_from(keys).unwrap(), 0);
}

#[tokio::test]
async fn without_a_tenant_no_table_of_tenants_shows_a_row() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    for (service, key) in [(&fixture.service, "a"), (&globex, "b")] {
        fixture.engine.reserve(service, request(key, PAYLOAD)).await.unwrap();
    }
    let readable = names(
        &fixture,
        "select c.relname::text from pg_class c
         join pg_attribute a on a.attrelid = c.oid and a.attname = 'tenant_id' and not a.attisdropped
         where c.relkind in ('r', 'p') and c.relnamespace = 'public'::regnamespace and c.relrowsecurity
           and c.relname not in ('memberships', 'tokens') and has_table_privilege('onceover_app', c.oid, 'SELECT')
         order by 1",
    )
    .await;
    assert!(readable.len() > 20, "{readable:?}");
    let mut tx = fixture.pool().begin().await.unwrap();
    tx.execute("set local role onceover_app").await.unwrap();
    for setting in ["", "set local app.tenant = ''"] {
        tx.execute(sqlx::AssertSqlSafe(setting)).await.unwrap();
        for table in &readable {
            let rows = format!("select count(*) from {table}");
            let rows: i64 =
                sqlx::query_scalar(sqlx::AssertSqlSafe(rows)).fetch_one(&mut *tx).await.unwrap();
            assert_eq!(rows, 0, "{table} {setting}");
        }
    }
    // With one, only that one's; what holds for each table here holds for a new one.
    let own = format!("set local app.tenant = '{}'", globex.tenant_id());
    tx.execute(sqlx::AssertSqlSafe(own)).await.unwrap();
    for table in &readable {
        let foreign =
            format!("select count(*) from {table} where tenant_id <> '{}'", globex.tenant_id());
        let foreign: i64 =
            sqlx::query_scalar(sqlx::AssertSqlSafe(foreign)).fetch_one(&mut *tx).await.unwrap();
        assert_eq!(foreign, 0, "{table}");
    }
    testkit::threat("T21", 3 * readable.len(), 0);
}

#[tokio::test]
async fn no_statement_writes_into_another_tenant() {
    let fixture = Fixture::new().await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    fixture.engine.reserve(&globex, request("k", PAYLOAD)).await.unwrap();
    let mut tx = fixture.pool().begin().await.unwrap();
    let own = format!(
        "set local role onceover_app; set local app.tenant = '{}'",
        fixture.service.tenant_id()
    );
    tx.execute(sqlx::AssertSqlSafe(own)).await.unwrap();
    let theirs = globex.tenant_id();
    for sql in [
        format!(
            "insert into notes (tenant_id, target_type, other_id, staff_id, author, form_key, text)
             values ('{theirs}', 'incident', gen_random_uuid(), gen_random_uuid(), 'x', 'x', 'x')"
        ),
        format!("insert into saved_views (tenant_id) values ('{theirs}')"),
        format!(
            "insert into audit_checks (tenant_id, asked_by, walk) values ('{theirs}', 'x', '{{}}')"
        ),
    ] {
        let mut inner = sqlx::Acquire::begin(&mut tx).await.unwrap();
        let error = inner.execute(sqlx::AssertSqlSafe(sql.as_str())).await.expect_err(&sql);
        let code = error.as_database_error().and_then(|error| error.code().map(String::from));
        assert_eq!(code.as_deref(), Some("42501"), "{sql}: {error}");
        inner.rollback().await.unwrap();
    }
    let moved = tx.execute("update operations set version = version + 1").await.unwrap();
    assert_eq!(moved.rows_affected(), 0, "there is nothing of theirs to update");
    testkit::threat("T21", 4, 0);
}
