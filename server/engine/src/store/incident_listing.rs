//! Lists of incidents, and the records that one is about.

use domain::{
    ids::{IncidentId, TenantId},
    listing::{Cursor, IncidentState},
    record::{RecordName, RecordType},
    view::IncidentRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::span;
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
    (n.from, n.to) = span::from_cursor(n.cursor, (n.from, n.to));
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
/// record whose id does: what the engine opened them about, and what people gathered.
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
    let (first, last) = span::or_empty(ids);
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
        union
        (select r.incident_id from unnest($2::uuid[]) as f(id) cross join lateral
          (select incident_id from incident_records p where p.tenant_id = $1 and p.target_id = f.id limit $6) r)
        union
        (select incident_id from incident_records
          where tenant_id = $1 and target_id >= $3 and target_id <= $4 order by target_id desc limit $5)
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

/// An incident with the ids of what it is about, and people's reasons.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its row; what it is about is still to be read.
    pub row: IncidentRow,
    /// Why a person opened it.
    pub opened_reason: Option<String>,
    /// Why it was closed.
    pub reason: Option<String>,
    /// What the engine opened it about, the most telling first.
    pub about: Vec<RecordName>,
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
        "select id, version, cause, summary, opened_at, opened_by, opened_reason, closed_at, closed_by, reason,
           operation_id, compensation_id, workflow_id, event_id, message_id
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
                    record_count: None,
                    stake: Vec::new(),
                    opened_at: row.opened_at,
                    opened_by: row.opened_by,
                    closed_at: row.closed_at,
                    closed_by: row.closed_by,
                },
                opened_reason: row.opened_reason,
                reason: row.reason,
                about: about
                    .into_iter()
                    .filter_map(|(record, id)| Some(RecordName::new(record, id?)))
                    .collect(),
            }
        })
        .collect())
}
