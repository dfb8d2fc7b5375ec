//! Tenants.

use domain::ids::TenantId;
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::EngineError;

/// A tenant by its short name.
///
/// # Errors
/// The database's.
pub async fn find(db: &mut PgConnection, slug: &str) -> Result<Option<TenantId>, EngineError> {
    let id = sqlx::query_scalar!("select id from tenants where slug = $1", slug)
        .fetch_optional(db)
        .await?;
    Ok(id.map(TenantId::new))
}

/// Whether a tenant has a record with a page of its own under an id, operations and receipts aside.
///
/// # Errors
/// The database's.
pub async fn holds(db: &mut PgConnection, tenant: TenantId, id: Uuid) -> Result<bool, EngineError> {
    let holds = sqlx::query_scalar!(
        r#"select exists (select from workflows where tenant_id = $1 and id = $2)
               or exists (select from compensations where tenant_id = $1 and id = $2)
               or exists (select from outbox where tenant_id = $1 and id = $2)
               or exists (select from inbox where tenant_id = $1 and id = $2)
               or exists (select from payload_conflicts where tenant_id = $1 and id = $2)
               or exists (select from approvals where tenant_id = $1 and id = $2)
               or exists (select from bulks where tenant_id = $1 and id = $2)
               or exists (select from incidents where tenant_id = $1 and id = $2) as "holds!""#,
        tenant.uuid(),
        id,
    )
    .fetch_one(db)
    .await?;
    Ok(holds)
}

/// A tenant's short name and name.
///
/// # Errors
/// The database's.
pub async fn names(
    db: &mut PgConnection,
    tenant: TenantId,
) -> Result<Option<(String, String)>, EngineError> {
    let row = sqlx::query!("select slug, name from tenants where id = $1", tenant.uuid())
        .fetch_optional(db)
        .await?;
    Ok(row.map(|row| (row.slug, row.name)))
}

/// The tenant whose short name comes next after another.
///
/// # Errors
/// The database's.
pub async fn after(
    db: &mut PgConnection,
    slug: &str,
) -> Result<Option<(TenantId, String)>, EngineError> {
    let row =
        sqlx::query!("select id, slug from tenants where slug > $1 order by slug limit 1", slug)
            .fetch_optional(db)
            .await?;
    Ok(row.map(|row| (TenantId::new(row.id), row.slug)))
}
