//! Failed deliveries of messages that left no row, because each was rolled back (N3).

use sqlx::PgConnection;

use super::inbox::Address;
use crate::error::EngineError;

/// Counts a failed delivery; how many there were, this one included.
///
/// # Errors
/// The database's.
pub async fn count(
    db: &mut PgConnection,
    address: Address<'_>,
    error: &str,
) -> Result<i32, EngineError> {
    let failures = sqlx::query_scalar!(
        "insert into inbox_failures (tenant_id, consumer, source, message_id, last_error)
         values ($1, $2, $3, $4, $5)
         on conflict (tenant_id, consumer, source, message_id) do update set
           failures = inbox_failures.failures + 1, last_error = excluded.last_error, last_at = onceover_now()
         returning failures",
        address.tenant.uuid(),
        address.consumer,
        address.source,
        address.message_id,
        error,
    )
    .fetch_one(db)
    .await?;
    Ok(failures)
}

/// Takes the count away once the message has a row of its own; what it was.
///
/// # Errors
/// The database's.
pub async fn take(db: &mut PgConnection, address: Address<'_>) -> Result<i32, EngineError> {
    let failures = sqlx::query_scalar!(
        "delete from inbox_failures
         where tenant_id = $1 and consumer = $2 and source = $3 and message_id = $4 returning failures",
        address.tenant.uuid(),
        address.consumer,
        address.source,
        address.message_id,
    )
    .fetch_optional(db)
    .await?;
    Ok(failures.unwrap_or_default())
}

/// Forgets counts of messages that have not come again within their consumer's window: a
/// redelivery after it is quarantined, not run. A sweep over all tenants; says how many.
///
/// # Errors
/// The database's.
pub async fn forget(db: &mut PgConnection, limit: i64) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "with due as materialized (
           select f.tenant_id, f.consumer, f.source, f.message_id from inbox_failures f
           left join inbox_consumers c on c.tenant_id = f.tenant_id and c.name = f.consumer
           where f.last_at < (select onceover_now()) - interval '1 s'
             and f.last_at < (select onceover_now()) - coalesce(c.window_ms, 604800000) * interval '1 ms'
           order by f.last_at limit $1 for update of f skip locked
         )
         delete from inbox_failures f using due
         where f.tenant_id = due.tenant_id and f.consumer = due.consumer and f.source = due.source
           and f.message_id = due.message_id",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
