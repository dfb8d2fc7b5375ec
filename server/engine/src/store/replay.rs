//! How often the final answer of an operation was given again.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Target;
use crate::error::EngineError;

/// Adds to the counts of several operations; of one that is gone nothing is kept. In the order of their
/// ids, so that two processes that add to the same ones never wait for each other.
///
/// # Errors
/// The database's.
pub async fn add(db: &mut PgConnection, counts: &[(Target, i64)]) -> Result<(), EngineError> {
    let tenants: Vec<Uuid> = counts.iter().map(|(target, _)| target.tenant.uuid()).collect();
    let ids: Vec<Uuid> = counts.iter().map(|(target, _)| target.id.uuid()).collect();
    let replays: Vec<i64> = counts.iter().map(|(_, replays)| *replays).collect();
    sqlx::query!(
        "insert into operation_replays as r (tenant_id, operation_id, replays)
         select told.tenant_id, told.id, told.replays
         from unnest($1::uuid[], $2::uuid[], $3::bigint[]) as told (tenant_id, id, replays)
           join operations o on o.tenant_id = told.tenant_id and o.id = told.id
         order by told.tenant_id, told.id
         on conflict (tenant_id, operation_id) do update
           set replays = r.replays + excluded.replays, last_at = onceover_now()",
        &tenants,
        &ids,
        &replays,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// How often, and when last; `None` where never.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<(i64, DateTime<Utc>)>, EngineError> {
    let row = sqlx::query!(
        "select replays, last_at from operation_replays where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (row.replays, row.last_at)))
}

/// Removes the count with its operation (O29).
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from operation_replays where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
