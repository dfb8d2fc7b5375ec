//! Checks of a tenant's audit chain that somebody asked for, with the place where each goes on.

use chrono::{DateTime, Utc};
use domain::ids::TenantId;
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::EngineError;

/// A check as it is stored.
#[derive(Clone, Debug)]
pub struct StoredCheck {
    /// Which.
    pub id: Uuid,
    /// Who asked.
    pub asked_by: String,
    /// When.
    pub asked_at: DateTime<Utc>,
    /// Where the walk stands.
    pub walk: Value,
    /// When it ended.
    pub ended_at: Option<DateTime<Utc>>,
}

/// Begins a check, unless one is under way; says whether it did.
///
/// # Errors
/// The database's.
pub async fn begin(
    db: &mut PgConnection,
    tenant: TenantId,
    asked_by: &str,
    walk: &Value,
) -> Result<bool, EngineError> {
    let begun = sqlx::query!(
        "insert into audit_checks (tenant_id, asked_by, walk) values ($1, $2, $3)
         on conflict (tenant_id) where ended_at is null do nothing",
        tenant.uuid(),
        asked_by,
        walk,
    )
    .execute(db)
    .await?;
    Ok(begun.rows_affected() > 0)
}

/// The last check of a tenant.
///
/// # Errors
/// The database's.
pub async fn last(
    db: &mut PgConnection,
    tenant: TenantId,
) -> Result<Option<StoredCheck>, EngineError> {
    let row = sqlx::query_as!(
        StoredCheck,
        "select id, asked_by, asked_at, walk, ended_at from audit_checks where tenant_id = $1
         order by id desc limit 1",
        tenant.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row)
}

/// The check under way, held until the transaction ends; `None` where there is none or another holds it.
///
/// # Errors
/// The database's.
pub async fn hold(
    db: &mut PgConnection,
    tenant: TenantId,
) -> Result<Option<(Uuid, Value)>, EngineError> {
    let row = sqlx::query!(
        "select id, walk from audit_checks where tenant_id = $1 and ended_at is null for update skip locked",
        tenant.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (row.id, row.walk)))
}

/// Keeps how far a check has got, and whether it has ended.
///
/// # Errors
/// The database's.
pub async fn keep(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    walk: &Value,
    ended: bool,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update audit_checks set walk = $3, ended_at = case when $4 then onceover_now() end
         where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id,
        walk,
        ended,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Tenants with a check under way, in the order of asking.
///
/// # Errors
/// The database's.
pub async fn under_way(db: &mut PgConnection, limit: i64) -> Result<Vec<TenantId>, EngineError> {
    let rows = sqlx::query_scalar!(
        "select tenant_id from audit_checks where ended_at is null order by asked_at limit $1",
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(TenantId::new).collect())
}
