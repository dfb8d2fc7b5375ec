//! Poolers of connections, such as pgbouncer, are refused: at the start, by `migrate` and by `doctor`.
//!
//! Each pool's role is what the row policies of tenants hold on to, and it is a setting of the
//! session, as the time limits are; a pooler drops such settings or refuses them. In transaction mode
//! it also gives one session to several clients by turns, so that prepared statements are not there
//! or another's, and LISTEN hears nothing. Guards against a start that looks well and then reads
//! under the wrong role.

use sqlx::{
    Connection as _, Row as _,
    postgres::{PgConnectOptions, PgConnection, PgRow},
};

use crate::error::EngineError;

/// PostgreSQL itself knows every parameter that is sent here. A pooler's other faults have the same
/// code, so its words tell.
const REFUSED: (&str, &str) = ("08P01", "unsupported startup parameter");

const REFUSES: &str = "refuses the settings of a session";
const DROPS: &str = "drops the settings of a session, its role among them";
const SHARES: &str =
    "gives one session to several connections (pool_mode = transaction or statement)";

/// Opens two connections side by side and refuses where they are not two sessions, or not the role's.
/// Costs a start some milliseconds, and nothing later.
///
/// # Errors
/// [`EngineError::Pooled`]; [`EngineError::Database`] where nobody answers.
pub(crate) async fn refuse(
    options: &PgConnectOptions,
    role: Option<&str>,
) -> Result<(), EngineError> {
    let mut first = open(options).await?;
    let mut second = open(options).await?;
    let one = Session::of(&mut first).await?;
    let other = Session::of(&mut second).await?;
    let again = Session::of(&mut first).await?;
    let _ = first.close().await;
    let _ = second.close().await;
    if role.is_some_and(|role| one.role != role || other.role != role) {
        return Err(EngineError::Pooled(DROPS));
    }
    if one.backend == other.backend || one.backend != again.backend {
        return Err(EngineError::Pooled(SHARES));
    }
    Ok(())
}

/// Refuses a new connection of a pool that is not under its role.
pub(crate) async fn expect_role(
    connection: &mut PgConnection,
    role: &'static str,
) -> Result<(), sqlx::Error> {
    if Session::of(connection).await?.role == role {
        Ok(())
    } else {
        Err(sqlx::Error::Configuration(EngineError::Pooled(DROPS).into()))
    }
}

async fn open(options: &PgConnectOptions) -> Result<PgConnection, EngineError> {
    PgConnection::connect_with(options).await.map_err(|error| {
        let refused = error.as_database_error().is_some_and(|error| {
            error.code().as_deref() == Some(REFUSED.0) && error.message().starts_with(REFUSED.1)
        });
        if refused { EngineError::Pooled(REFUSES) } else { error.into() }
    })
}

struct Session {
    role: String,
    backend: String,
}

impl Session {
    /// By the simple protocol: one message, which a pooler passes on whole.
    async fn of(connection: &mut PgConnection) -> Result<Self, sqlx::Error> {
        const ASK: &str = "select current_user::text as role, pg_backend_pid()::text as backend";
        let row: PgRow = sqlx::raw_sql(ASK).fetch_one(connection).await?;
        Ok(Self { role: row.try_get("role")?, backend: row.try_get("backend")? })
    }
}
