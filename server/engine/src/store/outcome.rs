//! How operations end: counted on write, one row per outcome that is folded into counts per hour, and
//! how long outcomes have been unknown. Nothing here counts a big table.

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    ids::TenantId,
    view::{AgeBucket, OutcomeHour},
};
use sqlx::PgConnection;

use crate::error::EngineError;

/// Folds up to `max` outcomes into the counts; how many.
///
/// # Errors
/// The database's.
pub async fn fold(db: &mut PgConnection, max: i64) -> Result<u64, EngineError> {
    // Counts are locked in the order of their keys, so that two processes that fold never wait for
    // each other in a ring.
    let folded = sqlx::query_scalar!(
        r#"with taken as (
             delete from outcome_deltas where ctid = any(array(
               select ctid from outcome_deltas limit $1 for update skip locked))
             returning tenant_id, hour, status),
           sums as (
             select tenant_id, hour, status, count(*) as n from taken
             group by tenant_id, hour, status order by tenant_id, hour, status),
           folded as (
             insert into outcome_counts (tenant_id, hour, status, count)
             select tenant_id, hour, status, n from sums
             on conflict (tenant_id, hour, status) do update set count = outcome_counts.count + excluded.count)
           select count(*) as "folded!" from taken"#,
        max,
    )
    .fetch_one(db)
    .await?;
    Ok(u64::try_from(folded).unwrap_or_default())
}

/// The last 24 hours, the running one among them, oldest first; as far as they are folded.
///
/// # Errors
/// The database's.
pub async fn last_day(
    db: &mut PgConnection,
    tenant: TenantId,
) -> Result<Vec<OutcomeHour>, EngineError> {
    let hours = sqlx::query_as!(
        OutcomeHour,
        r#"select h.at as "from!",
             coalesce(sum(c.count) filter (where c.status = 'succeeded'), 0)::bigint as "succeeded!",
             coalesce(sum(c.count) filter (where c.status = 'failed_terminal'), 0)::bigint as "failed!",
             coalesce(sum(c.count) filter (where c.status = 'unknown'), 0)::bigint as "unknown!"
           from generate_series(0, 23) n
           cross join lateral (select date_trunc('hour', onceover_now(), 'UTC') - n * interval '1 hour' as at) h
           left join lateral (select k.status, k.count from outcome_counts k
             where k.tenant_id = $1 and k.hour = h.at limit 10) c on true
           group by h.at order by h.at"#,
        tenant.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(hours)
}

/// How many outcomes have been unknown for how long, each count up to `max`. `bounds_ms` are the
/// lower bounds of the ages, rising from zero.
///
/// # Errors
/// The database's.
pub async fn ageing(
    db: &mut PgConnection,
    tenant: TenantId,
    now: DateTime<Utc>,
    bounds_ms: &[i64],
    max: i64,
) -> Result<Vec<AgeBucket>, EngineError> {
    // The instants are computed here: an expression over another table's column is no bound for an
    // index under row-level security, only a filter.
    let ago = |ms: &i64| TimeDelta::try_milliseconds(*ms).and_then(|ms| now.checked_sub_signed(ms));
    let younger: Vec<DateTime<Utc>> = bounds_ms.iter().filter_map(ago).collect();
    let mut older: Vec<DateTime<Utc>> = younger.iter().skip(1).copied().collect();
    older.push(DateTime::UNIX_EPOCH);
    let rows = sqlx::query!(
        r#"select every.n as "every!", people.n as "people!"
           from unnest($2::timestamptz[], $3::timestamptz[]) with ordinality as a(younger, older, place)
           cross join lateral (select count(*) as n from (select from operations o
             where o.tenant_id = $1 and o.status = 'unknown'
               and o.unknown_since <= a.younger and o.unknown_since > a.older limit $4) found) every
           cross join lateral (select count(*) as n from (select from operations o
             where o.tenant_id = $1 and o.needs_manual
               and o.unknown_since <= a.younger and o.unknown_since > a.older limit $4) found) people
           order by a.place"#,
        tenant.uuid(),
        &younger,
        &older,
        max + 1,
    )
    .fetch_all(db)
    .await?;
    let ages =
        bounds_ms.iter().copied().zip(bounds_ms.iter().copied().skip(1).map(Some).chain([None]));
    Ok(rows
        .into_iter()
        .zip(ages)
        .map(|(row, (from_ms, to_ms))| AgeBucket {
            from_ms,
            to_ms,
            machines: (row.every - row.people).clamp(0, max),
            people: row.people.min(max),
            more: row.every > max || row.people > max,
        })
        .collect())
}
