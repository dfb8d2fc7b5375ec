//! Sessions of browsers.

use std::sync::Arc;

use chrono::{DateTime, Utc};
use domain::ids::{SessionId, StaffId, TenantId};
use sqlx::PgConnection;

use super::{preferences, word};
use crate::{Limits, RequestOrigin, StaffCaller, caller::Standing, error::EngineError};

/// How long a session and its factor last.
#[derive(Clone, Copy, Debug)]
pub struct Lasts {
    /// Minutes without a request.
    pub idle_min: i32,
    /// Minutes since sign-in.
    pub absolute_min: i32,
    /// Seconds for which a factor counts.
    pub factor_s: i32,
}

impl From<&Limits> for Lasts {
    fn from(limits: &Limits) -> Self {
        Self {
            idle_min: limits.session_idle_min,
            absolute_min: limits.session_absolute_min,
            factor_s: limits.step_up_s,
        }
    }
}

/// Opens a session.
///
/// # Errors
/// The database's.
pub async fn open(
    db: &mut PgConnection,
    token_hash: &[u8],
    staff: StaffId,
    tenant: TenantId,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into sessions (token_hash, staff_id, tenant_id) values ($1, $2, $3)",
        token_hash,
        staff.uuid(),
        tenant.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Notes when the person of a new session proved who they are, as somebody else saw it; `None` where nobody
/// says: then it counts as long ago.
///
/// # Errors
/// The database's.
pub async fn proven_at(
    db: &mut PgConnection,
    token_hash: &[u8],
    at: Option<DateTime<Utc>>,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update sessions set factor_at = coalesce(least($2, onceover_now()), created_at - interval '1 day')
         where token_hash = $1",
        token_hash,
        at,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Who a session stands for, if it has neither ended nor lapsed and its person may still come in.
/// The last request's time is kept to the minute: a write per page would be one too many.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn caller(
    db: &mut PgConnection,
    token_hash: &[u8],
    lasts: Lasts,
    request: RequestOrigin,
) -> Result<Option<StaffCaller>, EngineError> {
    let row = sqlx::query!(
        r#"
        select s.id, s.tenant_id, p.id as staff_id, p.name, p.email, t.slug, t.name as tenant_name, m.role,
          f.zone as "zone?", f.theme as "theme?", f.density as "density?", f.page_rows as "page_rows?",
          s.seen_at < onceover_now() - interval '1 minute' as "stale!", onceover_now() as "asked_at!",
          s.factor_at + make_interval(secs => $4::integer) as "factor_until!"
        from sessions s
        join staff p on p.id = s.staff_id and p.disabled_at is null
        join memberships m on m.tenant_id = s.tenant_id and m.staff_id = s.staff_id
        join tenants t on t.id = s.tenant_id
        left join staff_preferences f on f.staff_id = s.staff_id
        where s.token_hash = $1 and s.ended_at is null
          and s.seen_at > onceover_now() - make_interval(mins => $2)
          and s.created_at > onceover_now() - make_interval(mins => $3)
        "#,
        token_hash,
        lasts.idle_min,
        lasts.absolute_min,
        lasts.factor_s,
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    if row.stale {
        sqlx::query!("update sessions set seen_at = onceover_now() where id = $1", row.id)
            .execute(db)
            .await?;
    }
    Ok(Some(StaffCaller {
        staff_id: StaffId::new(row.staff_id),
        name: row.name,
        email: row.email,
        tenant_id: TenantId::new(row.tenant_id),
        tenant_slug: row.slug,
        tenant_name: row.tenant_name,
        role: word(&row.role)?,
        origin: Arc::new(request),
        session: Some(SessionId::new(row.id)),
        factor_until: Some(row.factor_until),
        preferences: preferences::read((row.zone, row.theme, row.density, row.page_rows))?
            .map(Arc::new),
        asked_at: row.asked_at,
        token: None,
    }))
}

/// Which session a token names and where it stands, under the same conditions. No request is noted:
/// who only looks does not keep it open.
///
/// # Errors
/// The database's.
pub async fn standing(
    db: &mut PgConnection,
    token_hash: &[u8],
    lasts: Lasts,
) -> Result<Option<Standing>, EngineError> {
    let row = sqlx::query!(
        r#"
        select s.id, s.tenant_id, t.slug
        from sessions s
        join staff p on p.id = s.staff_id and p.disabled_at is null
        join memberships m on m.tenant_id = s.tenant_id and m.staff_id = s.staff_id
        join tenants t on t.id = s.tenant_id
        where s.token_hash = $1 and s.ended_at is null
          and s.seen_at > onceover_now() - make_interval(mins => $2)
          and s.created_at > onceover_now() - make_interval(mins => $3)
        "#,
        token_hash,
        lasts.idle_min,
        lasts.absolute_min,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Standing {
        session: SessionId::new(row.id),
        tenant: TenantId::new(row.tenant_id),
        tenant_slug: row.slug,
    }))
}

/// Gives a session of a person who has proved again who they are another token (T09): the tenant that it
/// stands in; `None` where it is not theirs, has ended, or the former token is not its own.
///
/// # Errors
/// The database's.
pub async fn renew(
    db: &mut PgConnection,
    session: SessionId,
    staff: StaffId,
    (former_hash, token_hash): (&[u8], &[u8]),
) -> Result<Option<TenantId>, EngineError> {
    let tenant = sqlx::query_scalar!(
        "update sessions set token_hash = $4, factor_at = onceover_now()
         where id = $1 and staff_id = $2 and token_hash = $3 and ended_at is null returning tenant_id",
        session.uuid(),
        staff.uuid(),
        former_hash,
        token_hash,
    )
    .fetch_optional(db)
    .await?;
    Ok(tenant.map(TenantId::new))
}

/// A session that has just ended.
#[derive(Debug)]
pub struct Ended {
    /// Whose it was.
    pub staff: StaffId,
    /// By email.
    pub email: String,
    /// The tenant that it stood in.
    pub tenant: TenantId,
}

/// Ends a session: whose it was, and where it stood; `None` where it stood no more.
///
/// # Errors
/// The database's.
pub async fn end(db: &mut PgConnection, token_hash: &[u8]) -> Result<Option<Ended>, EngineError> {
    let row = sqlx::query!(
        "update sessions s set ended_at = onceover_now() from staff p
         where s.token_hash = $1 and s.ended_at is null and p.id = s.staff_id
         returning s.staff_id, p.email, s.tenant_id",
        token_hash,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Ended {
        staff: StaffId::new(row.staff_id),
        email: row.email,
        tenant: TenantId::new(row.tenant_id),
    }))
}

/// Moves a session to another tenant of its person: its id; `None` where there is none of that name.
///
/// # Errors
/// The database's.
pub async fn switch(
    db: &mut PgConnection,
    token_hash: &[u8],
    slug: &str,
) -> Result<Option<TenantId>, EngineError> {
    let tenant = sqlx::query_scalar!(
        "update sessions s set tenant_id = t.id
         from tenants t join memberships m on m.tenant_id = t.id
         where s.token_hash = $1 and s.ended_at is null and t.slug = $2 and m.staff_id = s.staff_id
         returning s.tenant_id",
        token_hash,
        slug,
    )
    .fetch_optional(db)
    .await?;
    Ok(tenant.map(TenantId::new))
}
