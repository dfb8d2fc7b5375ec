//! What a consumer promises about its messages; one without a row has the defaults.

use chrono::{DateTime, Utc};
use domain::ids::TenantId;
use sqlx::PgConnection;

use crate::error::EngineError;

/// A consumer's policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConsumerPolicy {
    /// The consumer's name.
    pub name: String,
    /// How long a message is remembered in full and may be redelivered, in milliseconds: at least
    /// the longest redelivery of the broker, of a person from a dead letter queue, of a restored
    /// backup (D29).
    pub window_ms: i64,
    /// Failed deliveries before a message is dead.
    pub max_failures: i32,
    /// From the end of the window to the purge of the bare id, in milliseconds; `None` keeps it.
    pub retention_ms: Option<i64>,
}

impl ConsumerPolicy {
    /// Seven days, five failures, ids kept for ever.
    #[must_use]
    pub fn of_default(name: &str) -> Self {
        Self { name: name.to_owned(), window_ms: 604_800_000, max_failures: 5, retention_ms: None }
    }
}

/// A consumer's policy and the database's clock.
///
/// # Errors
/// The database's.
pub async fn policy(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<(ConsumerPolicy, DateTime<Utc>), EngineError> {
    let row = sqlx::query!(
        r#"select onceover_now() as "now!", c.window_ms as "window_ms?", c.max_failures as "max_failures?",
             c.retention_ms as "retention_ms?"
           from (select 1) one left join inbox_consumers c on c.tenant_id = $1 and c.name = $2"#,
        tenant.uuid(),
        name,
    )
    .fetch_one(db)
    .await?;
    let default = ConsumerPolicy::of_default(name);
    let policy = match (row.window_ms, row.max_failures) {
        (Some(window_ms), Some(max_failures)) => {
            ConsumerPolicy { window_ms, max_failures, retention_ms: row.retention_ms, ..default }
        }
        _ => default,
    };
    Ok((policy, row.now))
}

/// Sets a consumer's policy; for the owner's role.
///
/// # Errors
/// The database's, also for a window, bound or retention out of range.
pub async fn put(
    db: &mut PgConnection,
    tenant: TenantId,
    policy: &ConsumerPolicy,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into inbox_consumers (tenant_id, name, window_ms, max_failures, retention_ms)
         values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, name) do update set window_ms = excluded.window_ms,
           max_failures = excluded.max_failures, retention_ms = excluded.retention_ms",
        tenant.uuid(),
        policy.name,
        policy.window_ms,
        policy.max_failures,
        policy.retention_ms,
    )
    .execute(db)
    .await?;
    Ok(())
}
