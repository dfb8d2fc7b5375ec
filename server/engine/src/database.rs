//! Connections: three pools under two roles, and the transactions that commands run in.
//!
//! Guards against the connection that goes back to its pool with a transaction open: sqlx 0.9
//! loses track when a `begin` is dropped, and the next borrower's writes vanish (F4). So every
//! connection is rolled back when it returns; on that way it also says which records its transaction
//! changed, to be told once it is committed and at no cost to it (D26).

use std::{
    ops::{Deref, DerefMut},
    time::Duration,
};

use domain::ids::TenantId;
use sqlx::{
    Connection as _, PgPool, Postgres, Row as _, Transaction,
    migrate::{Migrate as _, MigrateError, Migrator},
    postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions},
};

use crate::{error::EngineError, hints::Hints, pooler, settings::Settings};

static MIGRATIONS: Migrator = sqlx::migrate!("../../migrations");

/// How long a request waits for a connection before it is told that the database is busy (R16).
const ACQUIRE_TIMEOUT: Duration = Duration::from_secs(3);

/// Connections that ask who somebody is. Services are asked, too, so what the console's people do must
/// not keep them waiting (R16).
const IDENTITY_CONNECTIONS: u32 = 4;

/// A transaction; once it is committed, publishers are told that there may be events (D26).
pub(crate) struct Tx {
    inner: Transaction<'static, Postgres>,
    hints: Hints,
}

impl Tx {
    pub(crate) async fn commit(self) -> Result<(), sqlx::Error> {
        self.inner.commit().await?;
        self.hints.committed();
        Ok(())
    }

    /// Commits what publishers themselves write: no hint, or each claim would wake the next.
    pub(crate) async fn commit_quietly(self) -> Result<(), sqlx::Error> {
        self.inner.commit().await
    }

    pub(crate) async fn rollback(self) -> Result<(), sqlx::Error> {
        self.inner.rollback().await
    }

    /// From here to its end the transaction sees this tenant and no other.
    pub(crate) async fn stand_in(&mut self, tenant: TenantId) -> Result<(), EngineError> {
        sqlx::query_scalar!("select set_config('app.tenant', $1, true)", tenant.to_string())
            .fetch_one(&mut *self.inner)
            .await?;
        Ok(())
    }
}

impl Deref for Tx {
    type Target = PgConnection;

    fn deref(&self) -> &PgConnection {
        &self.inner
    }
}

impl DerefMut for Tx {
    fn deref_mut(&mut self) -> &mut PgConnection {
        &mut self.inner
    }
}

/// The engine's pools.
#[derive(Clone)]
pub(crate) struct Pools {
    engine: PgPool,
    console: PgPool,
    identity: PgPool,
    hints: Hints,
}

impl Pools {
    pub(crate) async fn connect(settings: &Settings) -> Result<Self, EngineError> {
        let role = "onceover_engine";
        pooler::refuse(&options(settings, role)?, Some(role)).await?;
        let hints = Hints::start(settings.clone());
        let engine = connect(settings, role, settings.engine_connections, &hints).await?;
        let role = "onceover_app";
        let console = connect(settings, role, settings.console_connections, &hints).await?;
        let identity = connect(settings, role, IDENTITY_CONNECTIONS, &hints).await?;
        Ok(Self { engine, console, identity, hints })
    }

    /// A connection of the engine's role, for one statement.
    pub(crate) const fn engine(&self) -> &PgPool {
        &self.engine
    }

    /// A connection of the console's role without a tenant: staff, sessions and tokens alone.
    pub(crate) const fn identity(&self) -> &PgPool {
        &self.identity
    }

