//! Processes that do background work: one beat each, so that people see who is there.

use domain::view::WorkerView;
use sqlx::PgConnection;

use crate::error::EngineError;

/// A beat of this process.
#[derive(Clone, Debug)]
pub struct Beat<'a> {
    /// Its name.
    pub name: &'a str,
    /// The first since it began.
    pub first: bool,
    /// It was told to stop.
    pub draining: bool,
    /// The last one: it ends in order.
    pub stopped: bool,
    /// Calls under way.
    pub busy: i32,
    /// Kinds that it carries out.
    pub kinds: &'a [String],
    /// The program's version.
    pub program_version: &'a str,
}

/// Writes a beat: one statement, no other row.
///
/// # Errors
/// The database's.
pub async fn beat(db: &mut PgConnection, beat: &Beat<'_>) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into workers (name, draining, stopped_at, busy, kinds, program_version)
         values ($1, $2, case when $3 then onceover_now() end, $4, $5, $6)
         on conflict (name) do update set seen_at = onceover_now(), draining = excluded.draining,
           started_at = case when $7 then onceover_now() else workers.started_at end,
           stopped_at = excluded.stopped_at, busy = excluded.busy, kinds = excluded.kinds,
           program_version = excluded.program_version",
        beat.name,
        beat.draining,
        beat.stopped,
        beat.busy,
        beat.kinds,
        beat.program_version,
        beat.first,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Every process seen within a day, the latest first. One that has missed six beats is not alive.
///
/// # Errors
/// The database's.
pub async fn all(db: &mut PgConnection) -> Result<Vec<WorkerView>, EngineError> {
    let workers = sqlx::query_as!(
        WorkerView,
        r#"select name, started_at, seen_at, draining, stopped_at, busy, kinds, program_version,
             (stopped_at is null and seen_at > onceover_now() - interval '30 seconds') as "alive!"
           from workers order by seen_at desc, name limit 500"#,
    )
    .fetch_all(db)
    .await?;
    Ok(workers)
}

/// Forgets processes that were not seen for a day, a batch at a time.
///
/// # Errors
/// The database's.
pub async fn forget_dead(db: &mut PgConnection, max: i64) -> Result<u64, EngineError> {
    let gone = sqlx::query!(
        "delete from workers where name in (select name from workers
           where seen_at < (select onceover_now()) - interval '1 day' order by seen_at limit $1)",
        max,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected())
}
