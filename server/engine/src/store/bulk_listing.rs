//! Lists of bulks and of their rows, by key; never a count.

use domain::{
    action::TargetType,
    bulk::Standing,
    ids::{BulkId, OperationId, TenantId},
    listing::{Cursor, PlaceCursor},
    view::BulkRecord,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, word};
use crate::error::EngineError;

/// The ids of a page of bulks, in reading order from the cursor (oldest first when reading backwards).
///
/// # Errors
/// The database's.
pub async fn ids(
    db: &mut PgConnection,
    tenant: TenantId,
    cursor: Option<Cursor>,
    limit: i64,
) -> Result<Vec<Uuid>, EngineError> {
    let at = cursor.map(|cursor| cursor.id);
    let ids = if cursor.is_some_and(|cursor| cursor.backwards) {
        sqlx::query_scalar!(
            "select id from bulks where tenant_id = $1 and id > $2 order by id limit $3",
            tenant.uuid(),
            at.unwrap_or_else(Uuid::nil),
            limit,
        )
        .fetch_all(db)
        .await?
    } else {
        sqlx::query_scalar!(
            "select id from bulks where tenant_id = $1 and id < $2 order by id desc limit $3",
            tenant.uuid(),
            at.unwrap_or_else(Uuid::max),
            limit,
        )
        .fetch_all(db)
        .await?
    };
    Ok(ids)
}

/// Which rows of one bulk a page shows.
#[derive(Clone, Copy, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// Which bulk.
    pub bulk: BulkId,
    /// Only those that stand so.
    pub standing: Option<Standing>,
    /// Where the page begins.
    pub cursor: Option<PlaceCursor>,
    /// Rows to read.
    pub limit: i64,
}

macro_rules! page {
    ($db:expr, $n:expr, $low:expr, $high:expr, $lead:literal, $sort:literal) => {
        sqlx::query_as!(
            Stored,
            "select place, target_id, version, label, key, amount_minor, currency, standing, code, detail, receipt,
               settled_at
             from bulk_rows where tenant_id = $1 and bulk_id = $2 and place > $3 and place < $4 and "
                + $lead
                + " order by place "
                + $sort
                + " limit $6",
            $n.tenant.uuid(),
            $n.bulk.uuid(),
            $low,
            $high,
            $n.standing.map(Standing::as_str),
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

struct Stored {
    place: i64,
    target_id: Uuid,
    version: i64,
    label: String,
    key: String,
    amount_minor: Option<i64>,
    currency: Option<String>,
    standing: String,
    code: Option<String>,
    detail: Option<String>,
    receipt: Option<Uuid>,
    settled_at: Option<chrono::DateTime<chrono::Utc>>,
}

/// A page of a bulk's rows, in reading order from its cursor (the last first when reading backwards).
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn records(
    db: &mut PgConnection,
    target: TargetType,
    n: &Narrowing,
) -> Result<Vec<BulkRecord>, EngineError> {
    let (low, high, backwards) = match n.cursor {
        None => (-1, i64::MAX, false),
        Some(PlaceCursor { place, backwards: false }) => (place, i64::MAX, false),
        Some(PlaceCursor { place, backwards: true }) => (-1, place, true),
    };
    let rows = match (n.standing.is_some(), backwards) {
        (true, false) => page!(db, n, low, high, "standing = $5", "asc"),
        (true, true) => page!(db, n, low, high, "standing = $5", "desc"),
        (false, false) => page!(db, n, low, high, "$5::text is null", "asc"),
        (false, true) => page!(db, n, low, high, "$5::text is null", "desc"),
    };
    rows.into_iter()
        .map(|row| {
            Ok(BulkRecord {
                place: row.place,
                target_type: target,
                id: row.target_id.to_string(),
                version: row.version,
                label: row.label,
                key: row.key,
                amount: money(row.amount_minor, row.currency),
                standing: word(&row.standing)?,
                code: row.code.as_deref().map(word).transpose()?,
                detail: row.detail,
                receipt: row.receipt.map(OperationId::new),
                settled_at: row.settled_at,
            })
        })
        .collect()
}
