//! One search over all records: what the lists' own searches do not find, and a row of each record that
//! was found. Each way of finding goes by an index; a row is read by its id.

use chrono::{DateTime, Utc};
use domain::{
    ids::TenantId,
    money::Money,
    record::{RecordName, RecordType},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, span};
use crate::error::EngineError;

/// Requests, or undos, of one operation that a search reads.
const MAX_OF_ONE: i64 = 5;

/// The requests for a second person about these operations, and those whose own id lies in a range.
///
/// # Errors
/// The database's.
pub async fn approvals(
    db: &mut PgConnection,
    tenant: TenantId,
    operations: &[Uuid],
    ids: Option<(Uuid, Uuid)>,
    limit: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let operations: Vec<_> = operations.iter().map(Uuid::to_string).collect();
    let (first, last) = span::or_empty(ids);
    let found = sqlx::query_scalar!(
        r#"
        (select a.id as "id!" from unnest($2::text[]) as f(target) cross join lateral
          (select id from approvals p
           where p.tenant_id = $1 and p.target_type = 'operation' and p.target_id = f.target
           order by id desc limit $6) a)
        union
        (select id from approvals
          where tenant_id = $1 and id >= $3 and id <= $4 order by id desc limit $5)
        "#,
        tenant.uuid(),
        &operations,
        first,
        last,
        limit,
        MAX_OF_ONE,
    )
    .fetch_all(db)
    .await?;
    Ok(found)
}

/// The undos of these operations, and those whose own id lies in a range. One that turned out not to be
/// needed is found by its id alone.
///
/// # Errors
/// The database's.
pub async fn undos(
    db: &mut PgConnection,
    tenant: TenantId,
    operations: &[Uuid],
    ids: Option<(Uuid, Uuid)>,
    limit: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let (first, last) = span::or_empty(ids);
    let found = sqlx::query_scalar!(
        r#"
        (select c.id as "id!" from unnest($2::uuid[]) as f(id) cross join lateral
          (select id from compensations p
           where p.tenant_id = $1 and p.operation_id = f.id and p.status <> 'not_needed' limit $6) c)
        union
        (select id from compensations
          where tenant_id = $1 and id >= $3 and id <= $4 order by id desc limit $5)
        "#,
        tenant.uuid(),
        operations,
        first,
        last,
        limit,
        MAX_OF_ONE,
    )
    .fetch_all(db)
    .await?;
    Ok(found)
}

/// Whether an id is that of a receipt.
///
/// # Errors
/// The database's.
pub async fn is_receipt(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<bool, EngineError> {
    let is = sqlx::query_scalar!(
        r#"select exists (select from operations
           where tenant_id = $1 and id = $2 and console and response_body is not null) as "is!""#,
        tenant.uuid(),
        id,
    )
    .fetch_one(db)
    .await?;
    Ok(is)
}

/// One record that was found.
#[derive(Clone, Debug)]
pub struct Found {
    /// What kind of record.
    pub record: RecordType,
    /// Its id.
    pub id: Uuid,
    /// What it is called among its like.
    pub label: String,
    /// Its own key, or that of what it is about.
    pub key: String,
    /// Where it stands.
    pub status: String,
    /// Whether its contents have expired.
    pub tombstoned: bool,
    /// The provider's reference.
    pub reference: Option<String>,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// When it came to be.
    pub at: DateTime<Utc>,
}

/// The rows of these records; one that is gone is left out.
///
/// # Errors
/// The database's.
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    wanted: &[RecordName],
) -> Result<Vec<Found>, EngineError> {
    let of = |kind| span::of_kind(wanted, kind);
    let rows = sqlx::query!(
        r#"
        select 'operation' as "record!", id as "id!", operation as "label!", key as "key!", status as "status!",
            tombstoned_at is not null as "tombstoned!", external_reference as reference, amount_minor, currency,
            created_at as "at!"
          from operations where tenant_id = $1 and id = any($2) and not console
        union all select 'workflow', id, kind, key, status, false, null, null, null, created_at
          from workflows where tenant_id = $1 and id = any($3)
        union all select 'compensation', c.id, c.kind, o.key, c.status, false, null, c.amount_minor, c.currency,
            c.requested_at
          from compensations c cross join lateral
            (select p.key from operations p where p.tenant_id = $1 and p.id = c.operation_id limit 1) o
          where c.tenant_id = $1 and c.id = any($4)
        union all select 'event', id, topic, aggregate || ' #' || seq, status, false, null, null, null, created_at
          from outbox where tenant_id = $1 and id = any($5)
        union all select 'message', id, consumer, message_id, status, false, null, null, null, received_at
          from inbox where tenant_id = $1 and id = any($6)
        union all select 'conflict', c.id, o.operation, o.key, 'refused', false, null, c.amount_minor, c.currency,
            c.first_at
          from payload_conflicts c cross join lateral
            (select p.operation, p.key from operations p where p.tenant_id = $1 and p.id = c.operation_id limit 1) o
          where c.tenant_id = $1 and c.id = any($7)
        union all select 'approval', id, verb, coalesce(seen ->> 'key', target_id), status, false, null, amount_minor, currency, requested_at
          from approvals where tenant_id = $1 and id = any($8)
        union all select 'incident', id, cause, summary, case when closed_at is null then 'open' else 'closed' end,
            false, null, null, null, opened_at
          from incidents where tenant_id = $1 and id = any($9)
        "#,
        tenant.uuid(),
        &of(RecordType::Operation),
        &of(RecordType::Workflow),
        &of(RecordType::Compensation),
        &of(RecordType::Event),
        &of(RecordType::Message),
        &of(RecordType::Conflict),
        &of(RecordType::Approval),
        &of(RecordType::Incident),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(Found {
                record: row.record.parse().ok()?,
                id: row.id,
                label: row.label,
                key: row.key,
                status: row.status,
                tombstoned: row.tombstoned,
                reference: row.reference,
                amount: money(row.amount_minor, row.currency),
                at: row.at,
            })
        })
        .collect())
}
