//! Which operations are due for what, as sweeps over bounded batches ask.

use chrono::{DateTime, Utc};
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
               and not exists (select from compensations c
                 where c.tenant_id = p.tenant_id and c.operation_id = p.id
                   and c.status in ('requested', 'waiting_forward'))
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

/// An unknown outcome whose turn it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DueQuestion {
    /// The operation.
    pub target: Target,
    /// Who would be asked; `None` where there is nobody to ask.
    pub provider: Option<String>,
}

/// Unknown operations of all tenants whose turn it is (O15): at most `per_provider` of each
/// provider, each tenant's and kind's first before anybody's second, and `max` in all. So a
/// thousand rows of a provider that hangs keep nobody else's waiting. A provider that this process
/// cannot ask is left to those that can: such a turn would only burn a try.
///
/// The kinds that have such rows are found by skipping along the index, so what waits for a person
/// and what is not due is not read.
///
/// # Errors
/// The database's.
pub async fn due_for_reconcile(
    db: &mut PgConnection,
    providers: &[String],
    per_provider: i64,
    max: i64,
) -> Result<Vec<DueQuestion>, EngineError> {
    let rows = sqlx::query!(
        r#"
        with recursive waiting as (
          (select o.tenant_id, o.operation from operations o where o.status = 'unknown' and not o.needs_manual
           order by o.tenant_id, o.operation limit 1)
          union all
          select n.tenant_id, n.operation from waiting w cross join lateral (
            select o.tenant_id, o.operation from operations o
            where o.status = 'unknown' and not o.needs_manual
              and (o.tenant_id, o.operation) > (w.tenant_id, w.operation)
            order by o.tenant_id, o.operation limit 1) n
        ), asked as (
          select w.tenant_id, w.operation,
            case when k.lookup or (k.honours_keys and k.key_ttl_ms is not null) then k.provider end as provider
          from waiting w join operation_kinds k on k.tenant_id = w.tenant_id and k.name = w.operation
        ), due as (
          select d.tenant_id, d.id, d.next_reconcile_at, a.provider,
            row_number() over (partition by a.tenant_id, a.operation order by d.next_reconcile_at) as place
          from asked a cross join lateral (
            select o.tenant_id, o.id, o.next_reconcile_at from operations o
            where o.tenant_id = a.tenant_id and o.operation = a.operation and o.status = 'unknown'
              and not o.needs_manual and o.next_reconcile_at <= (select onceover_now())
            order by o.next_reconcile_at limit $2) d
          where a.provider is null or a.provider = any($1)
        ), ranked as (
          select d.*, row_number() over (partition by d.provider order by d.place, d.next_reconcile_at) as rank
          from due d
        )
        select tenant_id as "tenant_id!", id as "id!", provider from ranked
        where rank <= $2 order by rank, next_reconcile_at limit $3
        "#,
        providers,
        per_provider,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| DueQuestion {
            target: Target { tenant: TenantId::new(row.tenant_id), id: OperationId::new(row.id) },
            provider: row.provider,
        })
        .collect())
}

/// A row that a walk over old ones met.
#[derive(Clone, Debug)]
pub struct Old {
    /// The operation.
    pub target: Target,
    /// Its instant in the order of the walk.
    pub at: DateTime<Utc>,
    /// Whether nothing points at it.
    pub is_free: bool,
}

/// The next final operations whose retention is over (O27), in the order of the walk, with whether
/// something still points at them: those are stepped over, not waited for.
///
/// # Errors
/// The database's.
pub async fn expirable(
    db: &mut PgConnection,
    after: Option<(DateTime<Utc>, OperationId)>,
    max: i64,
) -> Result<Vec<Old>, EngineError> {
    let rows = sqlx::query!(
        r#"select o.tenant_id, o.id, o.expires_at as "at!",
             not operation_is_pointed_at(o.tenant_id, o.id, o.workflow_id) as "is_free!"
           from (
             select tenant_id, id, workflow_id, expires_at from operations
             where tombstoned_at is null and expires_at < (select onceover_now())
               and (expires_at, id) > ($1, $2)
             order by expires_at, id limit $3) o
           order by o.expires_at, o.id"#,
        after.map_or(DateTime::UNIX_EPOCH, |(at, _)| at),
        after.map_or(uuid::Uuid::nil(), |(_, id)| id.uuid()),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Old {
            target: Target { tenant: TenantId::new(row.tenant_id), id: OperationId::new(row.id) },
            at: row.at,
            is_free: row.is_free,
        })
        .collect())
}

/// The next tombstones of a kind that are old enough to go (O29), in the order of the walk.
///
/// # Errors
/// The database's.
pub async fn purgeable(
    db: &mut PgConnection,
    tenant: TenantId,
    kind: &str,
    after_ms: i64,
    after: Option<(DateTime<Utc>, OperationId)>,
    max: i64,
) -> Result<Vec<Old>, EngineError> {
    let rows = sqlx::query!(
        r#"select o.id, o.tombstoned_at as "at!",
             not (operation_is_pointed_at($1, o.id, null)
               or exists (select from compensations c
                 where c.tenant_id = $1 and (c.operation_id = o.id or c.undo_id = o.id))
               or exists (select from corrections c where c.tenant_id = $1 and c.operation_id = o.id)) as "is_free!"
           from (
             select id, tombstoned_at from operations
             where tenant_id = $1 and operation = $2 and tombstoned_at is not null and amount_minor is null
               and workflow_id is null
               and tombstoned_at < (select onceover_now()) - $3::bigint * interval '1 ms'
               and (tombstoned_at, id) > ($4, $5)
             order by tombstoned_at, id limit $6) o
           order by o.tombstoned_at, o.id"#,
        tenant.uuid(),
        kind,
        after_ms,
        after.map_or(DateTime::UNIX_EPOCH, |(at, _)| at),
        after.map_or(uuid::Uuid::nil(), |(_, id)| id.uuid()),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Old {
            target: Target { tenant, id: OperationId::new(row.id) },
            at: row.at,
            is_free: row.is_free,
        })
        .collect())
}
