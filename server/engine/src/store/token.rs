//! Bearer tokens.

use domain::ids::{StaffId, TenantId, TokenId};
use sqlx::PgConnection;

use super::word;
use crate::{Caller, ServiceCaller, StaffCaller, error::EngineError};

/// Who a token stands for, if it is neither revoked nor expired and its person may still come in.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn caller(
    db: &mut PgConnection,
    token_hash: &[u8],
    request_id: String,
) -> Result<Option<Caller>, EngineError> {
    let row = sqlx::query!(
        r#"
        select k.id, k.tenant_id, k.name, k.kinds, k.staff_id, t.slug, t.name as tenant_name,
          p.name as "person?", p.email as "email?", m.role as "role?", onceover_now() as "asked_at!"
        from tokens k
        join tenants t on t.id = k.tenant_id
        left join staff p on p.id = k.staff_id and p.disabled_at is null
        left join memberships m on m.tenant_id = k.tenant_id and m.staff_id = k.staff_id
        where k.token_hash = $1 and k.revoked_at is null
          and (k.expires_at is null or k.expires_at > onceover_now())
        "#,
        token_hash,
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    let tenant_id = TenantId::new(row.tenant_id);
    let Some(staff_id) = row.staff_id else {
        return Ok(Some(Caller::Service(ServiceCaller {
            token_id: TokenId::new(row.id),
            name: row.name,
            tenant_id,
            kinds: row.kinds,
            request_id,
        })));
    };
    let (Some(name), Some(email), Some(role)) = (row.person, row.email, row.role) else {
        return Ok(None);
    };
    Ok(Some(Caller::Staff(StaffCaller {
        staff_id: StaffId::new(staff_id),
        name,
        email,
        tenant_id,
        tenant_slug: row.slug,
        tenant_name: row.tenant_name,
        role: word(&role)?,
        request_id,
        asked_at: row.asked_at,
        preferences: None,
    })))
}

/// Adds a token; `false` where the tenant has one of that name.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
    staff: Option<StaffId>,
    kinds: &[String],
    expires_in_days: Option<i32>,
    token_hash: &[u8],
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into tokens (tenant_id, name, staff_id, kinds, expires_at, token_hash)
         values ($1, $2, $3, $4, onceover_now() + make_interval(days => $5), $6)
         on conflict (tenant_id, name) do nothing",
        tenant.uuid(),
        name,
        staff.map(StaffId::uuid),
        kinds,
        expires_in_days,
        token_hash,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a token; `false` where there is none of that name that still works.
///
/// # Errors
/// The database's.
pub async fn revoke(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update tokens set revoked_at = onceover_now() where tenant_id = $1 and name = $2 and revoked_at is null",
        tenant.uuid(),
        name,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
