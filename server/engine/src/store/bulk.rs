//! Bulks: a verb, a set that was frozen, and how far it got. Whoever works on one holds it by a fence;
//! every write of the work names it.

use chrono::{DateTime, Utc};
use domain::{
    action::{TargetType, Verb},
    bulk::{BulkList, BulkState, BulkSum},
    ids::{BulkId, OperationId, StaffId, TenantId},
    view::BulkRow,
};
use serde_json::{Value, json};
use sqlx::PgConnection;
use uuid::Uuid;

use super::word;
use crate::error::EngineError;

/// How long one run holds a bulk before another may take it up, in seconds.
const HOLD_SECS: i32 = 30;

/// A bulk whole.
#[derive(Clone, Debug)]
pub struct Bulk {
    /// Whose.
    pub tenant: TenantId,
    /// What its list row shows.
    pub row: BulkRow,
    /// Where freezing goes on.
    pub cursor: Option<String>,
    /// What its eligible rows add up to.
    pub sums: Vec<BulkSum>,
    /// Why it stands still without a person's decision.
    pub cause: Option<String>,
    /// Why it was started.
    pub reason: Option<String>,
    /// Who froze it.
    pub frozen_by_id: StaffId,
    /// In whose name its rows are decided.
    pub run_by_id: Option<StaffId>,
    /// The decision that started it.
    pub receipt: Option<OperationId>,
    /// Whose work counts.
    pub fence: i64,
}

struct Stored {
    id: Uuid,
    verb: String,
    target_type: String,
    list: String,
    filter: Option<Value>,
    status: String,
    version: i64,
    cursor: Option<String>,
    total: i64,
    eligible: i64,
    ineligible: i64,
    done: i64,
    refused: i64,
    sums: Value,
    cause: Option<String>,
    reason: Option<String>,
    frozen_by_id: Uuid,
    frozen_by: String,
    frozen_at: DateTime<Utc>,
    run_by_id: Option<Uuid>,
    run_by: Option<String>,
    run_at: Option<DateTime<Utc>>,
    receipt: Option<Uuid>,
    over_at: Option<DateTime<Utc>>,
    expires_at: DateTime<Utc>,
    fence: i64,
}

impl Stored {
    fn read(self, tenant: TenantId) -> Result<Bulk, EngineError> {
        let unreadable = |error: serde_json::Error| EngineError::Unreadable(error.to_string());
        Ok(Bulk {
            tenant,
            row: BulkRow {
                id: BulkId::new(self.id),
                verb: word(&self.verb)?,
                target_type: word(&self.target_type)?,
                list: word(&self.list)?,
                filter: self.filter.map(serde_json::from_value).transpose().map_err(unreadable)?,
                status: word(&self.status)?,
                version: self.version,
                total: self.total,
                eligible: self.eligible,
                ineligible: self.ineligible,
                done: self.done,
                refused: self.refused,
                frozen_by: self.frozen_by,
                frozen_at: self.frozen_at,
                expires_at: self.expires_at,
                run_by: self.run_by,
                run_at: self.run_at,
                over_at: self.over_at,
            },
            cursor: self.cursor,
            sums: serde_json::from_value(self.sums).map_err(unreadable)?,
            cause: self.cause,
            reason: self.reason,
            frozen_by_id: StaffId::new(self.frozen_by_id),
            run_by_id: self.run_by_id.map(StaffId::new),
            receipt: self.receipt.map(OperationId::new),
            fence: self.fence,
        })
    }
}

/// A set that a person asks to be frozen.
pub struct NewBulk<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// What is to be done to each record.
    pub verb: Verb,
    /// To which kind of record.
    pub target: TargetType,
    /// From which list.
    pub list: BulkList,
    /// The filter; `None` where the records were picked.
    pub filter: Option<&'a [(String, String)]>,
    /// Who.
    pub by: (StaffId, &'a str),
    /// How long it can be started, in hours.
    pub hours: i32,
}

/// Writes a bulk down, without rows.
///
/// # Errors
/// The database's.
pub async fn insert(db: &mut PgConnection, new: NewBulk<'_>) -> Result<BulkId, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into bulks (tenant_id, verb, target_type, list, filter, status, frozen_by_id, frozen_by, expires_at)
         values ($1, $2, $3, $4, $5, 'freezing', $6, $7, onceover_now() + make_interval(hours => $8)) returning id",
        new.tenant.uuid(),
        new.verb.as_str(),
        new.target.as_str(),
        new.list.as_str(),
        new.filter.map(|filter| json!(filter)),
        new.by.0.uuid(),
        new.by.1,
        new.hours,
    )
    .fetch_one(db)
    .await?;
    Ok(BulkId::new(id))
}

macro_rules! bulk {
    ($db:expr, $tenant:expr, $id:expr, $lock:literal) => {
        sqlx::query_as!(
            Stored,
            "select id, verb, target_type, list, filter, status, version, cursor, total, eligible, ineligible, done,
               refused, sums, cause, reason, frozen_by_id, frozen_by, frozen_at, run_by_id, run_by, run_at, receipt,
               over_at, expires_at, fence
             from bulks where tenant_id = $1 and id = $2"
                + $lock,
            $tenant.uuid(),
            $id.uuid(),
        )
        .fetch_optional($db)
        .await?
        .map(|stored| stored.read($tenant))
        .transpose()
    };
}

/// One bulk.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    tenant: TenantId,
    id: BulkId,
) -> Result<Option<Bulk>, EngineError> {
    bulk!(db, tenant, id, "")
}

