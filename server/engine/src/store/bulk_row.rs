//! The rows of bulks: which records were frozen at which version, and what became of each.

use domain::{
    action::TargetType,
    bulk::Standing,
    ids::{BulkId, OperationId, TenantId},
    money::Money,
    problem::Code,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::row::money;
use crate::error::EngineError;

/// Which rows of which table stand in a set, with the version that is decided on. One look-up per id.
macro_rules! freeze {
    ($db:expr, $bulk:expr, $place:expr, $ids:expr, $columns:literal, $table:literal) => {
        sqlx::query!(
            "insert into bulk_rows (tenant_id, bulk_id, place, target_id, version, label, key, amount_minor, currency)
             select $1, $2, $3::bigint + f.n, r.id, r.version, "
                + $columns
                + " from unnest($4::uuid[]) with ordinality f(id, n) cross join lateral
                   (select * from "
                + $table
                + " p where p.tenant_id = $1 and p.id = f.id limit 1) r
             on conflict do nothing",
            $bulk.0.uuid(),
            $bulk.1.uuid(),
            $place,
            $ids,
        )
        .execute($db)
        .await?
        .rows_affected()
    };
}

/// Writes records of the tenant down, behind the place given; how many were not there yet. An id that
/// the tenant does not have is left out.
///
/// # Errors
/// The database's: its trigger refuses rows of a set that is frozen.
pub async fn freeze(
    db: &mut PgConnection,
    bulk: (TenantId, BulkId),
    target: TargetType,
    after: i64,
    ids: &[Uuid],
) -> Result<i64, EngineError> {
    let rows = match target {
        TargetType::Operation => freeze!(
            db,
            bulk,
            after,
            ids,
            "r.operation, r.key, r.amount_minor, r.currency",
            "(select * from operations where not console)"
        ),
        TargetType::Workflow => {
            freeze!(db, bulk, after, ids, "r.kind, r.key, null, null", "workflows")
        }
        TargetType::Outbox => freeze!(
            db,
            bulk,
            after,
            ids,
            "r.topic, r.aggregate || ' #' || r.seq, null, null",
            "outbox"
        ),
        TargetType::Inbox => {
            freeze!(db, bulk, after, ids, "r.consumer, r.message_id, null, null", "inbox")
        }
        _ => 0,
    };
    i64::try_from(rows).map_err(|_| EngineError::Unreadable("a count of rows".into()))
}

/// A row that waits for its turn.
#[derive(Clone, Debug)]
pub struct Next {
    /// Its place.
    pub place: i64,
    /// Which record.
    pub target: Uuid,
    /// At which version.
    pub version: i64,
    /// What it is called among its like.
    pub label: String,
    /// Amount at stake.
    pub amount: Option<Money>,
}

/// The next rows that stand so, in their order.
///
/// # Errors
/// The database's.
pub async fn next(
    db: &mut PgConnection,
    (tenant, bulk): (TenantId, BulkId),
    standing: Standing,
    limit: i64,
) -> Result<Vec<Next>, EngineError> {
    let rows = sqlx::query!(
        "select place, target_id, version, label, amount_minor, currency from bulk_rows
         where tenant_id = $1 and bulk_id = $2 and standing = $3 order by place limit $4",
        tenant.uuid(),
        bulk.uuid(),
        standing.as_str(),
        limit,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Next {
            place: row.place,
            target: row.target_id,
            version: row.version,
            label: row.label,
            amount: money(row.amount_minor, row.currency),
        })
        .collect())
}

/// What was found out about one row.
#[derive(Clone, Debug)]
pub struct Looked {
    /// Its place.
    pub place: i64,
    /// Why it is not eligible, with a sentence where there is one; `None`: it is.
    pub why_not: Option<(Code, Option<String>)>,
}

/// Writes down what was found out about rows that nobody had looked at; they stand next to each other.
///
/// # Errors
/// The database's.
pub async fn looked_at(
    db: &mut PgConnection,
    (tenant, bulk): (TenantId, BulkId),
    looked: &[Looked],
) -> Result<(), EngineError> {
    let places: Vec<i64> = looked.iter().map(|row| row.place).collect();
    // An empty text stands for none: neither a code nor a sentence is empty.
    let codes: Vec<String> = looked
        .iter()
        .map(|row| row.why_not.as_ref().map_or_else(String::new, |(code, _)| code.to_string()))
        .collect();
    let details: Vec<String> = looked
        .iter()
        .map(|row| row.why_not.as_ref().and_then(|(_, detail)| detail.clone()).unwrap_or_default())
        .collect();
    // The stretch bounds the scan, whatever the planner thinks of a set that was written a moment ago.
    let (Some(first), Some(last)) = (places.iter().min(), places.iter().max()) else {
        return Ok(());
    };
    sqlx::query!(
        "update bulk_rows r set standing = case when l.code = '' then 'eligible' else 'ineligible' end,
           code = nullif(l.code, ''), detail = nullif(left(l.detail, 500), '')
         from unnest($3::bigint[], $4::text[], $5::text[]) l(place, code, detail)
         where r.tenant_id = $1 and r.bulk_id = $2 and r.place = l.place and r.standing = 'frozen'
           and r.place between $6 and $7",
        tenant.uuid(),
        bulk.uuid(),
        &places,
        &codes,
        &details,
        first,
        last,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What came of the decision about one row.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// Carried out, now or before.
    Done(OperationId),
    /// Refused.
    Refused(Code, Option<String>),
}

/// Writes a row's result down, once; `false` where it has one.
///
/// # Errors
/// The database's.
pub async fn settle(
    db: &mut PgConnection,
    (tenant, bulk): (TenantId, BulkId),
    place: i64,
    result: &Outcome,
) -> Result<bool, EngineError> {
    let (receipt, code, detail) = match result {
        Outcome::Done(receipt) => (Some(receipt.uuid()), None, None),
        Outcome::Refused(code, detail) => (None, Some(code.as_str()), detail.as_deref()),
    };
    let standing = if receipt.is_some() { Standing::Done } else { Standing::Refused };
    let done = sqlx::query!(
        "update bulk_rows set standing = $4, receipt = $5, code = $6, detail = left($7, 500),
           settled_at = onceover_now()
         where tenant_id = $1 and bulk_id = $2 and place = $3 and standing = 'eligible'",
        tenant.uuid(),
        bulk.uuid(),
        place,
        standing.as_str(),
        receipt,
        code,
        detail,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}
