//! Search terms of operations, taken from their payloads at reserve.

use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// Keeps the terms of a new operation.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    target: Target,
    terms: &[String],
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into operation_terms (tenant_id, term, operation_id)
         select $1, term, $2 from unnest($3::text[]) as term on conflict do nothing",
        target.tenant.uuid(),
        target.id.uuid(),
        terms,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes them at expiry (D39).
///
/// # Errors
/// The database's.
pub async fn remove(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from operation_terms where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