    /// A transaction of the engine's role. Call it in a task of its own (F5).
    #[expect(
        clippy::disallowed_methods,
        reason = "one of the three places that begin transactions"
    )]
    pub(crate) async fn begin_engine(&self) -> Result<Tx, EngineError> {
        Ok(Tx { inner: self.engine.begin().await?, hints: self.hints.clone() })
    }

    /// A transaction of the console's role that sees one tenant and no other. Call it in a task
    /// of its own (F5).
    pub(crate) async fn begin_console(&self, tenant: TenantId) -> Result<Tx, EngineError> {
        self.begin_within(&self.console, tenant).await
    }

    /// The same for what is noted about a token while its call waits, a service's among them.
    pub(crate) async fn begin_identity(&self, tenant: TenantId) -> Result<Tx, EngineError> {
        self.begin_within(&self.identity, tenant).await
    }

    /// A transaction of the console's role about a session whose tenant it finds out itself: staff,
    /// sessions and tokens alone until [`Tx::stand_in`].
    #[expect(
        clippy::disallowed_methods,
        reason = "one of the three places that begin transactions"
    )]
    pub(crate) async fn begin_session(&self) -> Result<Tx, EngineError> {
        Ok(Tx { inner: self.console.begin().await?, hints: self.hints.clone() })
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "one of the three places that begin transactions"
    )]
    async fn begin_within(&self, pool: &PgPool, tenant: TenantId) -> Result<Tx, EngineError> {
        let mut tx = Tx { inner: pool.begin().await?, hints: self.hints.clone() };
        tx.stand_in(tenant).await?;
        Ok(tx)
    }

    pub(crate) async fn ping(&self) -> Result<(), EngineError> {
        sqlx::query_scalar!(r#"select 1 as "one!""#).fetch_one(&self.engine).await?;
        sqlx::query_scalar!(r#"select 1 as "one!""#).fetch_one(&self.console).await?;
        sqlx::query_scalar!(r#"select 1 as "one!""#).fetch_one(&self.identity).await?;
        Ok(())
    }
}

fn options(settings: &Settings, role: &str) -> Result<PgConnectOptions, EngineError> {
    let options: PgConnectOptions = settings.database_url.parse()?;
    Ok(options.application_name(&settings.worker_name).options([
        ("role", role),
        ("statement_timeout", "5s"),
        ("lock_timeout", "2s"),
        ("idle_in_transaction_session_timeout", "10s"),
        ("onceover.changed", ""),
    ]))
}

async fn connect(
    settings: &Settings,
    role: &'static str,
    connections: u32,
    hints: &Hints,
) -> Result<PgPool, EngineError> {
    let hints = hints.clone();
    let pool = PgPoolOptions::new()
        .max_connections(connections)
        .acquire_timeout(ACQUIRE_TIMEOUT)
        // The wall between tenants hangs on the role; a pooler that was put there since drops it.
        .after_connect(move |connection, _| Box::pin(pooler::expect_role(connection, role)))
        .after_release(move |connection, _| Box::pin(give_back(connection, hints.clone())))
        .connect_with(options(settings, role)?)
        .await?;
    Ok(pool)
}

/// Ends whatever transaction a connection was left in; outside one, PostgreSQL answers with a
/// warning. What triggers noted of a transaction that was rolled back has gone with it; what is left
/// is told. A connection that cannot do it is closed.
async fn give_back(connection: &mut PgConnection, hints: Hints) -> Result<bool, sqlx::Error> {
    use sqlx::Executor as _;
    let asked = "rollback; show onceover.changed; set onceover.changed = ''";
    let Ok(row) = connection.fetch_one(asked).await else { return Ok(false) };
    let changed: &str = row.try_get(0)?;
    if !changed.is_empty() {
        hints.changed(changed);
    }
    Ok(true)
}

/// A connection of its own, for beats (D20) or hints (D26): never queued behind the pool's
/// borrowers. `name` is what the server's own lists of connections show.
pub(crate) async fn dedicated(
    settings: &Settings,
    name: &str,
) -> Result<PgConnection, EngineError> {
    let options: PgConnectOptions = settings.database_url.parse()?;
    let options = options.application_name(name).options([
        ("role", "onceover_engine"),
        ("statement_timeout", "2s"),
        ("lock_timeout", "1s"),
    ]);
    Ok(PgConnection::connect_with(&options).await?)
}

/// Notifies whoever listens; by itself, in no business transaction (D26).
pub(crate) async fn notify(
    connection: &mut PgConnection,
    channel: &str,
    notice: &str,
) -> Result<(), EngineError> {
    sqlx::query_scalar!(r#"select pg_notify($1, $2)::text as "told?""#, channel, notice)
        .fetch_one(connection)
        .await?;
    Ok(())
}

/// The database's clock, in milliseconds since 1970.
pub(crate) async fn now_ms(listener: &mut PgListener) -> Result<i64, EngineError> {
    let now = sqlx::query_scalar!(
        r#"select (extract(epoch from onceover_now()) * 1000)::bigint as "now!""#
    );
    Ok(now.fetch_one(listener).await?)
}

pub(crate) async fn check_direct(url: &str) -> Result<(), EngineError> {
    pooler::refuse(&url.parse()?, None).await
}

pub(crate) async fn migrate(url: &str) -> Result<(), EngineError> {
    check_direct(url).await?;
    let mut connection = PgConnection::connect(url).await?;
    MIGRATIONS.run(&mut connection).await?;
    connection.close().await?;
    Ok(())
}

pub(crate) async fn check_migrated(url: &str) -> Result<(), EngineError> {
    check_direct(url).await?;
    let mut connection = PgConnection::connect(url).await?;
    let applied = connection.list_applied_migrations("_sqlx_migrations").await?;
    for migration in MIGRATIONS.iter() {
        match applied.iter().find(|applied| applied.version == migration.version) {
            None => return Err(MigrateError::VersionMissing(migration.version).into()),
            Some(applied) if applied.checksum != migration.checksum => {
                return Err(MigrateError::VersionMismatch(migration.version).into());
            }
            Some(_) => {}
        }
    }
    connection.close().await?;
    Ok(())
}

/// How often a command is tried again after a lost race (D24); it touches nothing but the
/// database.
const MAX_TRIES: u32 = 5;

/// Runs a command again where its transaction lost a race.
pub(crate) async fn retrying<T, F>(mut command: impl FnMut() -> F) -> Result<T, EngineError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let mut tries = 1;
    loop {
        match command().await {
            Err(error) if error.is_transient() && tries < MAX_TRIES => {
                tokio::time::sleep(Duration::from_millis(u64::from(tries) * 5)).await;
                tries += 1;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests;
