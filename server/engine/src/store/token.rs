//! Bearer tokens: who one stands for, and making, revoking and noting the use of one.

use std::sync::Arc;

use domain::{
    ids::{StaffId, TenantId, TokenId},
    token::{TokenVerb, USE_NOTED_EVERY},
};
use sqlx::PgConnection;

use super::word;
use crate::{
    Caller, RequestOrigin, ServiceCaller, StaffCaller, caller::StaffToken, error::EngineError,
};

/// A bearer that was let in.
#[derive(Debug)]
pub struct Bearer {
    /// Who.
    pub caller: Caller,
    /// By which token.
    pub token: TokenId,
    /// Of which tenant.
    pub tenant: TenantId,
    /// Whether its last use is to be noted anew.
    pub note: bool,
}

/// Who a token stands for, if it is neither revoked nor expired and its person may still come in.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn bearer(
    db: &mut PgConnection,
    token_hash: &[u8],
    request: RequestOrigin,
) -> Result<Option<Bearer>, EngineError> {
    let row = sqlx::query!(
        r#"
        select k.id, k.tenant_id, k.name, k.kinds, k.verbs, k.staff_id, t.slug, t.name as tenant_name,
          p.name as "person?", p.email as "email?", m.role as "role?", onceover_now() as "asked_at!",
          k.last_used_at, k.stepped_up_at + interval '8 hours' as "factor_until?"
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
    let (token, tenant) = (TokenId::new(row.id), TenantId::new(row.tenant_id));
    let verbs = verbs(&row.verbs)?;
    let note = row.last_used_at.is_none_or(|at| at + USE_NOTED_EVERY <= row.asked_at);
    let Some(staff_id) = row.staff_id else {
        let caller = Caller::Service(ServiceCaller {
            token_id: token,
            name: row.name,
            tenant_id: tenant,
            kinds: row.kinds,
            verbs,
            origin: Arc::new(request),
        });
        return Ok(Some(Bearer { caller, token, tenant, note }));
    };
    let (Some(name), Some(email), Some(role)) = (row.person, row.email, row.role) else {
        return Ok(None);
    };
    let caller = Caller::Staff(StaffCaller {
        staff_id: StaffId::new(staff_id),
        name,
        email,
        tenant_id: tenant,
        tenant_slug: row.slug,
        tenant_name: row.tenant_name,
        role: word(&role)?,
        origin: Arc::new(request),
        asked_at: row.asked_at,
        session: None,
        factor_until: row.factor_until,
        preferences: None,
        token: Some(Arc::new(StaffToken { id: token, verbs })),
    });
    Ok(Some(Bearer { caller, token, tenant, note }))
}

/// Verbs as words. One that this build does not know is no verb: leaving it out could turn a narrow
/// token into one without verbs, which covers everything.
pub(super) fn verbs(words: &[String]) -> Result<Vec<TokenVerb>, EngineError> {
    words.iter().map(|text| word(text)).collect()
}

/// Notes that a token was used, unless somebody else does so right now or has within the minute.
///
/// # Errors
/// The database's.
pub async fn note_use(
    db: &mut PgConnection,
    tenant: TenantId,
    token: TokenId,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update tokens set last_used_at = onceover_now() where tenant_id = $1 and id in (
           select id from tokens where tenant_id = $1 and id = $2
             and (last_used_at is null or last_used_at <= onceover_now() - make_interval(secs => $3))
           for update skip locked)",
        tenant.uuid(),
        token.uuid(),
        USE_NOTED_EVERY.as_seconds_f64(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A token to add.
#[derive(Debug)]
pub struct AddedToken<'a> {
    /// Under this id, where a form named one.
    pub id: Option<TokenId>,
    /// In which tenant.
    pub tenant: TenantId,
    /// Its name, once in the tenant.
    pub name: &'a str,
    /// Whose; `None`: a service's.
    pub person: Option<StaffId>,
    /// Kinds; empty: all.
    pub kinds: &'a [String],
    /// Calls; empty: all.
    pub verbs: &'a [TokenVerb],
    /// Days that it lasts; `None`: until it is revoked.
    pub days: Option<i32>,
    /// SHA-256 of its text.
    pub hash: &'a [u8],
    /// Who makes it, by email; `None`: the command line.
    pub made_by: Option<(StaffId, &'a str)>,
}

/// Adds a token; `false` where the tenant has, or had, one of that name. A person's counts as made under
/// step-up: whoever makes one has just proved who they are, or sits at the owner's terminal.
///
/// # Errors
/// The database's.
pub async fn add(db: &mut PgConnection, new: &AddedToken<'_>) -> Result<bool, EngineError> {
    let verbs: Vec<String> = new.verbs.iter().map(ToString::to_string).collect();
    let done = sqlx::query!(
        "insert into tokens (id, tenant_id, name, staff_id, kinds, verbs, expires_at, token_hash, made_by,
           made_by_id, stepped_up_at)
         values (coalesce($1, onceover_uuid7()), $2, $3, $4, $5, $6,
           onceover_now() + make_interval(days => $7), $8, coalesce($9, 'command line'), $10,
           case when $4::uuid is not null then onceover_now() end)
         on conflict (tenant_id, name) do nothing",
        new.id.map(TokenId::uuid),
        new.tenant.uuid(),
        new.name,
        new.person.map(StaffId::uuid),
        new.kinds,
        &verbs,
        new.days,
        new.hash,
        new.made_by.map(|(_, email)| email),
        new.made_by.map(|(id, _)| id.uuid()),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a token by name, as the command line; `false` where there is none that still stands.
///
/// # Errors
/// The database's.
pub async fn revoke_named(
    db: &mut PgConnection,
    tenant: TenantId,
    name: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update tokens set revoked_at = onceover_now(), revoked_by = 'command line', version = version + 1
         where tenant_id = $1 and name = $2 and revoked_at is null",
        tenant.uuid(),
        name,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Revokes a token at a version; `false` where it has moved since.
///
/// # Errors
/// The database's.
pub async fn revoke(
    db: &mut PgConnection,
    tenant: TenantId,
    token: TokenId,
    version: i64,
    by: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update tokens set revoked_at = onceover_now(), revoked_by = $4, version = version + 1
         where tenant_id = $1 and id = $2 and version = $3 and revoked_at is null",
        tenant.uuid(),
        token.uuid(),
        version,
        by,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
