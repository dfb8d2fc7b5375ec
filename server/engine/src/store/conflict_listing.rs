//! Lists of conflicts: refused payloads by age, each with the operation whose key it came under.
//! A filter that no index serves looks at a bounded stretch of the list and says where it ends.

use chrono::{DateTime, Utc};
use domain::{
    ids::{ConflictId, OperationId, TenantId},
    listing::Cursor,
    view::ConflictRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{conflict::StoredConflict, row::money, span, word};
use crate::error::EngineError;

/// Conflicts that one page looks at, where it narrows by the operation's kind.
pub const MAX_LOOKED_AT: usize = 2_000;
const STRETCH: i64 = 2_000;
/// Conflicts kept of one operation, with the one that only counts.
const MAX_OF_ONE: i64 = 21;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One kind.
    pub operation: Option<String>,
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

/// The ids of one page, of a stretch of the list.
macro_rules! page_ids {
    ($db:expr, $n:expr, $from:literal, $stretch:expr, $sort:literal) => {
        sqlx::query_scalar!(
            "select w.id from (select c.id, c.operation_id from "
                + $from
                + " where c.tenant_id = $1 and c.id >= $2 and c.id < $3
                    and ($4::uuid[] is null or c.id = any($4))
                    order by c.id "
                + $sort
                + " limit $5) w
                  cross join lateral (select p.operation from operations p
                    where p.tenant_id = $1 and p.id = w.operation_id limit 1) o
                  where ($6::text is null or o.operation = $6)
                  order by w.id "
                + $sort
                + " limit $7",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.found.as_deref(),
            $stretch,
            $n.operation,
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

/// The ids of a page, in reading order from its cursor (oldest first when reading backwards), and,
/// where the page looked at as much as it may without filling up, where it stopped.
///
/// # Errors
/// The database's.
pub async fn ids(
    db: &mut PgConnection,
    narrowing: &Narrowing,
) -> Result<(Vec<Uuid>, Option<Uuid>), EngineError> {
    let mut n = narrowing.clone();
    let backwards = n.cursor.is_some_and(|cursor| cursor.backwards);
    (n.from, n.to) = span::from_cursor(n.cursor, (n.from, n.to));
    let narrowed = n.operation.is_some();
    let stretch = if narrowed { STRETCH } else { n.limit };
    let ids = match (n.found.is_some(), backwards) {
        (true, true) => page_ids!(
            &mut *db,
            n,
            "unnest($4::uuid[]) as f(id) cross join lateral
               (select * from payload_conflicts p where p.tenant_id = $1 and p.id = f.id limit 1) c",
            stretch,
            "asc"
        ),
        (true, false) => page_ids!(
            &mut *db,
            n,
            "unnest($4::uuid[]) as f(id) cross join lateral
               (select * from payload_conflicts p where p.tenant_id = $1 and p.id = f.id limit 1) c",
            stretch,
            "desc"
        ),
        (false, true) => page_ids!(&mut *db, n, "payload_conflicts c", stretch, "asc"),
        (false, false) => page_ids!(&mut *db, n, "payload_conflicts c", stretch, "desc"),
    };
    let full = i64::try_from(ids.len()).is_ok_and(|found| found >= n.limit);
    let end = if narrowed && !full && n.found.is_none() {
        stopped_at(db, &n, backwards).await?
    } else {
        None
    };
    Ok((ids, end))
}

/// Where the stretch ended, where there is more beyond it.
async fn stopped_at(
    db: &mut PgConnection,
    n: &Narrowing,
    backwards: bool,
) -> Result<Option<Uuid>, EngineError> {
    let mut ids = if backwards {
        sqlx::query_scalar!(
            "select id from payload_conflicts where tenant_id = $1 and id >= $2 and id < $3 order by id limit $4",
            n.tenant.uuid(),
            n.from,
            n.to,
            STRETCH,
        )
        .fetch_all(db)
        .await?
    } else {
        sqlx::query_scalar!(
            "select id from payload_conflicts where tenant_id = $1 and id >= $2 and id < $3
             order by id desc limit $4",
            n.tenant.uuid(),
            n.from,
            n.to,
            STRETCH,
        )
        .fetch_all(db)
        .await?
    };
    let whole = ids.len() >= MAX_LOOKED_AT;
    Ok(if whole { ids.pop() } else { None })
}

/// The conflicts of these operations, and those whose own id lies in a range.
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
        (select c.id as "id!" from unnest($2::uuid[]) as f(id) cross join lateral
          (select id from payload_conflicts p
           where p.tenant_id = $1 and p.operation_id = f.id limit $6) c)
        union
        (select id from payload_conflicts
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

/// The rows of these ids, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
) -> Result<Vec<ConflictRow>, EngineError> {
    let rows = sqlx::query!(
        r#"
        select c.id, c.operation_id, c.count, c.first_at, c.last_at, c.callers, c.amount_minor as other_minor,
          c.currency as other_currency, octet_length(c.hash) = 0 as "counted_only!", o.operation, o.key, o.status,
          o.tombstoned_at, o.amount_minor, o.currency
        from payload_conflicts c
        join lateral (select * from operations p where p.tenant_id = c.tenant_id and p.id = c.operation_id limit 1) o
          on true
        where c.tenant_id = $1 and c.id = any($2)
        order by c.id desc
        "#,
        tenant.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(ConflictRow {
                id: ConflictId::new(row.id),
                operation_id: OperationId::new(row.operation_id),
                operation: row.operation,
                key: row.key,
                status: word(&row.status)?,
                tombstoned: row.tombstoned_at.is_some(),
                amount: money(row.amount_minor, row.currency),
                other_amount: money(row.other_minor, row.other_currency),
                count: row.count,
                first_at: row.first_at,
                last_at: row.last_at,
                callers: row.callers,
                counted_only: row.counted_only,
            })
        })
        .collect()
}

/// The ids of the other conflicts of an operation.
///
/// # Errors
/// The database's.
pub async fn beside(
    db: &mut PgConnection,
    tenant: TenantId,
    operation: OperationId,
    id: ConflictId,
) -> Result<Vec<Uuid>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select id from payload_conflicts where tenant_id = $1 and operation_id = $2 and id <> $3 limit $4",
        tenant.uuid(),
        operation.uuid(),
        id.uuid(),
        MAX_OF_ONE,
    )
    .fetch_all(db)
    .await?;
    Ok(ids)
}

/// What was refused, and who had asked first.
pub struct Compared {
    /// The refused one.
    pub stored: StoredConflict,
    /// When the first one was reserved.
    pub reserved_at: DateTime<Utc>,
    /// By which token.
    pub reserved_by: String,
}

/// What was refused, and who had asked first.
///
/// # Errors
/// The database's.
pub async fn compared(
    db: &mut PgConnection,
    tenant: TenantId,
    id: ConflictId,
) -> Result<Option<Compared>, EngineError> {
    let row = sqlx::query!(
        "select c.count, c.first_at, c.last_at, c.callers, c.amount_minor, c.currency, c.payload, c.payload_cut,
           o.created_at, o.created_by
         from payload_conflicts c join operations o on o.tenant_id = c.tenant_id and o.id = c.operation_id
         where c.tenant_id = $1 and c.id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Compared {
        stored: StoredConflict {
            id: id.uuid(),
            count: row.count,
            first_at: row.first_at,
            last_at: row.last_at,
            callers: row.callers,
            amount_minor: row.amount_minor,
            currency: row.currency,
            payload: row.payload,
            payload_cut: row.payload_cut,
        },
        reserved_at: row.created_at,
        reserved_by: row.created_by,
    }))
}
