//! The same key with another payload: one row per hash, 20 hashes per operation, then counted
//! only (D08).

use domain::money::Money;
use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// Hashes kept per operation.
const MAX_HASHES: i64 = 20;
/// Callers named per hash.
const MAX_CALLERS: i32 = 20;

/// A payload that did not fit its key.
pub struct Conflict<'a> {
    /// Its hash, under the stored row's version.
    pub hash: &'a [u8],
    /// That version.
    pub hash_version: i16,
    /// The token that sent it.
    pub caller: &'a str,
    /// The amount it named.
    pub amount: Option<&'a Money>,
    /// The payload, masked and bounded.
    pub payload: Option<&'a [u8]>,
    /// Whether it was cut at the bound.
    pub cut: bool,
}

/// Records a conflict. The operation's row must be locked: the bound is counted under that lock.
///
/// # Errors
/// The database's.
pub async fn record(
    db: &mut PgConnection,
    target: Target,
    conflict: Conflict<'_>,
) -> Result<(), EngineError> {
    sqlx::query!(
        r#"
        with known as (
          select count(*) as hashes, coalesce(bool_or(hash = $3), false) as same
          from payload_conflicts where tenant_id = $1 and operation_id = $2
        )
        insert into payload_conflicts
          (tenant_id, operation_id, hash, hash_version, callers, amount_minor, currency, payload, payload_cut)
        select $1, $2,
          case when keep then $3 else ''::bytea end, $4, array[$5::text],
          case when keep then $6::bigint end, case when keep then $7::text end,
          case when keep then $8::bytea end, keep and $9
        from (select same or hashes < $10 as keep from known) k
        on conflict (tenant_id, operation_id, hash) do update set
          count = payload_conflicts.count + 1, last_at = onceover_now(),
          callers = case
            when $5 = any(payload_conflicts.callers) or cardinality(payload_conflicts.callers) >= $11
              then payload_conflicts.callers
            else payload_conflicts.callers || $5::text end
        "#,
        target.tenant.uuid(),
        target.id.uuid(),
        conflict.hash,
        conflict.hash_version,
        conflict.caller,
        conflict.amount.map(|money| money.amount_minor),
        conflict.amount.map(|money| money.currency.as_str()),
        conflict.payload,
        conflict.cut,
        MAX_HASHES,
        MAX_CALLERS,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes the payloads at expiry; that there was a conflict stays (D39).
///
/// # Errors
/// The database's.
pub async fn empty(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "update payload_conflicts set payload = null where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A conflict as stored.
pub struct StoredConflict {
    /// Its id.
    pub id: uuid::Uuid,
    /// How often it came.
    pub count: i64,
    /// When first.
    pub first_at: chrono::DateTime<chrono::Utc>,
    /// When last.
    pub last_at: chrono::DateTime<chrono::Utc>,
    /// Which tokens sent it.
    pub callers: Vec<String>,
    /// The amount it named.
    pub amount_minor: Option<i64>,
    /// Its currency.
    pub currency: Option<String>,
    /// The payload, masked and bounded.
    pub payload: Option<Vec<u8>>,
    /// Whether it was cut.
    pub payload_cut: bool,
}

/// An operation's conflicts, the latest first.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<StoredConflict>, EngineError> {
    let rows = sqlx::query_as!(
        StoredConflict,
        "select id, count, first_at, last_at, callers, amount_minor, currency, payload, payload_cut
         from payload_conflicts where tenant_id = $1 and operation_id = $2
         order by last_at desc, hash limit 21",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Removes an operation's conflicts with its row (O29).
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from payload_conflicts where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
