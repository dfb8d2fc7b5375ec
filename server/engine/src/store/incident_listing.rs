//! Lists of incidents, and the records that one is about.

use domain::{
    ids::{IncidentId, TenantId},
    listing::{Cursor, IncidentState},
    record::RecordType,
    view::{IncidentRow, RecordRef},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::row::money;
use crate::error::EngineError;

/// Incidents of one record that a search reads.
const MAX_OF_ONE: i64 = 20;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// Open ones or closed ones alone.
    pub open: Option<bool>,
    /// One cause.
    pub cause: Option<String>,
    /// The oldest id, by the time in it.
    pub from: Uuid,
    /// Ids before this one.
    pub to: Uuid,
    /// Where the page begins.
    pub cursor: Option<Cursor>,
    /// Ids that a search found.
    pub found: Option<Vec<Uuid>>,
    /// Rows to read.
    pub limit: i64,
}

/// The ids of one page. The leading predicate stands first; the rest narrows what it finds.
macro_rules! page_ids {
    ($db:expr, $n:expr, $from:literal, $lead:literal, $sort:literal) => {
        sqlx::query_scalar!(
            "select i.id from "
                + $from
                + " where i.tenant_id = $1 and i.id >= $2 and i.id < $3 and "
                + $lead
                + " and ($4::boolean is null or (i.closed_at is null) = $4)
                    and ($5::text is null or i.cause = $5)
                    and ($6::uuid[] is null or i.id = any($6))
                  order by i.id "
                + $sort
                + " limit $7",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.open,
            $n.cause,
            $n.found.as_deref(),
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $backwards:expr, $from:literal, $lead:literal) => {
        if $backwards {
            page_ids!($db, $n, $from, $lead, "asc")
        } else {
            page_ids!($db, $n, $from, $lead, "desc")
        }
    };
}

/// The ids of a page, in reading order from its cursor (oldest first when reading backwards).
///
/// # Errors
/// The database's.
pub async fn ids(db: &mut PgConnection, narrowing: &Narrowing) -> Result<Vec<Uuid>, EngineError> {
    let mut n = narrowing.clone();
    let backwards = n.cursor.is_some_and(|cursor| cursor.backwards);
    match n.cursor {
        Some(Cursor { id, backwards: true }) => {
            n.from = n.from.max(Uuid::from_u128(id.as_u128().saturating_add(1)));
        }
        Some(Cursor { id, backwards: false }) => n.to = n.to.min(id),
        None => {}
    }
    Ok(if n.found.is_some() {
        both_ways!(
            db,
            n,
            backwards,
            "unnest($6::uuid[]) as f(id) cross join lateral
               (select * from incidents p where p.tenant_id = $1 and p.id = f.id limit 1) i",
            "true"
        )
    } else if n.open == Some(true) {
        both_ways!(db, n, backwards, "incidents i", "i.closed_at is null")
    } else if n.cause.is_some() {
        both_ways!(db, n, backwards, "incidents i", "i.cause = $5")
    } else {
        both_ways!(db, n, backwards, "incidents i", "true")
    })
}

/// The incidents about these operations, those whose own id lies in a range, and those about a
/// record whose id does.
///
/// # Errors
/// The database's.
pub async fn search(
    db: &mut PgConnection,
    tenant: TenantId,
    operations: &[Uuid],
    ids: Option<(Uuid, Uuid)>,
    limit: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let found = sqlx::query_scalar!(
        r#"
        (select i.id as "id!" from unnest($2::uuid[]) as f(id) cross join lateral
          (select id from incidents p where p.tenant_id = $1 and p.subject = f.id limit $6) i)
        union
        (select id from incidents
          where tenant_id = $1 and id >= $3 and id <= $4 order by id desc limit $5)
        union
        (select id from incidents
          where tenant_id = $1 and subject >= $3 and subject <= $4 order by subject desc limit $5)
        "#,
        tenant.uuid(),
        operations,
        ids.map(|(first, _)| first),
        ids.map(|(_, last)| last),
        limit,
        MAX_OF_ONE,
    )
    .fetch_all(db)
    .await?;
    Ok(found)
}

/// An incident with the ids of what it is about, and why it was closed.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its row; what it is about is still to be read.
    pub row: IncidentRow,
    /// Why it was closed.
    pub reason: Option<String>,
    /// What it is about, the most telling first.
    pub about: Vec<(RecordType, Uuid)>,
}

/// The incidents of these ids, newest first.
///
/// # Errors
/// The database's.
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<Stored>, EngineError> {
    let rows = sqlx::query!(
        "select id, version, cause, summary, opened_at, closed_at, closed_by, reason, operation_id, compensation_id,
           workflow_id, event_id, message_id
         from incidents where tenant_id = $1 and id = any($2) order by id desc",
        tenant.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let closed = row.closed_at.is_some();
            let about = [
                (RecordType::Operation, row.operation_id),
                (RecordType::Compensation, row.compensation_id),
                (RecordType::Workflow, row.workflow_id),
                (RecordType::Event, row.event_id),
                (RecordType::Message, row.message_id),
            ];
            Stored {
                row: IncidentRow {
                    id: IncidentId::new(row.id),
                    status: if closed { IncidentState::Closed } else { IncidentState::Open },
                    version: row.version,
                    cause: row.cause,
                    summary: row.summary,
                    about: None,
                    opened_at: row.opened_at,
                    closed_at: row.closed_at,
                    closed_by: row.closed_by,
                },
                reason: row.reason,
                about: about.into_iter().filter_map(|(kind, id)| Some((kind, id?))).collect(),
            }
        })
        .collect())
}

/// These records, each named and linked; one that is gone is left out.
///
/// # Errors
/// The database's.
pub async fn records(
    db: &mut PgConnection,
    tenant: TenantId,
    wanted: &[(RecordType, Uuid)],
) -> Result<Vec<RecordRef>, EngineError> {
    let of = |kind: RecordType| -> Vec<Uuid> {
        wanted.iter().filter(|(wanted, _)| *wanted == kind).map(|(_, id)| *id).collect()
    };
    let rows = sqlx::query!(
        r#"
        select 'operation' as "record!", id as "id!", id as "page!", operation as "label!", key as "key!",
            status as "status!", amount_minor, currency
          from operations where tenant_id = $1 and id = any($2)
        union all select 'workflow', id, id, kind, key, status, null, null
          from workflows where tenant_id = $1 and id = any($3)
        union all select 'compensation', id, operation_id, kind, operation_id::text, status, amount_minor, currency
          from compensations where tenant_id = $1 and id = any($4)
        union all select 'event', id, id, topic, aggregate || ' #' || seq, status, null, null
          from outbox where tenant_id = $1 and id = any($5)
        union all select 'message', id, id, consumer, message_id, status, null, null
          from inbox where tenant_id = $1 and id = any($6)
        "#,
        tenant.uuid(),
        &of(RecordType::Operation),
        &of(RecordType::Workflow),
        &of(RecordType::Compensation),
        &of(RecordType::Event),
        &of(RecordType::Message),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            let record = RecordType::ALL.into_iter().find(|kind| kind.label() == row.record)?;
            Some(RecordRef {
                record,
                id: row.id.to_string(),
                page_id: row.page.to_string(),
                label: row.label,
                key: row.key,
                status: row.status,
                amount: money(row.amount_minor, row.currency),
            })
        })
        .collect())
}
