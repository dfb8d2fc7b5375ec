//! Sign-ins whose password was right and whose code is not given yet.

use domain::ids::StaffId;
use sqlx::PgConnection;

use crate::error::EngineError;

/// A sign-in that waits for its code.
#[derive(Debug)]
pub struct Ticket {
    /// Who.
    pub staff: StaffId,
    /// By email.
    pub email: String,
    /// Under which its tries are counted.
    pub email_hash: Vec<u8>,
}

/// Opens one, and forgets those of yesterday.
///
/// # Errors
/// The database's.
pub async fn open(
    db: &mut PgConnection,
    token_hash: &[u8],
    staff: StaffId,
    email_hash: &[u8],
) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from sign_in_tickets where created_at < (select onceover_now()) - interval '1 day'"
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "insert into sign_in_tickets (token_hash, staff_id, email_hash) values ($1, $2, $3)",
        token_hash,
        staff.uuid(),
        email_hash,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// One that is less than ten minutes old, of a person who may still come in.
///
/// # Errors
/// The database's.
pub async fn find(db: &mut PgConnection, token_hash: &[u8]) -> Result<Option<Ticket>, EngineError> {
    let row = sqlx::query!(
        "select t.staff_id, s.email, t.email_hash from sign_in_tickets t
         join staff s on s.id = t.staff_id and s.disabled_at is null
         where t.token_hash = $1 and t.used_at is null and t.created_at > onceover_now() - interval '10 minutes'",
        token_hash,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Ticket {
        staff: StaffId::new(row.staff_id),
        email: row.email,
        email_hash: row.email_hash,
    }))
}

/// Uses it; `false` where it was used before.
///
/// # Errors
/// The database's.
pub async fn take(db: &mut PgConnection, token_hash: &[u8]) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update sign_in_tickets set used_at = onceover_now() where token_hash = $1 and used_at is null",
        token_hash,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Voids those of a person: what their password was right for has changed.
///
/// # Errors
/// The database's.
pub async fn void(db: &mut PgConnection, staff: StaffId) -> Result<(), EngineError> {
    sqlx::query!(
        "update sign_in_tickets set used_at = onceover_now() where staff_id = $1 and used_at is null",
        staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
