//! The same message id with another content: one row per hash, 20 hashes per message, then counted
//! only (D29, as D08 for operations).

use chrono::{DateTime, Utc};
use domain::ids::{MessageId, TenantId};
use sqlx::PgConnection;

use crate::error::EngineError;

/// Hashes kept per message.
const MAX_HASHES: i64 = 20;
/// How much of a conflicting payload is kept, in bytes.
pub const MAX_KEPT: usize = 64 * 1024;

/// Records a conflict; the payload is cut at [`MAX_KEPT`], and left out of a message whose contents
/// have gone. The message's row must be locked: the bound is counted under that lock.
///
/// # Errors
/// The database's.
pub async fn record(
    db: &mut PgConnection,
    tenant: TenantId,
    message: MessageId,
    hash: &[u8],
    payload: &[u8],
) -> Result<(), EngineError> {
    let kept = &payload[..payload.len().min(MAX_KEPT)];
    sqlx::query!(
        "with known as (
           select count(*) as hashes, coalesce(bool_or(hash = $3), false) as same
           from inbox_conflicts where tenant_id = $1 and inbox_id = $2
         ), bodies as (
           select i.shrunk_at is null as kept from inbox i where i.tenant_id = $1 and i.id = $2
         )
         insert into inbox_conflicts (tenant_id, inbox_id, hash, payload, payload_cut)
         select $1, $2, case when keep then $3 else ''::bytea end,
           case when keep and bodies.kept then $4::bytea end, keep and bodies.kept and $5
         from (select same or hashes < $6 as keep from known) k, bodies
         on conflict (tenant_id, inbox_id, hash) do update set
           count = inbox_conflicts.count + 1, last_at = onceover_now()",
        tenant.uuid(),
        message.uuid(),
        hash,
        kept,
        payload.len() > MAX_KEPT,
        MAX_HASHES,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A conflict as stored.
#[derive(Clone, Debug)]
pub struct StoredConflict {
    /// How often it came.
    pub count: i64,
    /// When first.
    pub first_at: DateTime<Utc>,
    /// When last.
    pub last_at: DateTime<Utc>,
    /// The payload, bounded.
    pub payload: Option<Vec<u8>>,
    /// Whether it was cut.
    pub payload_cut: bool,
}

/// A message's conflicts, the latest first.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    message: MessageId,
) -> Result<Vec<StoredConflict>, EngineError> {
    let rows = sqlx::query_as!(
        StoredConflict,
        "select count, first_at, last_at, payload, payload_cut from inbox_conflicts
         where tenant_id = $1 and inbox_id = $2 order by last_at desc, hash limit 21",
        tenant.uuid(),
        message.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}
