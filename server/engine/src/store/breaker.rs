//! Breakers: what all publishers together know of a destination's transport (D28). An outage costs
//! one try at a time, and no event an attempt.

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use crate::error::EngineError;

/// A breaker that is not closed.
#[derive(Clone, Debug)]
pub struct OpenBreaker {
    /// Whose.
    pub destination: String,
    /// How long it has been open.
    pub open_for_ms: i64,
    /// Until one event may try again; negative where that time has come.
    pub probe_in_ms: i64,
    /// Since when.
    pub opened_at: DateTime<Utc>,
    /// Failures in a row.
    pub failures: i32,
    /// What the last of them was.
    pub last_error: Option<String>,
}

/// All breakers that are not closed.
///
/// # Errors
/// The database's.
pub async fn not_closed(db: &mut PgConnection) -> Result<Vec<OpenBreaker>, EngineError> {
    let rows = sqlx::query!(
        r#"select destination, failures, last_error, opened_at as "opened_at!",
             (extract(epoch from onceover_now() - opened_at) * 1000)::bigint as "open_for_ms!",
             (extract(epoch from coalesce(probe_at, opened_at) - onceover_now()) * 1000)::bigint as "probe_in_ms!"
           from breakers where state <> 'closed' and opened_at is not null order by destination limit 1000"#,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| OpenBreaker {
            destination: row.destination,
            open_for_ms: row.open_for_ms,
            probe_in_ms: row.probe_in_ms,
            opened_at: row.opened_at,
            failures: row.failures,
            last_error: row.last_error,
        })
        .collect())
}

/// Locks those of the named breakers whose probe is due and that nobody else is at: whoever holds
/// the lock may let one event through.
///
/// # Errors
/// The database's.
pub async fn lock_due(
    db: &mut PgConnection,
    destinations: &[String],
) -> Result<Vec<String>, EngineError> {
    let locked = sqlx::query_scalar!(
        "select destination from breakers
         where destination = any($1) and state <> 'closed' and probe_at <= (select onceover_now())
         order by destination limit 1000 for update skip locked",
        destinations,
    )
    .fetch_all(db)
    .await?;
    Ok(locked)
}

/// Takes the probe of locked breakers: the next is due only once this one must have ended.
///
/// # Errors
/// The database's.
pub async fn take_probe(
    db: &mut PgConnection,
    destinations: &[String],
    lease_ms: i64,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update breakers set state = 'half_open', updated_at = onceover_now(),
           probe_at = onceover_now() + make_interval(secs => $2::bigint / 1000.0)
         where destination = any($1) and state <> 'closed'",
        destinations,
        lease_ms,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A delivery found the transport down. The first opens the breaker and a failed probe keeps it
/// open for twice as long, from one second to one minute; those that were under way when it opened
/// say nothing new. Returns how long it is until the next probe.
///
/// # Errors
/// The database's.
pub async fn failed(
    db: &mut PgConnection,
    destination: &str,
    error: &str,
) -> Result<i64, EngineError> {
    let probe_in_ms = sqlx::query_scalar!(
        r#"insert into breakers as b (destination, state, failures, opened_at, probe_at, last_error)
           values ($1, 'open', 1, onceover_now(), onceover_now() + interval '1 second', $2)
           on conflict (destination) do update set
             state = 'open',
             failures = b.failures + (b.state <> 'open')::int,
             opened_at = coalesce(b.opened_at, onceover_now()),
             probe_at = case when b.state = 'open' then b.probe_at else onceover_now()
               + make_interval(secs => least(60, power(2, least(b.failures, 10)))) end,
             last_error = $2,
             updated_at = onceover_now()
           returning (extract(epoch from probe_at - onceover_now()) * 1000)::bigint as "probe_in_ms!""#,
        destination,
        error,
    )
    .fetch_one(db)
    .await?;
    Ok(probe_in_ms.max(0))
}

/// Forgets breakers whose probe has been due for longer than `idle_ms` without anybody at it: their
/// destination is configured nowhere any more, or nothing waits for it, and what was known of its
/// transport is old. The next event tries at once, and an outage that lasts opens it again. How many.
///
/// # Errors
/// The database's.
pub async fn forget_unasked(db: &mut PgConnection, idle_ms: i64) -> Result<u64, EngineError> {
    let gone = sqlx::query!(
        "delete from breakers where destination in (
           select destination from breakers where state <> 'closed'
             and coalesce(probe_at, opened_at) < (select onceover_now()) - $1::bigint * interval '1 ms'
           order by destination limit 1000 for update skip locked)",
        idle_ms,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected())
}

/// A probe got through.
///
/// # Errors
/// The database's.
pub async fn close(db: &mut PgConnection, destination: &str) -> Result<(), EngineError> {
    sqlx::query!(
        "update breakers set state = 'closed', failures = 0, opened_at = null, probe_at = null,
           last_error = null, updated_at = onceover_now()
         where destination = $1 and state = 'half_open'",
        destination,
    )
    .execute(db)
    .await?;
    Ok(())
}
