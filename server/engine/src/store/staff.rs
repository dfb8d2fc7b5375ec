//! People and their memberships.

use chrono::{DateTime, Utc};
use domain::{
    access::Role,
    ids::{StaffId, TenantId},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::word;
use crate::error::EngineError;

/// Who may sign in.
#[derive(Debug)]
pub struct Account {
    /// The person.
    pub id: StaffId,
    /// PHC string.
    pub password_hash: String,
}

/// The account of an email, where it may sign in with a password.
///
/// # Errors
/// The database's.
pub async fn account(db: &mut PgConnection, email: &str) -> Result<Option<Account>, EngineError> {
    let row = sqlx::query!(
        r#"select id, password_hash as "password_hash!" from staff
           where email = $1 and disabled_at is null and password_hash is not null"#,
        email,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Account { id: StaffId::new(row.id), password_hash: row.password_hash }))
}

/// A person by email, disabled or not.
///
/// # Errors
/// The database's.
pub async fn find(db: &mut PgConnection, email: &str) -> Result<Option<StaffId>, EngineError> {
    let id = sqlx::query_scalar!("select id from staff where email = $1", email)
        .fetch_optional(db)
        .await?;
    Ok(id.map(StaffId::new))
}

/// The tenant that a session begins in.
///
/// # Errors
/// The database's.
pub async fn first_tenant(
    db: &mut PgConnection,
    staff: StaffId,
) -> Result<Option<TenantId>, EngineError> {
    let id = sqlx::query_scalar!(
        "select m.tenant_id from memberships m join tenants t on t.id = m.tenant_id
         where m.staff_id = $1 order by t.slug limit 1",
        staff.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(TenantId::new))
}

/// A person's tenants: short name and name.
///
/// # Errors
/// The database's.
pub async fn tenants(
    db: &mut PgConnection,
    staff: StaffId,
) -> Result<Vec<(String, String)>, EngineError> {
    let rows = sqlx::query!(
        "select t.slug, t.name from memberships m join tenants t on t.id = m.tenant_id
         where m.staff_id = $1 order by t.slug limit 200",
        staff.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().map(|row| (row.slug, row.name)).collect())
}

/// A person's tenants by id.
///
/// # Errors
/// The database's.
pub async fn tenant_ids(
    db: &mut PgConnection,
    staff: StaffId,
) -> Result<Vec<TenantId>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select tenant_id from memberships where staff_id = $1 order by tenant_id limit 1000",
        staff.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(TenantId::new).collect())
}

/// Adds a person, or finds the one of that email; a known one keeps name and password.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    email: &str,
    name: &str,
    password_hash: &str,
) -> Result<StaffId, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into staff (email, name, password_hash) values ($1, $2, $3)
         on conflict (email) do update set email = excluded.email returning id",
        email,
        name,
        password_hash,
    )
    .fetch_one(db)
    .await?;
    Ok(StaffId::new(id))
}

/// Gives a person a role in a tenant. A right is as old as its last grant, and remembers who gave
/// it: by id too, for a renamed account is the same person.
///
/// # Errors
/// The database's.
pub async fn grant(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
    role: Role,
) -> Result<(), EngineError> {
    let changed = sqlx::query!(
        "insert into memberships (tenant_id, staff_id, role, granted_by) values ($1, $2, $3, 'command line')
         on conflict (tenant_id, staff_id) do update set
           role = excluded.role, granted_by = excluded.granted_by, granted_by_id = null,
           granted_at = onceover_now(), version = memberships.version + 1
           where memberships.role <> excluded.role",
        tenant.uuid(),
        staff.uuid(),
        role.as_str(),
    )
    .execute(&mut *db)
    .await?;
    if changed.rows_affected() == 0 { Ok(()) } else { end_sessions_in(db, tenant, staff).await }
}

