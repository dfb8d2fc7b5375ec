//! Lists of messages: which ids a page shows, found by the index that fits the filter, their rows,
//! and one message with what stands beside it. Never an offset, never a count.

use domain::{
    ids::{MessageId, OperationId, TenantId, WorkflowId},
    listing::Cursor,
    view::{MessageRow, RelatedOperation},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{span, word};
use crate::error::EngineError;

/// Operations that one message is compared with.
const MAX_RELATED: i64 = 20;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One state.
    pub status: Option<String>,
    /// One consumer.
    pub consumer: Option<String>,
    /// One source.
    pub source: Option<String>,
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
            "select m.id from "
                + $from
                + " where m.tenant_id = $1 and m.id >= $2 and m.id < $3 and "
                + $lead
                + " and ($4::text is null or m.status = $4)
                    and ($5::text is null or m.consumer = $5)
                    and ($6::text is null or m.source = $6)
                    and ($7::uuid[] is null or m.id = any($7))
                  order by m.id "
                + $sort
                + " limit $8",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.status,
            $n.consumer,
            $n.source,
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
pub async fn ids(
    db: &mut PgConnection,
    narrowing: &Narrowing,
) -> Result<Vec<MessageId>, EngineError> {
    let mut n = narrowing.clone();
    let backwards = n.cursor.is_some_and(|cursor| cursor.backwards);
    (n.from, n.to) = span::from_cursor(n.cursor, (n.from, n.to));
    let ids = if n.found.is_some() {
        both_ways!(
            db,
            n,
            backwards,
            "unnest($7::uuid[]) as f(id) cross join lateral
               (select * from inbox p where p.tenant_id = $1 and p.id = f.id limit 1) m",
            "true"
        )
    } else if n.status.as_deref().is_some_and(|status| status != "processed") {
        both_ways!(db, n, backwards, "inbox m", "m.status = $4")
    } else if n.consumer.is_some() {
        both_ways!(db, n, backwards, "inbox m", "m.consumer = $5")
    } else if n.source.is_some() {
        both_ways!(db, n, backwards, "inbox m", "m.source = $6")
    } else if n.status.is_some() {
        both_ways!(db, n, backwards, "inbox m", "m.status = $4")
    } else {
        both_ways!(db, n, backwards, "inbox m", "true")
    };
    Ok(ids.into_iter().map(MessageId::new).collect())
}

/// The ids that a search finds: by the producer's id, exactly or by prefix, by the beginning of the
/// id here, or by the operation; and whether there are more than the limit.
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
    let mut ids_found = sqlx::query_scalar!(
        "select id from inbox
         where tenant_id = $1 and message_id >= $2 and message_id < $3 order by message_id limit $4",
        tenant.uuid(),
        text.0,
        text.1,
        limit,
    )
    .fetch_all(&mut *db)
    .await?;
    let full = |found: usize| i64::try_from(found).is_ok_and(|found| found >= limit);
    let mut more = full(ids_found.len());
    // Asked only for what can be an id: one statement for all would be planned without knowing.
    if let Some((first, last)) = ids {
        let here = sqlx::query_scalar!(
            "select id from inbox
             where tenant_id = $1 and id >= $2 and id <= $3 order by id desc limit $4",
            tenant.uuid(),
            first,
            last,
            limit,
        )
        .fetch_all(&mut *db)
        .await?;
        let of_operation = sqlx::query_scalar!(
            "select id from inbox
             where tenant_id = $1 and operation_id >= $2 and operation_id <= $3
             order by operation_id limit $4",
            tenant.uuid(),
            first,
            last,
            limit,
        )
        .fetch_all(db)
        .await?;
        more |= full(here.len()) || full(of_operation.len());
        ids_found.extend(here);
        ids_found.extend(of_operation);
    }
    let mut ids = ids_found;
    ids.sort_unstable();
    ids.dedup();
    Ok((ids, more))
}

