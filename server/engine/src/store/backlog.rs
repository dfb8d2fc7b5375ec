//! What waits for the background, counted up to a bound: a queue of a million is shown as *more than
//! a thousand*, and costs no more to count.

use domain::ids::TenantId;
use sqlx::PgConnection;

use crate::{error::EngineError, report::Backlog};

/// Rows that are counted.
pub const MAX_COUNTED: i64 = 1_000;

fn backlog(waiting: i64, oldest_at: Option<chrono::DateTime<chrono::Utc>>) -> Backlog {
    Backlog {
        waiting: u64::try_from(waiting.min(MAX_COUNTED)).unwrap_or_default(),
        is_more: waiting > MAX_COUNTED,
        oldest_at,
    }
}

/// Calls whose lease ended (O11).
///
/// # Errors
/// The database's.
pub async fn lapsed_calls(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(lease_until) as oldest from (
             select l.lease_until from leases l
             join operations o on o.tenant_id = l.tenant_id and o.id = l.operation_id
             where l.lease_until < (select onceover_now()) and o.status = 'executing'
             order by l.lease_until limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Unknown outcomes that machines still ask about (O15).
///
/// # Errors
/// The database's.
pub async fn unknown(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(unknown_since) as oldest from (
             select unknown_since from operations where status = 'unknown' and not needs_manual
             order by unknown_since limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Operations whose retention is over, whether or not something still points at them (O27).
///
/// # Errors
/// The database's.
pub async fn expiry(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(expires_at) as oldest from (
             select expires_at from operations
             where tombstoned_at is null and expires_at < (select onceover_now())
             order by expires_at, id limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Undos that wait for their forward operation, and workflows that are being undone or are stuck.
///
/// # Errors
/// The database's.
pub async fn undoing(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(at) as oldest from (
             (select requested_at as at from compensations
              where status in ('requested', 'waiting_forward') order by requested_at limit $1)
             union all
             (select updated_at from workflows
              where status in ('compensating', 'compensation_stuck') order by updated_at limit $1)) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Workflows that are due for a turn (W2), also those of definitions that are elsewhere.
///
/// # Errors
/// The database's.
pub async fn workflows(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    // State by state, so that the index gives the order: over both at once the planner rather reads
    // all that is due, and sorts.
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(at) as oldest from (
             (select next_at as at from workflows
              where status = 'running' and next_at <= (select onceover_now()) order by next_at limit $1)
             union all
             (select next_at from workflows
              where status = 'waiting' and next_at <= (select onceover_now()) order by next_at limit $1)) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Events that are to be told, also those behind a dead one.
///
/// # Errors
/// The database's.
pub async fn events(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(created_at) as oldest from (
             select created_at from outbox where status = 'pending' order by created_at limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Events whose publisher's lease ended (X7).
///
/// # Errors
/// The database's.
pub async fn lapsed_events(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(lease_until) as oldest from (
             select lease_until from outbox
             where status = 'publishing' and lease_until < (select onceover_now())
             order by lease_until limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Messages whose window is over and that still have their contents (N6).
///
/// # Errors
/// The database's.
pub async fn inbox(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(window_until) as oldest from (
             select window_until from inbox
             where shrunk_at is null and status in ('processed', 'dropped')
               and window_until < (select onceover_now())
             order by window_until limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Requests for a second person whose time is over (A7).
///
/// # Errors
/// The database's.
pub async fn requests(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(expires_at) as oldest from (
             select expires_at from approvals
             where status = 'pending' and expires_at <= (select onceover_now())
             order by expires_at limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Frozen sets that nobody started in time (B9).
///
/// # Errors
/// The database's.
pub async fn bulks(db: &mut PgConnection) -> Result<Backlog, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(expires_at) as oldest from (
             select expires_at from bulks
             where status = 'ready' and expires_at <= (select onceover_now())
             order by expires_at limit $1) w"#,
        MAX_COUNTED + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(backlog(row.waiting, row.oldest))
}

/// Tombstones of one kind that its policy lets go (O29).
///
/// # Errors
/// The database's.
pub async fn purge(
    db: &mut PgConnection,
    kinds: &[(TenantId, String, i64)],
) -> Result<Backlog, EngineError> {
    let (mut waiting, mut oldest) = (0, None);
    for (tenant, name, after_ms) in kinds {
        let row = sqlx::query!(
            r#"select count(*) as "waiting!", min(tombstoned_at) as oldest from (
                 select tombstoned_at from operations
                 where tenant_id = $1 and operation = $2 and tombstoned_at is not null and amount_minor is null
                   and workflow_id is null
                   and tombstoned_at < (select onceover_now()) - $3::bigint * interval '1 ms'
                 order by tombstoned_at, id limit $4) w"#,
            tenant.uuid(),
            name,
            after_ms,
            MAX_COUNTED + 1,
        )
        .fetch_one(&mut *db)
        .await?;
        waiting += row.waiting;
        oldest = [oldest, row.oldest].into_iter().flatten().min();
        if waiting > MAX_COUNTED {
            break;
        }
    }
    Ok(backlog(waiting, oldest))
}
