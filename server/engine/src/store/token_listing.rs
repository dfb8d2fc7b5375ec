//! Bearer tokens as they are read: their list, one of them, and one under its lock.

use chrono::{DateTime, Utc};
use domain::{
    ids::{StaffId, TenantId, TokenId},
    token::{TokenState, TokenVerb},
    view::TokenView,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::token::verbs;
use crate::error::EngineError;

/// A token as stored, without its hash.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its id.
    pub id: TokenId,
    /// Grows when it is revoked.
    pub version: i64,
    /// Its name.
    pub name: String,
    /// Whose, by id and email; `None`: a service's.
    pub person: Option<(StaffId, String)>,
    /// Kinds; empty: all.
    pub kinds: Vec<String>,
    /// Calls; empty: all.
    pub verbs: Vec<TokenVerb>,
    /// Where it stands.
    pub state: TokenState,
    /// Who made it.
    pub made_by: String,
    /// When.
    pub made_at: DateTime<Utc>,
    /// Until when it works.
    pub expires_at: Option<DateTime<Utc>>,
    /// Its last use, to the minute.
    pub last_used_at: Option<DateTime<Utc>>,
    /// When it was revoked, and by whom.
    pub revoked: Option<(DateTime<Utc>, Option<String>)>,
}

impl From<Token> for TokenView {
    fn from(token: Token) -> Self {
        let (revoked_at, revoked_by) = token.revoked.unzip();
        Self {
            id: token.id,
            version: token.version,
            name: token.name,
            person: token.person.map(|(_, email)| email),
            kinds: token.kinds,
            verbs: token.verbs,
            state: token.state,
            made_by: token.made_by,
            made_at: token.made_at,
            expires_at: token.expires_at,
            last_used_at: token.last_used_at,
            revoked_at,
            revoked_by: revoked_by.flatten(),
            actions: Vec::new(),
        }
    }
}

struct TokenRow {
    id: Uuid,
    version: i64,
    name: String,
    staff_id: Option<Uuid>,
    email: Option<String>,
    kinds: Vec<String>,
    verbs: Vec<String>,
    expired: bool,
    made_by: String,
    created_at: DateTime<Utc>,
    expires_at: Option<DateTime<Utc>>,
    last_used_at: Option<DateTime<Utc>>,
    revoked_at: Option<DateTime<Utc>>,
    revoked_by: Option<String>,
}

impl TryFrom<TokenRow> for Token {
    type Error = EngineError;

    fn try_from(row: TokenRow) -> Result<Self, EngineError> {
        let state = match row.revoked_at {
            Some(_) => TokenState::Revoked,
            None if row.expired => TokenState::Expired,
            None => TokenState::Active,
        };
        Ok(Self {
            id: TokenId::new(row.id),
            version: row.version,
            name: row.name,
            person: row.staff_id.map(StaffId::new).zip(row.email),
            kinds: row.kinds,
            verbs: verbs(&row.verbs)?,
            state,
            made_by: row.made_by,
            made_at: row.created_at,
            expires_at: row.expires_at,
            last_used_at: row.last_used_at,
            revoked: row.revoked_at.map(|at| (at, row.revoked_by)),
        })
    }
}

/// Tokens of a tenant, or of one person in it: those that work first, the newest first of each.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn list(
    db: &mut PgConnection,
    tenant: TenantId,
    person: Option<StaffId>,
    limit: i64,
) -> Result<Vec<Token>, EngineError> {
    let rows = sqlx::query_as!(
        TokenRow,
        r#"select k.id, k.version, k.name, k.staff_id, s.email as "email?", k.kinds, k.verbs,
             coalesce(k.expires_at <= onceover_now(), false) as "expired!", k.made_by, k.created_at,
             k.expires_at, k.last_used_at, k.revoked_at, k.revoked_by
           from tokens k left join staff s on s.id = k.staff_id
           where k.tenant_id = $1 and ($2::uuid is null or k.staff_id = $2)
           order by k.revoked_at is not null, coalesce(k.expires_at <= onceover_now(), false), k.id desc
           limit $3"#,
        tenant.uuid(),
        person.map(StaffId::uuid),
        limit,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Token::try_from).collect()
}

/// One token.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    tenant: TenantId,
    id: TokenId,
) -> Result<Option<Token>, EngineError> {
    let row = sqlx::query_as!(
        TokenRow,
        r#"select k.id, k.version, k.name, k.staff_id, s.email as "email?", k.kinds, k.verbs,
             coalesce(k.expires_at <= onceover_now(), false) as "expired!", k.made_by, k.created_at,
             k.expires_at, k.last_used_at, k.revoked_at, k.revoked_by
           from tokens k left join staff s on s.id = k.staff_id
           where k.tenant_id = $1 and k.id = $2"#,
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(Token::try_from).transpose()
}

/// Locks a token until the transaction ends, then reads it.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: TokenId,
) -> Result<Option<Token>, EngineError> {
    let locked = sqlx::query_scalar!(
        "select version from tokens where tenant_id = $1 and id = $2 for update",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    match locked {
        Some(_) => find(db, tenant, id).await,
        None => Ok(None),
    }
}
