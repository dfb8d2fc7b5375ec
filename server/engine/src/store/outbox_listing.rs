//! Lists of events: which ids a page shows, found by the index that fits the filter, their rows, and
//! what one event's page needs besides. Never an offset, never a count; payloads stay out of lists.

use chrono::{DateTime, Utc};
use domain::{
    ids::{EventId, OperationId, TenantId},
    listing::Cursor,
    view::{EventRow, RelatedOperation},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, span, word};
use crate::error::EngineError;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One state.
    pub status: Option<String>,
    /// One topic.
    pub topic: Option<String>,
    /// One aggregate.
    pub aggregate: Option<String>,
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
            "select e.id from "
                + $from
                + " where e.tenant_id = $1 and e.id >= $2 and e.id < $3 and "
                + $lead
                + " and ($4::text is null or e.status = $4)
                    and ($5::text is null or e.topic = $5)
                    and ($6::text is null or e.aggregate = $6)
                    and ($7::uuid[] is null or e.id = any($7))
                  order by e.id "
                + $sort
                + " limit $8",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.status,
            $n.topic,
            $n.aggregate,
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
    // Dead, publishing and skipped events are few; pending and published ones may be millions, and
    // there the topic tells them apart.
    let rare = |status: &str| !matches!(status, "published" | "pending");
    Ok(if n.found.is_some() {
        both_ways!(
            db,
            n,
            backwards,
            "unnest($7::uuid[]) as f(id) cross join lateral
               (select * from outbox p where p.tenant_id = $1 and p.id = f.id limit 1) e",
            "true"
        )
    } else if n.status.as_deref().is_some_and(rare) {
        both_ways!(db, n, backwards, "outbox e", "e.status = $4")
    } else if n.topic.is_some() {
        both_ways!(db, n, backwards, "outbox e", "e.topic = $5")
    } else if n.status.is_some() {
        both_ways!(db, n, backwards, "outbox e", "e.status = $4")
    } else {
        both_ways!(db, n, backwards, "outbox e", "true")
    })
}

/// The ids that a search finds: by the beginning of the id, of the aggregate, of the topic or of the
/// operation's id; and whether there are more than the limit.
///
/// # Errors
/// The database's.
pub async fn search(
    db: &mut PgConnection,
    tenant: TenantId,
    text: (&str, &str),
    ids: Option<(Uuid, Uuid)>,
    limit: i64,
) -> Result<(Vec<Uuid>, bool), EngineError> {
    let (first, last) = span::or_empty(ids);
    let rows = sqlx::query!(
        r#"
        (select 1 as "branch!", id as "id!" from outbox
          where tenant_id = $1 and aggregate >= $2 and aggregate < $3
          order by aggregate desc, seq desc limit $6)
        union all
        (select 2, id from outbox
          where tenant_id = $1 and topic >= $2 and topic < $3 order by topic desc, id desc limit $6)
        union all
        (select 3, id from outbox
          where tenant_id = $1 and id >= $4 and id <= $5 order by id desc limit $6)
        union all
        (select 4, id from outbox
          where tenant_id = $1 and operation_id >= $4 and operation_id <= $5
          order by operation_id limit $6)
        "#,
        tenant.uuid(),
        text.0,
        text.1,
        first,
        last,
        limit,
    )
    .fetch_all(db)
    .await?;
    let more = (1..=4).any(|branch| {
        let found = rows.iter().filter(|row| row.branch == branch).count();
        i64::try_from(found).is_ok_and(|found| found >= limit)
    });
    let mut ids: Vec<_> = rows.into_iter().map(|row| row.id).collect();
    ids.sort_unstable();
    ids.dedup();
    Ok((ids, more))
}

