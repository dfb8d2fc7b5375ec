//! Tenants.

use domain::ids::TenantId;
use sqlx::PgConnection;

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
