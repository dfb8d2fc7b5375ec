//! A person's sessions as that person sees and ends them, and what each knows of its browser.

use chrono::{DateTime, Utc};
use domain::ids::{SessionId, StaffId};
use sqlx::PgConnection;
use uuid::Uuid;

use super::session::Lasts;
use crate::error::EngineError;

/// Where a sign-in came from, as the server saw it.
#[derive(Clone, Debug, Default)]
pub struct Origin {
    /// The address of the peer.
    pub address: Option<String>,
    /// What the browser says about itself.
    pub agent: Option<String>,
}

/// A session of a person.
#[derive(Debug)]
pub struct Listed {
    /// Its id.
    pub id: Uuid,
    /// When it was opened.
    pub created_at: DateTime<Utc>,
    /// Its last request.
    pub seen_at: DateTime<Utc>,
    /// Where from.
    pub address: Option<String>,
    /// By which browser.
    pub agent: Option<String>,
    /// In which tenant it stands.
    pub tenant: String,
    /// Whether it still stands.
    pub open: bool,
}

/// Notes where a session was opened from.
///
/// # Errors
/// The database's.
pub async fn note_origin(
    db: &mut PgConnection,
    token_hash: &[u8],
    origin: &Origin,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update sessions set address = nullif(left($2, 100), ''), agent = nullif(left($3, 300), '')
         where token_hash = $1",
        token_hash,
        origin.address,
        origin.agent,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The newest sessions of a person, ended ones among them.
///
/// # Errors
/// The database's.
pub async fn newest(
    db: &mut PgConnection,
    staff: StaffId,
    lasts: Lasts,
) -> Result<Vec<Listed>, EngineError> {
    let rows = sqlx::query_as!(
        Listed,
        r#"select s.id, s.created_at, s.seen_at, s.address, s.agent, t.name as tenant,
             s.ended_at is null and s.seen_at > onceover_now() - make_interval(mins => $2)
               and s.created_at > onceover_now() - make_interval(mins => $3) as "open!"
           from sessions s join tenants t on t.id = s.tenant_id
           where s.staff_id = $1 order by s.created_at desc limit 100"#,
        staff.uuid(),
        lasts.idle_min,
        lasts.absolute_min,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Gives a session another token, for its person has just proved who they are; the old one is worth
/// nothing from here on (T09). `false` where it has ended.
///
/// # Errors
/// The database's.
pub async fn renew(
    db: &mut PgConnection,
    session: SessionId,
    token_hash: &[u8],
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update sessions set token_hash = $2, factor_at = onceover_now(), seen_at = onceover_now()
         where id = $1 and ended_at is null",
        session.uuid(),
        token_hash,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends one of a person's sessions; `false` where there is none that stands.
///
/// # Errors
/// The database's.
pub async fn end(
    db: &mut PgConnection,
    staff: StaffId,
    session: SessionId,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update sessions set ended_at = onceover_now()
         where id = $1 and staff_id = $2 and ended_at is null",
        session.uuid(),
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Ends all of a person's sessions but one.
///
/// # Errors
/// The database's.
pub async fn end_others(
    db: &mut PgConnection,
    staff: StaffId,
    but: Option<SessionId>,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update sessions set ended_at = onceover_now()
         where staff_id = $1 and id is distinct from $2 and ended_at is null",
        staff.uuid(),
        but.map(SessionId::uuid),
    )
    .execute(db)
    .await?;
    Ok(())
}