/// The rows of these ids, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[MessageId],
) -> Result<Vec<MessageRow>, EngineError> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"
        select m.id, m.consumer, m.source, m.message_id, m.status, m.version, m.produced_at, m.received_at,
          m.window_until, m.settled_at, m.shrunk_at, m.operation_id, m.workflow_id, m.deliveries,
          m.last_delivery_at, m.failures, c.yes is not null as "conflict!"
        from inbox m
        left join lateral (select true as yes from inbox_conflicts c
          where c.tenant_id = m.tenant_id and c.inbox_id = m.id limit 1) c on true
        where m.tenant_id = $1 and m.id = any($2)
        order by m.id desc
        "#,
        tenant.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(MessageRow {
                id: MessageId::new(row.id),
                consumer: row.consumer,
                source: row.source,
                message_id: row.message_id,
                status: word(&row.status)?,
                version: row.version,
                produced_at: row.produced_at,
                received_at: row.received_at,
                window_until: row.window_until,
                settled_at: row.settled_at,
                shrunk_at: row.shrunk_at,
                operation_id: row.operation_id.map(OperationId::new),
                workflow_id: row.workflow_id.map(WorkflowId::new),
                deliveries: row.deliveries,
                last_delivery_at: row.last_delivery_at,
                failures: row.failures,
                conflict: row.conflict,
            })
        })
        .collect()
}

/// The bodies of a message.
#[derive(Clone, Debug)]
pub struct Bodies {
    /// As sent.
    pub payload: Option<Vec<u8>>,
    /// What it asks to start, as sent.
    pub effect: Option<Vec<u8>>,
    /// What its last failed delivery said.
    pub last_error: Option<String>,
}

/// The bodies of a message.
///
/// # Errors
/// The database's.
pub async fn bodies(
    db: &mut PgConnection,
    tenant: TenantId,
    id: MessageId,
) -> Result<Option<Bodies>, EngineError> {
    let bodies = sqlx::query_as!(
        Bodies,
        "select payload, effect, last_error from inbox where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(bodies)
}

/// What a message may be about, in the words that operations are found by.
#[derive(Clone, Debug, Default)]
pub struct Likeness {
    /// Ids of operations: what a provider calls its key.
    pub ids: Vec<Uuid>,
    /// Keys of the kind named first.
    pub key: Option<(String, String)>,
    /// Providers' references.
    pub references: Vec<String>,
    /// Search terms, those of masked fields hashed.
    pub terms: Vec<String>,
}

/// The operations that share an id, key, reference or search term with a message, newest first
/// (N5).
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn related(
    db: &mut PgConnection,
    tenant: TenantId,
    like: &Likeness,
) -> Result<Vec<RelatedOperation>, EngineError> {
    let (operation, key) = like
        .key
        .as_ref()
        .map_or((None, None), |(operation, key)| (Some(operation.as_str()), Some(key.as_str())));
    let rows = sqlx::query!(
        r#"
        with found as (
          (select unnest($2::uuid[]) as id)
          union
          (select id from operations where tenant_id = $1 and operation = $3 and key = $4)
          union
          (select o.id from unnest($5::text[]) r(reference) cross join lateral
            (select id from operations where tenant_id = $1 and not console and external_reference = r.reference
             order by external_reference limit $7) o)
          union
          (select o.operation_id from unnest($6::text[]) t(term) cross join lateral
            (select operation_id from operation_terms where tenant_id = $1 and term = t.term limit $7) o)
        )
        select o.id, o.operation, o.key, o.status, o.external_reference, o.amount_minor, o.currency, o.created_at
        from found f cross join lateral
          (select * from operations p where p.tenant_id = $1 and p.id = f.id and not p.console limit 1) o
        order by o.id desc limit $7
        "#,
        tenant.uuid(),
        &like.ids,
        operation,
        key,
        &like.references,
        &like.terms,
        MAX_RELATED,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(RelatedOperation {
                id: OperationId::new(row.id),
                operation: row.operation,
                key: row.key,
                status: word(&row.status)?,
                external_reference: row.external_reference,
                amount: super::row::money(row.amount_minor, row.currency),
                created_at: row.created_at,
            })
        })
        .collect()
}
