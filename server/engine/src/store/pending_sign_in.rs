//! Sign-ins that have left for the identity provider and not come back.

use chrono::{DateTime, Utc};
use domain::ids::SessionId;
use sqlx::PgConnection;

use crate::error::EngineError;

/// What is kept of one while it is away.
#[derive(Debug)]
pub struct Pending {
    /// What the provider must repeat.
    pub nonce: String,
    /// Where the person was going.
    pub next: String,
    /// The session whose person proves again who they are.
    pub session: Option<SessionId>,
    /// When it left.
    pub begun_at: DateTime<Utc>,
    /// The database's clock now.
    pub now: DateTime<Utc>,
}

/// Notes that one leaves, and sweeps some that never came back, more than are added. A session that
/// has ended is not noted: what comes back is then no answer to anything.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    (state_hash, verifier_hash): (&[u8], &[u8]),
    nonce: &str,
    next: &str,
    session_hash: Option<&[u8]>,
    lifetime_min: i32,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "with swept as (
           delete from pending_sign_ins where state_hash in (
             select state_hash from pending_sign_ins
             where created_at < (select onceover_now()) - make_interval(mins => $6)
             order by created_at limit 100 for update skip locked))
         insert into pending_sign_ins (state_hash, verifier_hash, nonce, next, session_id)
         select $1, $2, $3, $4, s.id
         from (select) one left join sessions s on s.token_hash = $5 and s.ended_at is null
         where $5::bytea is null or s.id is not null",
        state_hash,
        verifier_hash,
        nonce,
        next,
        session_hash,
        lifetime_min,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes one out, for good; `None` where it is unknown, was taken before, is too old, or left from
/// another browser.
///
/// # Errors
/// The database's.
pub async fn take(
    db: &mut PgConnection,
    (state_hash, verifier_hash): (&[u8], &[u8]),
    lifetime_min: i32,
) -> Result<Option<Pending>, EngineError> {
    let row = sqlx::query!(
        r#"delete from pending_sign_ins
           where state_hash = $1 and verifier_hash = $2
             and created_at > onceover_now() - make_interval(mins => $3)
           returning nonce, next, session_id, created_at, onceover_now() as "now!""#,
        state_hash,
        verifier_hash,
        lifetime_min,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Pending {
        nonce: row.nonce,
        next: row.next,
        session: row.session_id.map(SessionId::new),
        begun_at: row.created_at,
        now: row.now,
    }))
}
