//! People as an identity provider names them, and the memberships that it gives and takes.

use domain::{
    access::Role,
    ids::{StaffId, TenantId},
};
use sqlx::PgConnection;

use super::word;
use crate::error::EngineError;

/// An account that a provider has named before.
#[derive(Debug)]
pub struct Known {
    /// Whose.
    pub staff: StaffId,
    /// As the account is called here.
    pub email: String,
    /// Whether the account is closed.
    pub disabled: bool,
}

/// The account behind an issuer's subject.
///
/// # Errors
/// The database's.
pub async fn find(
    db: &mut PgConnection,
    issuer: &str,
    subject: &str,
) -> Result<Option<Known>, EngineError> {
    let row = sqlx::query!(
        r#"select s.id, s.email, s.disabled_at is not null as "disabled!"
           from staff_identities i join staff s on s.id = i.staff_id
           where i.issuer = $1 and i.subject = $2"#,
        issuer,
        subject,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Known {
        staff: StaffId::new(row.id),
        email: row.email,
        disabled: row.disabled,
    }))
}

/// Adds an account without a password; `None` where the e-mail is another account's.
///
/// # Errors
/// The database's.
pub async fn add_staff(
    db: &mut PgConnection,
    email: &str,
    name: &str,
) -> Result<Option<StaffId>, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into staff (email, name) values ($1, $2) on conflict (email) do nothing returning id",
        email,
        name,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(StaffId::new))
}

/// Ties an issuer's subject to an account; `false` where it is tied to one already.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    issuer: &str,
    subject: &str,
    staff: StaffId,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into staff_identities (issuer, subject, staff_id) values ($1, $2, $3)
         on conflict (issuer, subject) do nothing",
        issuer,
        subject,
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A person's roles by tenant, in the order of tenants.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn roles(
    db: &mut PgConnection,
    staff: StaffId,
) -> Result<Vec<(TenantId, Role)>, EngineError> {
    let rows = sqlx::query!(
        "select tenant_id, role from memberships where staff_id = $1 order by tenant_id limit 1000",
        staff.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((TenantId::new(row.tenant_id), word(&row.role)?))).collect()
}

/// Gives a person a role in a tenant, as the provider says; `false` where they have it. A right is as
/// old as its last grant.
///
/// # Errors
/// The database's.
pub async fn grant(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
    role: Role,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into memberships (tenant_id, staff_id, role, granted_by)
         values ($1, $2, $3, 'identity provider')
         on conflict (tenant_id, staff_id) do update set
           role = excluded.role, granted_by = excluded.granted_by, granted_by_id = null,
           granted_at = onceover_now(), version = memberships.version + 1
           where memberships.role <> excluded.role",
        tenant.uuid(),
        staff.uuid(),
        role.as_str(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes a person's place in a tenant away; `false` where there was none.
///
/// # Errors
/// The database's.
pub async fn revoke(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "delete from memberships where tenant_id = $1 and staff_id = $2",
        tenant.uuid(),
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
