//! Queues of attention: what waits for a person, oldest first, read up to a bound.

use chrono::{DateTime, Utc};
use domain::ids::{OperationId, TenantId};
use sqlx::PgConnection;

use crate::{error::EngineError, store::row::money};

/// How many operations wait for a person, up to `max`.
///
/// # Errors
/// The database's.
pub async fn count_manual(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<i64, EngineError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from
           (select from operations where tenant_id = $1 and needs_manual limit $2) waiting"#,
        tenant.uuid(),
        max,
    )
    .fetch_one(db)
    .await?;
    Ok(count)
}

/// One operation of a queue of attention.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which.
    pub id: OperationId,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Amount at stake.
    pub amount: Option<domain::money::Money>,
}

macro_rules! waiting {
    ($db:expr, $tenant:expr, $max:expr, $sql:literal) => {
        sqlx::query!($sql, $tenant.uuid(), $max)
            .fetch_all($db)
            .await?
            .into_iter()
            .map(|row| Waiting {
                id: OperationId::new(row.id),
                since: row.since,
                amount: money(row.amount_minor, row.currency),
            })
            .collect()
    };
}

/// Unknown outcomes that machines have given up on, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_unknown(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select id, unknown_since as "since!", amount_minor, currency from operations
           where tenant_id = $1 and needs_manual order by unknown_since limit $2"#
    ))
}

/// Leases that ended with nobody taking over, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_leases(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, l.lease_until as "since!", o.amount_minor, o.currency
           from leases l join operations o on o.tenant_id = l.tenant_id and o.id = l.operation_id
           where l.tenant_id = $1 and l.lease_until < (select onceover_now()) and o.status in ('reserved', 'executing')
           order by l.lease_until limit $2"#
    ))
}

/// Operations with an open incident, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_incidents(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, i.opened_at as "since!", o.amount_minor, o.currency
           from incidents i join operations o on o.tenant_id = i.tenant_id and o.id = i.operation_id
           where i.tenant_id = $1 and i.closed_at is null order by i.opened_at limit $2"#
    ))
}

/// Operations whose key came with another payload in the last seven days, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_conflicts(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select o.id, min(c.last_at) as "since!", o.amount_minor, o.currency
           from (select operation_id, last_at from payload_conflicts
             where tenant_id = $1 and last_at > (select onceover_now()) - interval '7 days'
             order by last_at limit $2) c
           join operations o on o.tenant_id = $1 and o.id = c.operation_id
           group by o.tenant_id, o.id order by 2"#
    ))
}