/// One bulk, locked until the transaction ends.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: BulkId,
) -> Result<Option<Bulk>, EngineError> {
    bulk!(db, tenant, id, " for update")
}

/// A bulk that somebody works on.
#[derive(Clone, Copy, Debug)]
pub struct Held {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub id: BulkId,
    /// Whose work counts.
    pub fence: i64,
}

/// Takes the bulk of any tenant that has waited longest for somebody to work on it; others step over it
/// until it is given back, or its time is over.
///
/// # Errors
/// The database's.
pub async fn claim(db: &mut PgConnection) -> Result<Option<Held>, EngineError> {
    let row = sqlx::query!(
        "with c as materialized (select tenant_id, id from bulks
           where status in ('freezing', 'checking', 'running') and next_at <= (select onceover_now())
           order by next_at limit 1 for update skip locked)
         update bulks b set fence = b.fence + 1, next_at = onceover_now() + make_interval(secs => $1)
         from c where b.tenant_id = c.tenant_id and b.id = c.id returning b.tenant_id, b.id, b.fence",
        f64::from(HOLD_SECS),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Held {
        tenant: TenantId::new(row.tenant_id),
        id: BulkId::new(row.id),
        fence: row.fence,
    }))
}

/// Gives a bulk back; nothing where somebody else holds it by now.
///
/// # Errors
/// The database's.
pub async fn give_back(db: &mut PgConnection, held: Held) -> Result<(), EngineError> {
    sqlx::query!(
        "update bulks set next_at = onceover_now() where tenant_id = $1 and id = $2 and fence = $3",
        held.tenant.uuid(),
        held.id.uuid(),
        held.fence,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Counts that a step adds to a locked bulk, and where freezing goes on.
#[derive(Debug, Default)]
pub struct Progress<'a> {
    /// Rows written down.
    pub frozen: i64,
    /// Rows that can be decided.
    pub eligible: i64,
    /// Rows that cannot.
    pub ineligible: i64,
    /// Rows decided.
    pub done: i64,
    /// Rows tried and refused.
    pub refused: i64,
    /// Where freezing goes on.
    pub cursor: Option<&'a str>,
}

/// Writes how far a locked bulk got; who works on it keeps it for its time from now.
///
/// # Errors
/// The database's.
pub async fn progress(
    db: &mut PgConnection,
    bulk: &Bulk,
    made: Progress<'_>,
    sums: &[BulkSum],
) -> Result<(), EngineError> {
    sqlx::query!(
        "update bulks set total = total + $3, eligible = eligible + $4, ineligible = ineligible + $5,
           done = done + $6, refused = refused + $7, cursor = coalesce($8, cursor), sums = $9,
           next_at = onceover_now() + make_interval(secs => $10)
         where tenant_id = $1 and id = $2",
        bulk.tenant.uuid(),
        bulk.row.id.uuid(),
        made.frozen,
        made.eligible,
        made.ineligible,
        made.done,
        made.refused,
        made.cursor,
        json!(sums),
        f64::from(HOLD_SECS),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Moves a locked bulk; its version grows by one. `cause` says why it stands still, where nobody decided
/// that it should.
///
/// # Errors
/// The database's: its trigger refuses what is not in the table of moves.
pub async fn make_move(
    db: &mut PgConnection,
    bulk: &Bulk,
    to: BulkState,
    cause: Option<&str>,
) -> Result<(), EngineError> {
    let done = sqlx::query!(
        "update bulks set status = $3, version = version + 1, cause = $4, next_at = onceover_now(),
           over_at = case when $5 then onceover_now() end
         where tenant_id = $1 and id = $2 and version = $6",
        bulk.tenant.uuid(),
        bulk.row.id.uuid(),
        to.as_str(),
        cause,
        to.is_final(),
        bulk.row.version,
    )
    .execute(db)
    .await?;
    moved(done.rows_affected())
}

/// Who starts a bulk.
pub struct Start<'a> {
    /// In whose name its rows are decided.
    pub by: (StaffId, &'a str),
    /// Why.
    pub reason: &'a str,
    /// The decision.
    pub receipt: OperationId,
}

/// Starts a locked bulk that is ready (B4).
///
/// # Errors
/// The database's.
pub async fn start(
    db: &mut PgConnection,
    bulk: &Bulk,
    start: Start<'_>,
) -> Result<(), EngineError> {
    let done = sqlx::query!(
        "update bulks set status = 'running', version = version + 1, cause = null, next_at = onceover_now(),
           run_by_id = $3, run_by = $4, run_at = onceover_now(), reason = $5, receipt = $6
         where tenant_id = $1 and id = $2 and version = $7",
        bulk.tenant.uuid(),
        bulk.row.id.uuid(),
        start.by.0.uuid(),
        start.by.1,
        start.reason,
        start.receipt.uuid(),
        bulk.row.version,
    )
    .execute(db)
    .await?;
    moved(done.rows_affected())
}

/// Expires a batch of bulks of any tenant that nobody started in time (B9); how many.
///
/// # Errors
/// The database's.
pub async fn expire_due(db: &mut PgConnection, limit: i64) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "with due as materialized (
           select tenant_id, id from bulks
           where status = 'ready' and expires_at <= (select onceover_now())
           order by expires_at limit $1 for update skip locked
         )
         update bulks b set status = 'expired', version = b.version + 1, over_at = onceover_now()
         from due where b.tenant_id = due.tenant_id and b.id = due.id and b.status = 'ready'",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

fn moved(rows: u64) -> Result<(), EngineError> {
    if rows == 1 { Ok(()) } else { Err(EngineError::Unreadable("a locked bulk moved".into())) }
}
