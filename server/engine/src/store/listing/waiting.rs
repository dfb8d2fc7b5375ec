//! Queues of attention: what waits for a person, oldest first, read up to a bound, each by a partial
//! index of its own.

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, StaffId, TenantId},
    money::Money,
};
use sqlx::PgConnection;
use uuid::Uuid;

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

/// One record of a queue of attention.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Which.
    pub id: Uuid,
    /// The operation that it is about, where one record stands for the operation's trouble.
    pub operation: Option<OperationId>,
    /// Since when.
    pub since: DateTime<Utc>,
    /// Money at stake, one sum per currency.
    pub amounts: Vec<Money>,
}

macro_rules! waiting {
    ($db:expr, $tenant:expr, $max:expr, $sql:literal) => {
        sqlx::query!($sql, $tenant.uuid(), $max)
            .fetch_all($db)
            .await?
            .into_iter()
            .map(|row| Waiting {
                id: row.id,
                operation: row.operation.map(OperationId::new),
                since: row.since,
                amounts: money(row.amount_minor, row.currency).into_iter().collect(),
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
        r#"select id, id as "operation?", unknown_since as "since!", amount_minor, currency from operations
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
        r#"select o.id, o.id as "operation?", l.lease_until as "since!", o.amount_minor, o.currency
           from (select operation_id, lease_until from leases
             where tenant_id = $1 and lease_until < (select onceover_now())
             order by lease_until, operation_id limit $2) l
           cross join lateral (select * from operations p
             where p.tenant_id = $1 and p.id = l.operation_id limit 1) o
           where o.status in ('reserved', 'executing')
           order by l.lease_until"#
    ))
}

/// Open incidents, oldest first. At stake are the amounts of the operation that one is about and of those
/// that people gathered into it, each once.
///
/// # Errors
/// The database's.
pub async fn waiting_incidents(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    let rows: Vec<Waiting> = waiting!(
        db,
        tenant,
        max,
        r#"select i.id as "id!", i.operation_id as "operation?", i.opened_at as "since!",
             s.amount_minor as "amount_minor?", s.currency as "currency?"
           from (select id, operation_id, opened_at from incidents
             where tenant_id = $1 and closed_at is null order by opened_at limit $2) i
           left join lateral (select least(sum(o.amount_minor), 9223372036854775807)::bigint as amount_minor, o.currency
             from (select i.operation_id as id where i.operation_id is not null
               union select r.target_id from incident_records r
                 where r.tenant_id = $1 and r.incident_id = i.id and r.target_type = 'operation') about
             cross join lateral (select p.amount_minor, p.currency from operations p
               where p.tenant_id = $1 and p.id = about.id limit 1) o
             where o.amount_minor is not null group by o.currency) s on true
           order by i.opened_at, i.id, s.currency"#
    );
    // One row per currency, those of one incident in succession.
    let mut incidents: Vec<Waiting> = Vec::new();
    for row in rows {
        match incidents.last_mut().filter(|last| last.id == row.id) {
            Some(last) => last.amounts.extend(row.amounts),
            None => incidents.push(row),
        }
    }
    Ok(incidents)
}

/// Operations whose key came with another payload in the last seven days, oldest first; each by its
/// oldest conflict. Nothing is at stake where the operation has ended and no open incident disputes how.
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
        r#"select (array_agg(c.id order by c.last_at))[1] as "id!", o.id as "operation?", min(c.last_at) as "since!",
             case when i.yes or o.status not in ('succeeded', 'failed_terminal') then o.amount_minor end
               as "amount_minor?",
             case when i.yes or o.status not in ('succeeded', 'failed_terminal') then o.currency end as "currency?"
           from (select id, operation_id, last_at from payload_conflicts
             where tenant_id = $1 and last_at > (select onceover_now()) - interval '7 days'
             order by last_at limit $2) c
           join operations o on o.tenant_id = $1 and o.id = c.operation_id
           left join lateral (select true as yes from incidents i
             where i.tenant_id = o.tenant_id and i.operation_id = o.id and i.closed_at is null limit 1) i on true
           group by o.tenant_id, o.id, i.yes order by 3"#
    ))
}

/// Events that are dead, in the order in which they were written; each since its last delivery.
///
/// # Errors
/// The database's.
pub async fn waiting_events(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select e.id, null::uuid as operation, coalesce(t.at, e.created_at) as "since!",
             null::bigint as amount_minor, null::text as currency
           from (select id, created_at from outbox
             where tenant_id = $1 and status = 'dead' order by id limit $2) e
           left join lateral (select a.at from outbox_attempts a
             where a.tenant_id = $1 and a.event_id = e.id order by a.id desc limit 1) t on true
           order by 3"#
    ))
}

/// Undos that failed, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_compensations(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select id, null::uuid as operation, updated_at as "since!", amount_minor, currency from compensations
           where tenant_id = $1 and status = 'failed' order by updated_at limit $2"#
    ))
}

/// Workflows that cannot go on by themselves, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_workflows(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select id, null::uuid as operation, updated_at as "since!", null::bigint as amount_minor,
             null::text as currency
           from workflows where tenant_id = $1 and status = 'blocked' order by updated_at limit $2"#
    ))
}

/// Messages that were not taken in, oldest first.
///
/// # Errors
/// The database's.
pub async fn waiting_messages(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<Waiting>, EngineError> {
    Ok(waiting!(
        db,
        tenant,
        max,
        r#"select id, null::uuid as operation, received_at as "since!", null::bigint as amount_minor,
             null::text as currency
           from inbox where tenant_id = $1 and status in ('dead', 'quarantined') order by id limit $2"#
    ))
}

/// Requests that wait for a second person, oldest first, each with whoever asked.
///
/// # Errors
/// The database's.
pub async fn waiting_approvals(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<(Waiting, StaffId)>, EngineError> {
    let rows = sqlx::query!(
        "select id, requested_at, requester_id, amount_minor, currency from approvals
         where tenant_id = $1 and status = 'pending' and expires_at > (select onceover_now())
         order by requested_at limit $2",
        tenant.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let waiting = Waiting {
                id: row.id,
                operation: None,
                since: row.requested_at,
                amounts: money(row.amount_minor, row.currency).into_iter().collect(),
            };
            (waiting, StaffId::new(row.requester_id))
        })
        .collect())
}
