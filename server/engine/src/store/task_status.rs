//! What background tasks last did, by process: written together, at most once every few seconds.

use chrono::{DateTime, Utc};
use domain::view::TaskView;
use sqlx::PgConnection;

use crate::error::EngineError;

/// The most of an error that is kept, in characters.
const MAX_ERROR_CHARS: usize = 2_000;

/// What a task last did.
#[derive(Clone, Debug, Default)]
pub struct TaskStatus {
    /// The task's name.
    pub task: &'static str,
    /// How long ago its last run ended, in milliseconds: the instant itself is the database's.
    pub ago_ms: i64,
    /// How long that took.
    pub took_ms: i32,
    /// Rows that it handled then.
    pub handled: i32,
    /// Rows that wait, where the task has a queue.
    pub backlog: Option<i32>,
    /// Whether more wait than were counted.
    pub backlog_is_more: bool,
    /// Since when the oldest waits.
    pub oldest_at: Option<DateTime<Utc>>,
    /// What its last failure was.
    pub last_error: Option<String>,
    /// Failures in a row.
    pub failures: i32,
}

/// Writes the status of several tasks of one process in one statement.
///
/// # Errors
/// The database's.
pub async fn put(
    db: &mut PgConnection,
    worker: &str,
    statuses: &[TaskStatus],
) -> Result<(), EngineError> {
    let column = |of: fn(&TaskStatus) -> i32| statuses.iter().map(of).collect::<Vec<_>>();
    let tasks: Vec<String> = statuses.iter().map(|status| status.task.to_owned()).collect();
    let ago: Vec<i64> = statuses.iter().map(|status| status.ago_ms).collect();
    let backlog: Vec<Option<i32>> = statuses.iter().map(|status| status.backlog).collect();
    let more: Vec<bool> = statuses.iter().map(|status| status.backlog_is_more).collect();
    let oldest: Vec<Option<DateTime<Utc>>> =
        statuses.iter().map(|status| status.oldest_at).collect();
    let errors: Vec<Option<String>> = statuses
        .iter()
        .map(|status| {
            let error = status.last_error.as_ref()?;
            Some(error.chars().filter(|c| *c != '\0').take(MAX_ERROR_CHARS).collect())
        })
        .collect();
    sqlx::query!(
        "insert into task_status (worker, task, last_run_at, took_ms, handled, backlog, backlog_is_more, oldest_at,
           last_error, failures)
         select $1, s.task, onceover_now() - s.ago * interval '1 ms', s.took, s.handled, s.backlog, s.more, s.oldest,
           s.error, s.failures
         from unnest($2::text[], $3::bigint[], $4::int[], $5::int[], $6::int[], $7::bool[], $8::timestamptz[],
           $9::text[], $10::int[]) as s(task, ago, took, handled, backlog, more, oldest, error, failures)
         on conflict (task, worker) do update set last_run_at = excluded.last_run_at, took_ms = excluded.took_ms,
           handled = excluded.handled, backlog = excluded.backlog, backlog_is_more = excluded.backlog_is_more,
           oldest_at = excluded.oldest_at, last_error = excluded.last_error, failures = excluded.failures",
        worker,
        &tasks,
        &ago,
        &column(|status| status.took_ms),
        &column(|status| status.handled),
        &backlog as &[Option<i32>],
        &more,
        &oldest as &[Option<DateTime<Utc>>],
        &errors as &[Option<String>],
        &column(|status| status.failures),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Every task of every process, by task.
///
/// # Errors
/// The database's.
pub async fn all(db: &mut PgConnection) -> Result<Vec<TaskView>, EngineError> {
    let tasks = sqlx::query_as!(
        TaskView,
        "select worker, task, last_run_at, took_ms, handled, backlog, backlog_is_more, oldest_at, last_error, failures
         from task_status order by task, worker limit 2000",
    )
    .fetch_all(db)
    .await?;
    Ok(tasks)
}

/// Forgets what dead processes left, a batch at a time: a task that lives runs many times a day.
///
/// # Errors
/// The database's.
pub async fn forget_dead(db: &mut PgConnection, max: i64) -> Result<u64, EngineError> {
    let gone = sqlx::query!(
        "delete from task_status where (task, worker) in (select task, worker from task_status
           where last_run_at < (select onceover_now()) - interval '1 day' order by last_run_at limit $1)",
        max,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected())
}
