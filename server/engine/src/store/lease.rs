//! Leases: who holds what. A row stands only while an operation is held. Lock the operation
//! first.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;
use domain::ids::{OperationId, TenantId};

/// A lease as stored, with the database's view of it.
#[derive(Clone, Debug)]
pub struct Lease {
    /// The number its holder must carry.
    pub fence: i64,
    /// The holder.
    pub owner: String,
    /// When it ends.
    pub lease_until: DateTime<Utc>,
    /// Milliseconds left; negative once lapsed.
    pub left_ms: i64,
}

impl Lease {
    /// Whether it has not ended.
    #[must_use]
    pub const fn is_live(&self) -> bool {
        self.left_ms >= 0
    }
}

/// Grants a lease, over whatever lapsed one stands there.
///
/// # Errors
/// The database's.
pub async fn grant(
    db: &mut PgConnection,
    target: Target,
    fence: i64,
    owner: &str,
    lease_ms: i64,
) -> Result<DateTime<Utc>, EngineError> {
    let until = sqlx::query_scalar!(
        "insert into leases (tenant_id, operation_id, fence, owner, lease_until)
         values ($1, $2, $3, $4, onceover_now() + $5::bigint * interval '1 ms')
         on conflict (tenant_id, operation_id) do update
           set fence = excluded.fence, owner = excluded.owner, granted_at = onceover_now(),
             beat_at = onceover_now(), lease_until = excluded.lease_until
         returning lease_until",
        target.tenant.uuid(),
        target.id.uuid(),
        fence,
        owner,
        lease_ms,
    )
    .fetch_one(db)
    .await?;
    Ok(until)
}

/// Reads and locks a lease.
///
/// # Errors
/// The database's.
pub async fn lock(db: &mut PgConnection, target: Target) -> Result<Option<Lease>, EngineError> {
    let row = sqlx::query!(
        r#"select fence, owner, lease_until from leases where tenant_id = $1 and operation_id = $2 for update"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    // Read after the lock: a beat may have moved the lease while this waited for it.
    let now = clock(db).await?;
    Ok(Some(Lease {
        fence: row.fence,
        owner: row.owner,
        lease_until: row.lease_until,
        left_ms: (row.lease_until - now).num_milliseconds(),
    }))
}

/// The database's clock (D19).
///
/// # Errors
/// The database's.
pub async fn clock(db: &mut PgConnection) -> Result<DateTime<Utc>, EngineError> {
    Ok(sqlx::query_scalar!(r#"select onceover_now() as "now!""#).fetch_one(db).await?)
}

/// Renews a lease (O5): touches no other row and takes no other lock. `None`: the fence is no
/// longer the lease's.
///
/// # Errors
/// The database's.
pub async fn beat(
    db: &mut PgConnection,
    target: Target,
    fence: i64,
    lease_ms: i64,
) -> Result<Option<DateTime<Utc>>, EngineError> {
    let until = sqlx::query_scalar!(
        "update leases set beat_at = onceover_now(), lease_until = onceover_now() + $4::bigint * interval '1 ms'
         where tenant_id = $1 and operation_id = $2 and fence = $3
         returning lease_until",
        target.tenant.uuid(),
        target.id.uuid(),
        fence,
        lease_ms,
    )
    .fetch_optional(db)
    .await?;
    Ok(until)
}

/// Takes a lapsed lease away. `false`: a beat got in first, and the caller must roll back (seen
/// otherwise: a live worker lost its lease).
///
/// # Errors
/// The database's.
pub async fn end_lapsed(
    db: &mut PgConnection,
    target: Target,
    fence: i64,
) -> Result<bool, EngineError> {
    let gone = sqlx::query!(
        "delete from leases
         where tenant_id = $1 and operation_id = $2 and fence = $3 and lease_until < onceover_now()",
        target.tenant.uuid(),
        target.id.uuid(),
        fence,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected() == 1)
}

/// Ends whatever lease there is: its operation has moved to where nobody holds it.
///
/// # Errors
/// The database's.
pub async fn end(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from leases where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Up to `max` operations under way whose lease ended (O11), of all tenants.
///
/// # Errors
/// The database's.
pub async fn lapsed_calls(db: &mut PgConnection, max: i64) -> Result<Vec<Target>, EngineError> {
    let rows = sqlx::query!(
        "select l.tenant_id, l.operation_id from leases l
         join operations o on o.tenant_id = l.tenant_id and o.id = l.operation_id
         where l.lease_until < (select onceover_now()) and o.status = 'executing'
         order by l.lease_until limit $1",
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Target {
            tenant: TenantId::new(row.tenant_id),
            id: OperationId::new(row.operation_id),
        })
        .collect())
}

/// Gives a lease back whose call was never begun: whoever asks next may take the operation at once.
///
/// # Errors
/// The database's.
pub async fn give_back(
    db: &mut PgConnection,
    target: Target,
    fence: i64,
) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from leases where tenant_id = $1 and operation_id = $2 and fence = $3",
        target.tenant.uuid(),
        target.id.uuid(),
        fence,
    )
    .execute(db)
    .await?;
    Ok(())
}
