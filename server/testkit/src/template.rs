//! The migrated template, built once per set of migrations and server.
//!
//! Guards against a half-migrated template (it is built under another name and renamed
//! when done) and against clones that fail because somebody is connected to it (it
//! takes no connections).

use sha2::{Digest, Sha256};
use sqlx::migrate::Migrator;
use sqlx::postgres::PgPoolOptions;
use sqlx::{AssertSqlSafe, Connection, PgConnection};

use crate::server::{self, PREFIX, Server};

static MIGRATOR: Migrator = sqlx::migrate!("../../migrations");

/// D19: in tests the database clock can be moved. The table exists here only; in
/// production the function has no offset to read.
const CLOCK: &str = r"
create table public.onceover_clock (shift interval not null);
comment on table public.onceover_clock is 'Tests only: what onceover_now() adds to the clock.';
insert into public.onceover_clock values (interval '0');
-- As the migrations declare it, so that plans are those of production.
create or replace function public.onceover_now() returns timestamptz
  language sql volatile parallel safe
  as $$ select clock_timestamp() + (select shift from public.onceover_clock) $$;
-- Every role reads it, whichever the program under test takes on; only the owner moves it.
grant select on public.onceover_clock to public;
";

/// Clones the template, building it first where it is missing; returns the clone's name.
pub(crate) async fn make_clone(server: &Server) -> Result<String, sqlx::Error> {
    let mut connection = server.maintenance().await?;
    server::lock(&mut connection).await?;
    let template = template_name();
    if !exists(&mut connection, &template).await? {
        sweep(&mut connection).await?;
        build(server, &mut connection, &template).await?;
    }
    let name = new_name(&mut connection).await?;
    run(&mut connection, format!("create database {name} template {template}")).await?;
    connection.close().await?;
    Ok(name)
}

/// The server's day, so that left-overs can be told by their age, and 64 random bits.
async fn new_name(connection: &mut PgConnection) -> Result<String, sqlx::Error> {
    let day: String =
        sqlx::query_scalar("select to_char(now(), 'YYYYMMDD')").fetch_one(connection).await?;
    Ok(format!("{PREFIX}{day}_{}", hex::encode(rand::random::<[u8; 8]>())))
}

/// Named after what is in it: other migrations, another template.
fn template_name() -> String {
    let mut hash = Sha256::new();
    for migration in MIGRATOR.iter() {
        hash.update(migration.version.to_be_bytes());
        hash.update(&migration.checksum);
    }
    hash.update(CLOCK);
    format!("{PREFIX}template_{}", hex::encode(&hash.finalize()[..6]))
}

async fn build(
    server: &Server,
    connection: &mut PgConnection,
    template: &str,
) -> Result<(), sqlx::Error> {
    let unfinished = format!("{template}_new");
    server::drop_database(connection, &unfinished).await?;
    // From template0: what somebody put into template1 is no part of the migrations.
    run(connection, format!("create database {unfinished} template template0 encoding 'UTF8'"))
        .await?;
    let inside = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(server.owner_options(&unfinished))
        .await?;
    MIGRATOR.run(&inside).await?;
    sqlx::raw_sql(CLOCK).execute(&inside).await?;
    inside.close().await;
    run(connection, format!("alter database {unfinished} with allow_connections false")).await?;
    run(connection, format!("alter database {unfinished} rename to {template}")).await
}

async fn run(connection: &mut PgConnection, statement: String) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(statement)).execute(connection).await?;
    Ok(())
}

async fn exists(connection: &mut PgConnection, name: &str) -> Result<bool, sqlx::Error> {
    sqlx::query_scalar("select exists (select from pg_database where datname = $1)")
        .bind(name)
        .fetch_one(connection)
        .await
}

/// Drops what earlier runs left on a server that outlives them: templates of other
/// migrations, and tests' databases of another day that nobody is connected to. Under
/// the lock, so no template is being cloned.
async fn sweep(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    let left: Vec<String> = sqlx::query_scalar(
        r"select datname::text from pg_database d
          where (datname like 'onceover\_test\_template\_%'
                 or datname ~ '^onceover_test_[0-9]{8}_[0-9a-f]{16}$'
                    and substr(datname, 15, 8) < to_char(now() - interval '1 day', 'YYYYMMDD'))
            and not exists (select from pg_stat_activity a where a.datid = d.oid)
          limit 1000",
    )
    .fetch_all(&mut *connection)
    .await?;
    for name in left {
        server::drop_database(connection, &name).await?;
    }
    Ok(())
}
