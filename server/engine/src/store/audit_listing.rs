//! Lists of the audit log: newest first by the tenant's own sequence, found by the index that fits
//! the filter.

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    view::AuditRow,
};
use sqlx::PgConnection;

use super::word;
use crate::error::EngineError;

/// How far an entry's instant may stand from the order of the log, in entries: the instant is taken
/// before the lock that gives the place.
const MAX_SWAPPED: i64 = 1_000;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// Who.
    pub actor: Option<String>,
    /// What.
    pub action: Option<String>,
    /// To what.
    pub target: Option<String>,
    /// Only what was refused.
    pub denied: bool,
    /// Done at or after.
    pub from: Option<DateTime<Utc>>,
    /// Done before.
    pub to: Option<DateTime<Utc>>,
    /// After this place.
    pub after: i64,
    /// Before this place.
    pub before: i64,
    /// Whether to read towards newer entries.
    pub backwards: bool,
    /// Rows to read.
    pub limit: i64,
}

/// One page. The leading predicate stands first; the rest narrows what it finds.
macro_rules! page {
    ($db:expr, $n:expr, $lead:literal, $sort:literal) => {
        sqlx::query_as!(
            Row,
            "select seq, at, actor_kind, actor, action, target_type, target_id, result, code, reason, before, after,
               receipt, request_id, client
             from audit where tenant_id = $1 and seq > $2 and seq < $3 and "
                + $lead
                + " and ($4::text is null or target_id = $4)
                    and ($5::text is null or actor = $5)
                    and ($6::text is null or action = $6)
                    and (not $7 or result = 'denied')
                    and ($8::timestamptz is null or at >= $8)
                    and ($9::timestamptz is null or at < $9)
                  order by seq "
                + $sort
                + " limit $10",
            $n.tenant.uuid(),
            $n.after,
            $n.before,
            $n.target,
            $n.actor,
            $n.action,
            $n.denied,
            $n.from,
            $n.to,
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $lead:literal) => {
        if $n.backwards { page!($db, $n, $lead, "asc") } else { page!($db, $n, $lead, "desc") }
    };
}

struct Row {
    seq: i64,
    at: DateTime<Utc>,
    actor_kind: String,
    actor: String,
    action: String,
    target_type: String,
    target_id: String,
    result: String,
    code: Option<String>,
    reason: Option<String>,
    before: Option<serde_json::Value>,
    after: Option<serde_json::Value>,
    receipt: Option<uuid::Uuid>,
    request_id: String,
    client: Option<String>,
}

impl TryFrom<Row> for AuditRow {
    type Error = EngineError;

    fn try_from(row: Row) -> Result<Self, EngineError> {
        let bulk = row.after.as_ref().and_then(|after| after.get("bulk")?.as_str()?.parse().ok());
        Ok(Self {
            id: row.seq,
            at: row.at,
            actor_kind: row.actor_kind,
            actor: row.actor,
            verb: row.action,
            target_type: row.target_type,
            target: row.target_id,
            denied: row.result == "denied",
            code: row.code.as_deref().map(word).transpose()?,
            reason: row.reason,
            before: row.before.map(|before| before.to_string()),
            after: row.after.map(|after| after.to_string()),
            receipt: row.receipt.map(OperationId::new),
            bulk,
            request_id: row.request_id,
            client: row.client,
        })
    }
}

/// The entries of a page, in reading order (oldest first when reading backwards).
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn page(
    db: &mut PgConnection,
    narrowing: &Narrowing,
) -> Result<Vec<AuditRow>, EngineError> {
    let mut n = narrowing.clone();
    reach(db, &mut n).await?;
    let rows = if n.target.is_some() {
        both_ways!(db, n, "target_id = $4")
    } else if n.actor.is_some() {
        both_ways!(db, n, "actor = $5")
    } else if n.denied {
        both_ways!(db, n, "result = 'denied'")
    } else if n.action.is_some() {
        both_ways!(db, n, "action = $6")
    } else {
        both_ways!(db, n, "true")
    };
    rows.into_iter().map(AuditRow::try_from).collect()
}

/// The places of the entries that a filter finds, newest first.
macro_rules! places {
    ($db:expr, $n:expr, $lead:literal) => {
        sqlx::query_scalar!(
            "select seq from audit where tenant_id = $1 and seq > $2 and seq < $3 and "
                + $lead
                + " and ($4::text is null or target_id = $4)
                    and ($5::text is null or actor = $5)
                    and ($6::text is null or action = $6)
                    and (not $7 or result = 'denied')
                    and ($8::timestamptz is null or at >= $8)
                    and ($9::timestamptz is null or at < $9)
                  order by seq desc limit $10",
            $n.tenant.uuid(),
            $n.after,
            $n.before,
            $n.target,
            $n.actor,
            $n.action,
            $n.denied,
            $n.from,
            $n.to,
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

/// Where the entries stand that a filter finds, newest first, whatever way it would read a page.
///
/// # Errors
/// The database's.
pub async fn places(db: &mut PgConnection, narrowing: &Narrowing) -> Result<Vec<i64>, EngineError> {
    let mut n = narrowing.clone();
    reach(db, &mut n).await?;
    Ok(if n.target.is_some() {
        places!(db, n, "target_id = $4")
    } else if n.actor.is_some() {
        places!(db, n, "actor = $5")
    } else if n.denied {
        places!(db, n, "result = 'denied'")
    } else if n.action.is_some() {
        places!(db, n, "action = $6")
    } else {
        places!(db, n, "true")
    })
}

/// The entries at these places, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn at(
    db: &mut PgConnection,
    tenant: TenantId,
    places: &[i64],
) -> Result<Vec<AuditRow>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        "select seq, at, actor_kind, actor, action, target_type, target_id, result, code, reason, before, after,
           receipt, request_id, client
         from audit where tenant_id = $1 and seq = any($2) order by seq desc",
        tenant.uuid(),
        places,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(AuditRow::try_from).collect()
}

/// Turns the span of instants into one of places, so that a page far back is not read towards entry
/// by entry.
async fn reach(db: &mut PgConnection, n: &mut Narrowing) -> Result<(), EngineError> {
    if let Some(from) = n.from {
        let first = sqlx::query_scalar!(
            "select seq from audit where tenant_id = $1 and at >= $2 order by at limit 1",
            n.tenant.uuid(),
            from,
        )
        .fetch_optional(&mut *db)
        .await?;
        // Nothing is as young: an empty span.
        n.after = n.after.max(first.map_or(i64::MAX, |seq| seq.saturating_sub(MAX_SWAPPED + 1)));
    }
    if let Some(to) = n.to {
        let last = sqlx::query_scalar!(
            "select seq from audit where tenant_id = $1 and at < $2 order by at desc limit 1",
            n.tenant.uuid(),
            to,
        )
        .fetch_optional(db)
        .await?;
        n.before = n.before.min(last.map_or(i64::MIN, |seq| seq.saturating_add(MAX_SWAPPED + 1)));
    }
    Ok(())
}
