//! What the first page shows of the way out and of the database. What waits is counted up to a bound.

use domain::{
    ids::TenantId,
    view::{PublisherHealth, TransactionView},
};
use sqlx::PgConnection;

use crate::error::EngineError;

/// The tenant's events that are to be told, counted up to `max`.
///
/// # Errors
/// The database's.
pub async fn publisher(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<PublisherHealth, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(created_at) as oldest_at from (
             select created_at from outbox
             where tenant_id = $1 and status = 'pending' order by id limit $2) w"#,
        tenant.uuid(),
        max + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(PublisherHealth {
        waiting: row.waiting.min(max),
        more: row.waiting > max,
        oldest_at: row.oldest_at,
    })
}

/// The oldest transaction that is open in the database besides this one, and how many sessions could
/// not be looked at.
///
/// # Errors
/// The database's.
pub async fn oldest_transaction(
    db: &mut PgConnection,
) -> Result<(Option<TransactionView>, i64), EngineError> {
    let row = sqlx::query!(
        r#"select age_ms, state, application, hidden as "hidden!" from onceover_oldest_transaction()"#
    )
    .fetch_one(db)
    .await?;
    let oldest = row.age_ms.map(|age_ms| TransactionView {
        age_ms,
        state: row.state.unwrap_or_default(),
        application: row.application.unwrap_or_default(),
    });
    Ok((oldest, row.hidden))
}