/// The last events of one aggregate, and whether there are more than the limit.
///
/// # Errors
/// The database's.
pub async fn of_aggregate(
    db: &mut PgConnection,
    tenant: TenantId,
    aggregate: &str,
    limit: i64,
) -> Result<(Vec<Uuid>, bool), EngineError> {
    let ids = sqlx::query_scalar!(
        "select id from outbox where tenant_id = $1 and aggregate = $2 order by seq desc limit $3",
        tenant.uuid(),
        aggregate,
        limit,
    )
    .fetch_all(db)
    .await?;
    let more = i64::try_from(ids.len()).is_ok_and(|found| found >= limit);
    Ok((ids, more))
}

/// The rows of these ids, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<EventRow>, EngineError> {
    let rows = sqlx::query!(
        r#"
        select e.id, e.topic, e.aggregate, e.seq, e.status, e.version, e.attempts, e.destination, e.operation_id,
          e.owner, e.lease_until, e.last_error, e.created_at, e.settled_at, a.head_seq, a.blocked, a.next_at
        from outbox e
        join lateral (select * from aggregates a
          where a.tenant_id = e.tenant_id and a.aggregate = e.aggregate limit 1) a on true
        where e.tenant_id = $1 and e.id = any($2)
        order by e.id desc
        "#,
        tenant.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let at_head = row.seq == row.head_seq;
            let waits = row.status == "pending";
            Ok(EventRow {
                id: EventId::new(row.id),
                topic: row.topic,
                aggregate: row.aggregate,
                seq: row.seq,
                status: word(&row.status)?,
                version: row.version,
                attempts: row.attempts,
                destination: row.destination,
                operation_id: row.operation_id.map(OperationId::new),
                at_head,
                behind_dead: waits && row.blocked && !at_head,
                next_at: (waits && at_head).then_some(row.next_at),
                owner: row.owner,
                lease_until: row.lease_until,
                last_error: row.last_error,
                created_at: row.created_at,
                settled_at: row.settled_at,
            })
        })
        .collect()
}

/// What an event's page shows beside its row.
#[derive(Clone, Debug)]
pub struct More {
    /// What it tells, as it was written.
    pub payload: Vec<u8>,
    /// Which publisher's word counts.
    pub fence: i64,
    /// The number of the first event of its aggregate that is not told.
    pub head_seq: i64,
    /// The number that the aggregate's next event will get.
    pub next_seq: i64,
    /// Whether a dead head stops the rest.
    pub blocked: bool,
    /// When the head is tried next.
    pub next_at: DateTime<Utc>,
}

/// What an event's page shows beside its row.
///
/// # Errors
/// The database's.
pub async fn more(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
) -> Result<Option<More>, EngineError> {
    let more = sqlx::query_as!(
        More,
        "select e.payload, e.fence, a.head_seq, a.next_seq, a.blocked, a.next_at
         from outbox e join aggregates a on a.tenant_id = e.tenant_id and a.aggregate = e.aggregate
         where e.tenant_id = $1 and e.id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(more)
}

/// The ids of an aggregate's events at these places.
///
/// # Errors
/// The database's.
pub async fn at_places(
    db: &mut PgConnection,
    tenant: TenantId,
    aggregate: &str,
    places: &[i64],
) -> Result<Vec<Uuid>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select id from outbox where tenant_id = $1 and aggregate = $2 and seq = any($3) limit 100",
        tenant.uuid(),
        aggregate,
        places,
    )
    .fetch_all(db)
    .await?;
    Ok(ids)
}

/// The operation that an event tells of; `None` once its row was removed.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn operation(
    db: &mut PgConnection,
    tenant: TenantId,
    id: OperationId,
) -> Result<Option<RelatedOperation>, EngineError> {
    let row = sqlx::query!(
        "select id, operation, key, status, external_reference, amount_minor, currency, created_at
         from operations where tenant_id = $1 and id = $2 and not console",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(RelatedOperation {
            id: OperationId::new(row.id),
            operation: row.operation,
            key: row.key,
            status: word(&row.status)?,
            external_reference: row.external_reference,
            amount: money(row.amount_minor, row.currency),
            created_at: row.created_at,
        })
    })
    .transpose()
}
