//! Which operations are due for what, as sweeps over bounded batches ask.

use domain::ids::{OperationId, TenantId};
use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

// In sweeps the clock stands in a sub-select: read once, its value can bound an index scan; the
// volatile call itself could not, and each sweep would read past all rows that are not due. Kinds
// are looked at one by one: over several at once an index gives no order, and all that is due would
// be read and sorted for the first few.

/// Up to `max` operations that a worker may take: reserved and unheld, oldest first, locked and
/// skipping what others look at.
///
/// # Errors
/// The database's.
pub async fn claimable(
    db: &mut PgConnection,
    tenant: TenantId,
    kinds: &[String],
    max: i64,
) -> Result<Vec<OperationId>, EngineError> {
    let ids = sqlx::query_scalar!(
        r#"select o.id as "id!" from unnest($2::text[]) as k(name) cross join lateral (
             select p.id from operations p
             where p.tenant_id = $1 and p.operation = k.name and p.status = 'reserved'
               and not exists (select from leases l
                 where l.tenant_id = p.tenant_id and l.operation_id = p.id
                   and l.lease_until >= (select onceover_now()))
             order by p.id limit $3 for update of p skip locked) o
           order by o.id limit $3"#,
        tenant.uuid(),
        kinds,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(OperationId::new).collect())
}

/// Up to `max` failed operations of these kinds whose next attempt is due (O13).
///
/// # Errors
/// The database's.
pub async fn due_for_retry(
    db: &mut PgConnection,
    tenant: TenantId,
    kinds: &[String],
    max: i64,
) -> Result<Vec<OperationId>, EngineError> {
    let ids = sqlx::query_scalar!(
        r#"select o.id as "id!" from unnest($2::text[]) as k(name) cross join lateral (
             select p.id, p.next_at from operations p
             where p.tenant_id = $1 and p.operation = k.name and p.status = 'failed_retryable'
               and p.next_at <= (select onceover_now()) and p.attempt < p.max_attempts
             order by p.next_at limit $3 for update skip locked) o
           order by o.next_at limit $3"#,
        tenant.uuid(),
        kinds,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(OperationId::new).collect())
}

/// Up to `max` unknown operations of all tenants whose turn it is (O15), and whose provider this
/// process can ask: a turn that cannot ask would only burn a try.
///
/// # Errors
/// The database's.
pub async fn due_for_reconcile(
    db: &mut PgConnection,
    providers: &[String],
    max: i64,
) -> Result<Vec<Target>, EngineError> {
    let rows = sqlx::query!(
        "select o.tenant_id, o.id from operations o
         join operation_kinds k on k.tenant_id = o.tenant_id and k.name = o.operation
         where o.status = 'unknown' and not o.needs_manual and o.next_reconcile_at <= (select onceover_now())
           and (not k.lookup or k.provider = any($1))
         order by o.next_reconcile_at limit $2",
        providers,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Target { tenant: TenantId::new(row.tenant_id), id: OperationId::new(row.id) })
        .collect())
}

/// Up to `max` final operations whose retention is over and that nothing points at (O27), of the
/// thousand that wait longest: a backlog that is pointed at must not cost a scan of all of it.
///
/// # Errors
/// The database's.
pub async fn due_for_expiry(db: &mut PgConnection, max: i64) -> Result<Vec<Target>, EngineError> {
    let rows = sqlx::query!(
        "select o.tenant_id, o.id from (
           select tenant_id, id, expires_at from operations
           where tombstoned_at is null and expires_at < (select onceover_now())
           order by expires_at limit 1000) o
         where not exists (select from incidents i
             where i.tenant_id = o.tenant_id and i.operation_id = o.id and i.closed_at is null)
           and not exists (select from outbox b
             where b.tenant_id = o.tenant_id and b.operation_id = o.id
               and b.status not in ('published', 'skipped'))
         order by o.expires_at limit $1",
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Target { tenant: TenantId::new(row.tenant_id), id: OperationId::new(row.id) })
        .collect())
}
