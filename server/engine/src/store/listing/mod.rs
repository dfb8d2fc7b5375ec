//! Lists: which ids a page shows, found by the index that fits the filter, and the rows of those
//! ids. Never an offset, never a count over the table; payloads stay out (TOAST).

mod row;
mod search;
mod waiting;

use domain::{
    ids::{OperationId, TenantId},
    listing::Cursor,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::span;
use crate::error::EngineError;

pub use row::rows;
pub use search::{Search, ranked, search};
pub use waiting::{
    Waiting, count_manual, waiting_approvals, waiting_compensations, waiting_conflicts,
    waiting_events, waiting_incidents, waiting_leases, waiting_messages, waiting_unknown,
    waiting_workflows,
};

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One state.
    pub status: Option<String>,
    /// One kind.
    pub operation: Option<String>,
    /// Only what waits for a person.
    pub needs_manual: bool,
    /// Only what has a payload conflict.
    pub conflict: bool,
    /// Only tombstones, or (`false`) none.
    pub tombstone: Option<bool>,
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

/// Which index leads: the most selective part of the filter that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Lead {
    Found,
    Manual,
    Conflict,
    Tombstone,
    Status,
    Kind,
    Age,
}

impl Narrowing {
    fn lead(&self) -> Lead {
        if self.found.is_some() {
            Lead::Found
        } else if self.needs_manual {
            Lead::Manual
        } else if self.conflict {
            Lead::Conflict
        } else if self.tombstone == Some(true) {
            Lead::Tombstone
        } else if self.status.as_deref().is_some_and(|status| status != "succeeded") {
            Lead::Status
        } else if self.operation.is_some() {
            Lead::Kind
        } else if self.status.is_some() {
            Lead::Status
        } else {
            Lead::Age
        }
    }
}

/// The ids of one page. The leading predicate stands first; the rest narrows what it finds.
macro_rules! page_ids {
    ($db:expr, $n:expr, $from:literal, $lead:literal, $distinct:literal, $sort:literal) => {
        sqlx::query_scalar!(
            "select "
                + $distinct
                + " o.id from "
                + $from
                + " where o.tenant_id = $1 and not o.console and o.id >= $2 and o.id < $3 and "
                + $lead
                + " and ($4::text is null or o.status = $4)
                    and ($5::text is null or o.operation = $5)
                    and (not $6 or o.needs_manual)
                    and (not $7 or exists (select from payload_conflicts c
                      where c.tenant_id = o.tenant_id and c.operation_id = o.id))
                    and ($8::boolean is null or (o.tombstoned_at is not null) = $8)
                    and ($9::uuid[] is null or o.id = any($9))
                  order by o.id "
                + $sort
                + " limit $10",
            $n.tenant.uuid(),
            $n.from,
            $n.to,
            $n.status,
            $n.operation,
            $n.needs_manual,
            $n.conflict,
            $n.tombstone,
            $n.found.as_deref(),
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $backwards:expr, $from:literal, $lead:literal, $distinct:literal) => {
        if $backwards {
            page_ids!($db, $n, $from, $lead, $distinct, "asc")
        } else {
            page_ids!($db, $n, $from, $lead, $distinct, "desc")
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
) -> Result<Vec<OperationId>, EngineError> {
    let mut n = narrowing.clone();
    let backwards = n.cursor.is_some_and(|cursor| cursor.backwards);
    (n.from, n.to) = span::from_cursor(n.cursor, (n.from, n.to));
    let ids = match n.lead() {
        Lead::Found => both_ways!(
            db,
            n,
            backwards,
            // Lateral with a limit: one look-up per id found, never a scan that a long list of ids
            // makes look cheap.
            "unnest($9::uuid[]) as f(id) cross join lateral
               (select * from operations p where p.tenant_id = $1 and p.id = f.id limit 1) o",
            "true",
            ""
        ),
        Lead::Manual => both_ways!(db, n, backwards, "operations o", "o.needs_manual", ""),
        Lead::Conflict => both_ways!(
            db,
            n,
            backwards,
            "payload_conflicts k join operations o on o.tenant_id = k.tenant_id and o.id = k.operation_id",
            "k.tenant_id = $1 and k.operation_id >= $2 and k.operation_id < $3",
            "distinct"
        ),
        Lead::Tombstone => {
            both_ways!(db, n, backwards, "operations o", "o.tombstoned_at is not null", "")
        }
        Lead::Status => both_ways!(db, n, backwards, "operations o", "o.status = $4", ""),
        Lead::Kind => both_ways!(db, n, backwards, "operations o", "o.operation = $5", ""),
        Lead::Age => both_ways!(db, n, backwards, "operations o", "true", ""),
    };
    Ok(ids.into_iter().map(OperationId::new).collect())
}
