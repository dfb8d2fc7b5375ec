//! The bodies of an operation: the payload as sent, the stored answer, and their removal.

use sqlx::PgConnection;

use super::{Target, operation::Operation};
use crate::{actor::Actor, error::EngineError};

/// An answer as a client gets it on every repeat, byte for byte (D06).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoredAnswer {
    /// HTTP status, 100 to 599.
    pub status: u16,
    /// Media type.
    pub content_type: String,
    /// Body bytes.
    pub body: Vec<u8>,
    /// Whether the body was cut at a mebibyte.
    pub cut: bool,
}

/// The stored answer, or `None` where there is none or it expired.
///
/// # Errors
/// The database's.
pub async fn find(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<StoredAnswer>, EngineError> {
    let row = sqlx::query!(
        "select response_status, response_type, response_body, response_cut
         from operations where tenant_id = $1 and id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.and_then(|row| {
        Some(StoredAnswer {
            status: u16::try_from(row.response_status?).ok()?,
            content_type: row.response_type?,
            body: row.response_body?,
            cut: row.response_cut,
        })
    }))
}

/// The receipt that a console action stored; `None` for an operation of a service, whatever it
/// stored.
///
/// # Errors
/// The database's.
pub async fn receipt(
    db: &mut PgConnection,
    action: Target,
) -> Result<Option<Vec<u8>>, EngineError> {
    let body = sqlx::query_scalar!(
        "select response_body from operations where tenant_id = $1 and id = $2 and console",
        action.tenant.uuid(),
        action.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(body.flatten())
}

/// The payload as sent; `None` once expired.
///
/// # Errors
/// The database's.
pub async fn payload(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<Vec<u8>>, EngineError> {
    let payload = sqlx::query_scalar!(
        "select payload from operations where tenant_id = $1 and id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(payload.flatten())
}

/// Empties a final row in place: the bodies go, the key stays closed (O27, D39). Terms, conflict
/// payloads, evidence and notes lose their contents in the same transaction.
///
/// # Errors
/// The database's.
pub async fn tombstone(
    db: &mut PgConnection,
    row: &Operation,
    actor: &Actor,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update operations set payload = null, response_body = null, response_type = null, response_status = null,
           tombstoned_at = onceover_now(), version = version + 1,
           move = 'O27', move_actor_kind = $5, move_actor = $6
         where tenant_id = $1 and id = $2 and status = $3 and fence = $4 and tombstoned_at is null",
        row.target.tenant.uuid(),
        row.target.id.uuid(),
        row.status.as_str(),
        row.fence,
        actor.kind,
        actor.name,
    )
    .execute(&mut *db)
    .await?;
    if done.rows_affected() == 0 {
        return Ok(false);
    }
    super::term::remove(&mut *db, row.target).await?;
    super::conflict::empty(&mut *db, row.target).await?;
    super::evidence::empty(&mut *db, row.target).await?;
    super::note::empty(&mut *db, row.target).await?;
    Ok(true)
}