/// Ends a person's sessions that stand in a tenant: what they may do there has changed (T10).
///
/// # Errors
/// The database's.
pub(crate) async fn end_sessions_in(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update sessions set ended_at = onceover_now()
         where staff_id = $2 and tenant_id = $1 and ended_at is null",
        tenant.uuid(),
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Changes a member's role, as a person of the tenant decided, and ends their sessions there; call it
/// under [`lock_member`].
///
/// # Errors
/// The database's.
pub async fn regrant(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
    role: Role,
    (granter, granter_email): (StaffId, &str),
) -> Result<i64, EngineError> {
    let version = sqlx::query_scalar!(
        "update memberships set role = $3, granted_by = $4, granted_by_id = $5, granted_at = onceover_now(),
           version = version + 1
         where tenant_id = $1 and staff_id = $2 returning version",
        tenant.uuid(),
        staff.uuid(),
        role.as_str(),
        granter_email,
        granter.uuid(),
    )
    .fetch_one(&mut *db)
    .await?;
    end_sessions_in(db, tenant, staff).await?;
    Ok(version)
}

/// A person's place in a tenant.
#[derive(Clone, Debug)]
pub struct Member {
    /// Who.
    pub id: StaffId,
    /// By name.
    pub name: String,
    /// By email.
    pub email: String,
    /// As what.
    pub role: Role,
    /// Since when.
    pub granted_at: DateTime<Utc>,
    /// Who gave it; `None`: the command line.
    pub granted_by_id: Option<StaffId>,
    /// Grows with each grant.
    pub version: i64,
    /// Whether the account is closed.
    pub disabled: bool,
}

struct MemberRow {
    id: Uuid,
    name: String,
    email: String,
    role: String,
    granted_at: DateTime<Utc>,
    granted_by_id: Option<Uuid>,
    version: i64,
    disabled: bool,
}

impl TryFrom<MemberRow> for Member {
    type Error = EngineError;

    fn try_from(row: MemberRow) -> Result<Self, EngineError> {
        Ok(Self {
            id: StaffId::new(row.id),
            name: row.name,
            email: row.email,
            role: word(&row.role)?,
            granted_at: row.granted_at,
            granted_by_id: row.granted_by_id.map(StaffId::new),
            version: row.version,
            disabled: row.disabled,
        })
    }
}

/// A person's place in a tenant, as it is now.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn member(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
) -> Result<Option<Member>, EngineError> {
    let row = sqlx::query_as!(
        MemberRow,
        r#"select s.id, s.name, s.email, m.role, m.granted_at, m.granted_by_id, m.version,
             s.disabled_at is not null as "disabled!"
           from memberships m join staff s on s.id = m.staff_id
           where m.tenant_id = $1 and m.staff_id = $2"#,
        tenant.uuid(),
        staff.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Member::try_from).transpose()
}

/// Everybody's place in a tenant, by email.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn members(db: &mut PgConnection, tenant: TenantId) -> Result<Vec<Member>, EngineError> {
    let rows = sqlx::query_as!(
        MemberRow,
        r#"select s.id, s.name, s.email, m.role, m.granted_at, m.granted_by_id, m.version,
             s.disabled_at is not null as "disabled!"
           from memberships m join staff s on s.id = m.staff_id
           where m.tenant_id = $1 order by s.email limit 2000"#,
        tenant.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Member::try_from).collect()
}

/// Locks a person's place in a tenant until the transaction ends, then reads it.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock_member(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
) -> Result<Option<Member>, EngineError> {
    let locked = sqlx::query_scalar!(
        "select version from memberships where tenant_id = $1 and staff_id = $2 for update",
        tenant.uuid(),
        staff.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    match locked {
        Some(_) => member(db, tenant, staff).await,
        None => Ok(None),
    }
}

/// Who may approve what a person asked for at an instant: holders of the right in one of `roles`
/// that are not that person, were not given it by that person, and held it before.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn approvers(
    db: &mut PgConnection,
    tenant: TenantId,
    roles: &[String],
    requester: StaffId,
    requested_at: DateTime<Utc>,
) -> Result<Vec<Member>, EngineError> {
    let rows = sqlx::query_as!(
        MemberRow,
        r#"select s.id, s.name, s.email, m.role, m.granted_at, m.granted_by_id, m.version,
             s.disabled_at is not null as "disabled!"
           from memberships m join staff s on s.id = m.staff_id
           where m.tenant_id = $1 and m.role = any($2) and m.staff_id <> $3 and s.disabled_at is null
             and m.granted_by_id is distinct from $3 and m.granted_at < $4
           order by s.name, s.id limit 50"#,
        tenant.uuid(),
        roles,
        requester.uuid(),
        requested_at,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Member::try_from).collect()
}

/// Disables a person and ends their sessions.
///
/// # Errors
/// The database's.
pub async fn disable(db: &mut PgConnection, staff: StaffId) -> Result<(), EngineError> {
    sqlx::query!("update staff set disabled_at = onceover_now() where id = $1", staff.uuid())
        .execute(&mut *db)
        .await?;
    end_sessions(db, staff).await
}

/// Gives a person another password.
///
/// # Errors
/// The database's.
pub async fn set_password(
    db: &mut PgConnection,
    staff: StaffId,
    password_hash: &str,
) -> Result<(), EngineError> {
    sqlx::query!("update staff set password_hash = $2 where id = $1", staff.uuid(), password_hash)
        .execute(db)
        .await?;
    Ok(())
}

/// Gives a person a new password, enables them and ends their sessions.
///
/// # Errors
/// The database's.
pub async fn reset(
    db: &mut PgConnection,
    staff: StaffId,
    password_hash: &str,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update staff set password_hash = $2, disabled_at = null where id = $1",
        staff.uuid(),
        password_hash,
    )
    .execute(&mut *db)
    .await?;
    end_sessions(db, staff).await
}

async fn end_sessions(db: &mut PgConnection, staff: StaffId) -> Result<(), EngineError> {
    sqlx::query!(
        "update sessions set ended_at = onceover_now() where staff_id = $1 and ended_at is null",
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
