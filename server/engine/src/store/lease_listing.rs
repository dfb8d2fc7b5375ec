//! Lists of leases, those first whose end is longest ago. A filter that no index serves looks at a
//! bounded stretch of the list and says where it ends.

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    lease::{LeaseState, LeaseView},
    view::LeaseRow,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{row::money, word};
use crate::error::EngineError;

/// Leases that one page looks at, where it narrows by kind or holder.
const MAX_LOOKED_AT: i64 = 2_000;

/// A lease's place in the list.
pub type Place = (DateTime<Utc>, Uuid);

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One kind.
    pub operation: Option<String>,
    /// One holder.
    pub holder: Option<String>,
    /// After this place.
    pub after: Place,
    /// Before this place.
    pub before: Place,
    /// Whether to read towards earlier ends.
    pub backwards: bool,
    /// Operations that a search found.
    pub found: Option<Vec<Uuid>>,
    /// Rows to read.
    pub limit: i64,
}

/// The places of one page, of a stretch of the list.
macro_rules! page {
    ($db:expr, $n:expr, $from:literal, $stretch:expr, $sort:literal) => {
        sqlx::query!(
            "select w.lease_until, w.operation_id from (
               select l.lease_until, l.operation_id, l.owner from "
                + $from
                + " where l.tenant_id = $1 and (l.lease_until, l.operation_id) > ($2, $3)
                      and (l.lease_until, l.operation_id) < ($4, $5)
                      and ($6::uuid[] is null or l.operation_id = any($6))
                    order by l.lease_until "
                + $sort
                + ", l.operation_id "
                + $sort
                + " limit $7) w
                  cross join lateral (select p.operation from operations p
                    where p.tenant_id = $1 and p.id = w.operation_id limit 1) o
                  where ($8::text is null or o.operation = $8) and ($9::text is null or w.owner = $9)
                  order by w.lease_until "
                + $sort
                + ", w.operation_id "
                + $sort
                + " limit $10",
            $n.tenant.uuid(),
            $n.after.0,
            $n.after.1,
            $n.before.0,
            $n.before.1,
            $n.found.as_deref(),
            $stretch,
            $n.operation,
            $n.holder,
            $n.limit,
        )
        .fetch_all($db)
        .await?
        .into_iter()
        .map(|row| (row.lease_until, row.operation_id))
        .collect::<Vec<Place>>()
    };
}

/// The places of a page, in reading order, and, where the page looked at as much as it may without
/// filling up, where it stopped.
///
/// # Errors
/// The database's.
pub async fn places(
    db: &mut PgConnection,
    n: &Narrowing,
) -> Result<(Vec<Place>, Option<Place>), EngineError> {
    let narrowed = n.operation.is_some() || n.holder.is_some();
    let stretch = if narrowed { MAX_LOOKED_AT } else { n.limit };
    let places = match (n.found.is_some(), n.backwards) {
        (true, true) => page!(
            &mut *db,
            n,
            "unnest($6::uuid[]) as f(id) cross join lateral
               (select * from leases p where p.tenant_id = $1 and p.operation_id = f.id limit 1) l",
            stretch,
            "desc"
        ),
        (true, false) => page!(
            &mut *db,
            n,
            "unnest($6::uuid[]) as f(id) cross join lateral
               (select * from leases p where p.tenant_id = $1 and p.operation_id = f.id limit 1) l",
            stretch,
            "asc"
        ),
        (false, true) => page!(&mut *db, n, "leases l", stretch, "desc"),
        (false, false) => page!(&mut *db, n, "leases l", stretch, "asc"),
    };
    let full = i64::try_from(places.len()).is_ok_and(|found| found >= n.limit);
    if !narrowed || full || n.found.is_some() {
        return Ok((places, None));
    }
    let any = Narrowing { operation: None, holder: None, limit: MAX_LOOKED_AT, ..n.clone() };
    let mut seen = if n.backwards {
        page!(&mut *db, any, "leases l", MAX_LOOKED_AT, "desc")
    } else {
        page!(&mut *db, any, "leases l", MAX_LOOKED_AT, "asc")
    };
    let whole = i64::try_from(seen.len()).is_ok_and(|seen| seen >= MAX_LOOKED_AT);
    Ok((places, if whole { seen.pop() } else { None }))
}

/// The rows of these operations, the earliest end first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[Uuid],
    now: DateTime<Utc>,
) -> Result<Vec<LeaseRow>, EngineError> {
    let rows = sqlx::query!(
        r#"
        select o.id, o.operation, o.key, o.status, o.version, o.attempt, o.claims, o.takeovers, o.amount_minor,
          o.currency, l.owner, l.fence, l.granted_at, l.beat_at, l.lease_until, t.name as "taken_by?"
        from unnest($2::uuid[]) as f(id)
        join lateral (select * from leases l
          where l.tenant_id = $1 and l.operation_id = f.id limit 1) l on true
        join lateral (select * from operations o
          where o.tenant_id = $1 and o.id = f.id limit 1) o on true
        left join lateral (select name from operation_takes t
          where t.tenant_id = $1 and t.operation_id = f.id limit 1) t on true
        order by l.lease_until, o.id
        "#,
        tenant.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let stale = row.lease_until < now;
            Ok(LeaseRow {
                id: OperationId::new(row.id),
                operation: row.operation,
                key: row.key,
                status: word(&row.status)?,
                version: row.version,
                attempt: row.attempt,
                claims: row.claims,
                takeovers: row.takeovers,
                amount: money(row.amount_minor, row.currency),
                lease: LeaseView {
                    owner: Some(row.owner),
                    fence: row.fence,
                    granted_at: Some(row.granted_at),
                    beat_at: Some(row.beat_at),
                    lease_until: Some(row.lease_until),
                    state: if stale { LeaseState::Stale } else { LeaseState::Live },
                },
                stale_since: stale.then_some(row.lease_until),
                taken_by: row.taken_by,
            })
        })
        .collect()
}
