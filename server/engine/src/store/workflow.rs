//! Workflows: the claim of a key, the locked read, the one statement that moves a row, and what is
//! due.
//!
//! Locks are taken in the order operations, workflows, steps: whoever holds a workflow's row and
//! then wants an operation's may meet its worker coming the other way.

use chrono::{DateTime, Utc};
use domain::{
    ids::{TenantId, WorkflowId},
    machine::Machine as _,
    workflow::WorkflowState,
};
use sqlx::PgConnection;

use super::word;
use crate::{actor::Actor, error::EngineError};

/// A workflow's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub id: WorkflowId,
}

/// A row without its input.
#[derive(Clone, Debug)]
pub struct Workflow {
    /// Its address.
    pub at: Address,
    /// The definition's name.
    pub kind: String,
    /// The client's key.
    pub key: String,
    /// The definition's version, pinned at the start (D32).
    pub definition_version: i32,
    /// Hash of the input.
    pub input_hash: Vec<u8>,
    /// Where it stands.
    pub status: WorkflowState,
    /// Moves with all that a person can see.
    pub version: i64,
    /// Moves with each executor.
    pub fence: i64,
    /// Why it is blocked, or what made it fail or be undone.
    pub cause: Option<String>,
    /// Whether somebody cancelled it.
    pub cancel_asked: bool,
    /// The database's clock at the read.
    pub now: DateTime<Utc>,
}

/// What a new workflow is made of.
pub struct NewWorkflow<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// The definition's name.
    pub kind: &'a str,
    /// The client's key.
    pub key: &'a str,
    /// The definition's version.
    pub definition_version: i32,
    /// The bytes as sent.
    pub input: &'a [u8],
    /// Their hash.
    pub input_hash: &'a [u8],
    /// Who started it.
    pub actor: &'a Actor,
}

/// Claims a key (W1): the id where this call won it, `None` where somebody has it. As for an
/// operation, the second statement is [`find_by_key`] (D23). Rivals come one after the other: an
/// insert that gave way to one would have told its timeline of a workflow that is none.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    new: &NewWorkflow<'_>,
) -> Result<Option<WorkflowId>, EngineError> {
    let queue = format!("workflow {} {} {}", new.tenant, new.kind, new.key);
    sqlx::query!("select pg_advisory_xact_lock(hashtextextended($1, 0))", queue)
        .execute(&mut *db)
        .await?;
    let id = sqlx::query_scalar!(
        "insert into workflows
           (tenant_id, kind, key, definition_version, input, input_hash, status, next_at,
            created_by_kind, created_by, move, move_actor_kind, move_actor)
         select $1, $2, $3, $4, $5, $6, 'running', onceover_now(), $7, $8, 'W1', $7, $8
         where not exists (select from workflows where tenant_id = $1 and kind = $2 and key = $3)
         on conflict (tenant_id, kind, key) do nothing
         returning id",
        new.tenant.uuid(),
        new.kind,
        new.key,
        new.definition_version,
        new.input,
        new.input_hash,
        new.actor.kind,
        new.actor.name,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(WorkflowId::new))
}

/// Who has a key: the id, and the hash of the input that it was started with.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find_by_key(
    db: &mut PgConnection,
    tenant: TenantId,
    kind: &str,
    key: &str,
) -> Result<Option<(WorkflowId, WorkflowState, Vec<u8>)>, EngineError> {
    let row = sqlx::query!(
        "select id, status, input_hash from workflows where tenant_id = $1 and kind = $2 and key = $3",
        tenant.uuid(),
        kind,
        key,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((WorkflowId::new(row.id), word(&row.status)?, row.input_hash))).transpose()
}

/// Reads a row and locks it until the transaction ends.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(db: &mut PgConnection, at: Address) -> Result<Option<Workflow>, EngineError> {
    let row = sqlx::query!(
        r#"select kind, key, definition_version, input_hash, status, version, fence, cause, cancel_asked,
             onceover_now() as "now!"
           from workflows where tenant_id = $1 and id = $2 for update"#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Workflow {
            at,
            kind: row.kind,
            key: row.key,
            definition_version: row.definition_version,
            input_hash: row.input_hash,
            status: word(&row.status)?,
            version: row.version,
            fence: row.fence,
            cause: row.cause,
            cancel_asked: row.cancel_asked,
            now: row.now,
        })
    })
    .transpose()
}

/// Whether a tenant has a workflow of this id.
///
/// # Errors
/// The database's.
pub async fn exists(db: &mut PgConnection, at: Address) -> Result<bool, EngineError> {
    let exists = sqlx::query_scalar!(
        r#"select exists (select from workflows where tenant_id = $1 and id = $2) as "exists!""#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(exists)
}

/// The input as sent; `None` once expired.
///
/// # Errors
/// The database's.
pub async fn input(db: &mut PgConnection, at: Address) -> Result<Option<Vec<u8>>, EngineError> {
    let input = sqlx::query_scalar!(
        "select input from workflows where tenant_id = $1 and id = $2",
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(input.flatten())
}

/// Up to `max` workflows of these definitions that an executor should look at, each definition
/// looked at alone so that the index gives the order, and one that nobody serves costs nothing.
///
/// # Errors
/// The database's.
pub async fn due(
    db: &mut PgConnection,
    kinds: &[String],
    versions: &[i32],
    max: i64,
) -> Result<Vec<Address>, EngineError> {
    let rows = sqlx::query!(
        r#"select w.tenant_id as "tenant_id!", w.id as "id!"
           from unnest($1::text[], $2::integer[]) as d(kind, version) cross join lateral (
             select p.tenant_id, p.id, p.next_at from workflows p
             where p.kind = d.kind and p.definition_version = d.version
               and p.status in ('running', 'waiting') and p.next_at <= (select onceover_now())
             order by p.next_at limit $3) w
           order by w.next_at limit $3"#,
        kinds,
        versions,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Address { tenant: TenantId::new(row.tenant_id), id: WorkflowId::new(row.id) })
        .collect())
}

/// The versions of these kinds that have workflows due since before `grace_ms`, oldest first.
///
/// # Errors
/// The database's.
pub async fn overdue(
    db: &mut PgConnection,
    kinds: &[String],
    known: &[i32],
    grace_ms: i64,
    max: i64,
) -> Result<Vec<Address>, EngineError> {
    // `kinds` and `known` go together: the pairs that this process serves.
    let rows = sqlx::query!(
        r#"select w.tenant_id as "tenant_id!", w.id as "id!"
           from (select distinct k.name from unnest($1::text[]) as k(name)) d cross join lateral (
             with recursive v(version) as (
               select min(p.definition_version) from workflows p
                 where p.kind = d.name and p.status in ('running', 'waiting') and p.next_at is not null
               union all
               select (select min(p.definition_version) from workflows p
                 where p.kind = d.name and p.status in ('running', 'waiting') and p.next_at is not null
                   and p.definition_version > v.version)
               from v where v.version is not null)
             select p.tenant_id, p.id, p.next_at from v cross join lateral (
               select q.tenant_id, q.id, q.next_at from workflows q
               where q.kind = d.name and q.definition_version = v.version
                 and q.status in ('running', 'waiting')
                 and q.next_at <= (select onceover_now()) - $3::bigint * interval '1 ms'
               order by q.next_at limit $4) p
             where not exists (select from unnest($1::text[], $2::integer[]) as s(kind, version)
               where s.kind = d.name and s.version = v.version)) w
           order by w.next_at limit $4"#,
        kinds,
        known,
        grace_ms,
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Address { tenant: TenantId::new(row.tenant_id), id: WorkflowId::new(row.id) })
        .collect())
}

/// Takes a due workflow (W2): the fence grows and the row is locked until the transaction ends.
/// `None` parks the caller: another executor has it, or it is no longer due.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn take(
    db: &mut PgConnection,
    at: Address,
    actor: &Actor,
    lease_ms: i64,
) -> Result<Option<Workflow>, EngineError> {
    let taken = sqlx::query!(
        "update workflows set fence = fence + 1, owner = $4,
           lease_until = onceover_now() + $5::bigint * interval '1 ms',
           move = 'W2', move_actor_kind = $3, move_actor = $4
         where (tenant_id, id) = (
           select tenant_id, id from workflows
           where tenant_id = $1 and id = $2 and status in ('running', 'waiting')
             and next_at <= (select onceover_now())
             and (lease_until is null or lease_until < (select onceover_now()))
           for update skip locked)",
        at.tenant.uuid(),
        at.id.uuid(),
        actor.kind,
        actor.name,
        lease_ms,
    )
    .execute(&mut *db)
    .await?;
    if taken.rows_affected() == 0 {
        return Ok(None);
    }
    lock(db, at).await
}

/// What a move changes besides the status; what is left `None` stays as it is.
#[derive(Default)]
pub struct Change<'a> {
    /// Why it is blocked, or what made it fail or be undone.
    pub cause: Option<&'a str>,
    /// Somebody cancelled it.
    pub cancel_asked: bool,
    /// What the timeline keeps of it.
    pub detail: Option<serde_json::Value>,
}

/// The longest cause that is kept, in characters.
const MAX_CAUSE_CHARS: usize = 2_000;

/// Moves a locked row on by one rule, status, version and fence compared all the same.
///
/// # Errors
/// [`EngineError::Unreadable`] for a move that is not in the table, which is a fault of ours.
pub async fn advance(
    db: &mut PgConnection,
    row: &mut Workflow,
    rule: &'static str,
    to: WorkflowState,
    actor: &Actor,
    change: Change<'_>,
) -> Result<(), EngineError> {
    if !WorkflowState::permits(rule, Some(row.status), to) {
        return Err(EngineError::Unreadable(format!("{rule} from {} to {to}", row.status)));
    }
    let cause: Option<String> =
        change.cause.map(|cause| cause.chars().take(MAX_CAUSE_CHARS).collect());
    let version = sqlx::query_scalar!(
        "update workflows set status = $6, version = version + 1, updated_at = onceover_now(),
           completed_at = case when $7 then onceover_now() end,
           cause = coalesce($8, cause), cancel_asked = cancel_asked or $9,
           next_at = case when $7 or $6 = 'blocked' then null else onceover_now() end,
           move = $10, move_actor_kind = $11, move_actor = $12, move_detail = $13
         where tenant_id = $1 and id = $2 and status = $3 and version = $4 and fence = $5
         returning version",
        row.at.tenant.uuid(),
        row.at.id.uuid(),
        row.status.as_str(),
        row.version,
        row.fence,
        to.as_str(),
        to.is_final(),
        cause,
        change.cancel_asked,
        rule,
        actor.kind,
        actor.name,
        change.detail,
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(|| EngineError::Unreadable(format!("{} moved on under its lock", row.at.id)))?;
    row.status = to;
    row.version = version;
    row.cause = cause.or_else(|| row.cause.take());
    row.cancel_asked |= change.cancel_asked;
    Ok(())
}

/// Lets an executor look at once: an operation of it has moved. Says nothing to people.
///
/// # Errors
/// The database's.
pub async fn wake(db: &mut PgConnection, at: Address) -> Result<(), EngineError> {
    sqlx::query!(
        "update workflows set next_at = onceover_now()
         where tenant_id = $1 and id = $2
           and status in ('running', 'waiting', 'compensating', 'compensation_stuck')",
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets go of a workflow that nothing more can be done for until an operation of it moves. Only
/// the taker's fence lets go.
///
/// # Errors
/// The database's.
pub async fn rest(db: &mut PgConnection, row: &Workflow) -> Result<(), EngineError> {
    sqlx::query!(
        "update workflows set lease_until = null,
           next_at = case when status in ('running', 'waiting') then null else next_at end
         where tenant_id = $1 and id = $2 and fence = $3",
        row.at.tenant.uuid(),
        row.at.id.uuid(),
        row.fence,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Lets go of a workflow that another turn must look at.
///
/// # Errors
/// The database's.
pub async fn let_go(db: &mut PgConnection, row: &Workflow) -> Result<(), EngineError> {
    sqlx::query!(
        "update workflows set lease_until = null where tenant_id = $1 and id = $2 and fence = $3",
        row.at.tenant.uuid(),
        row.at.id.uuid(),
        row.fence,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Leaves a due workflow alone for a while.
///
/// # Errors
/// The database's.
pub async fn put_off(db: &mut PgConnection, at: Address, ms: i64) -> Result<(), EngineError> {
    sqlx::query!(
        "update workflows set next_at = onceover_now() + $3::bigint * interval '1 ms'
         where tenant_id = $1 and id = $2 and next_at is not null",
        at.tenant.uuid(),
        at.id.uuid(),
        ms,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Whether a workflow has been due for longer than `grace_ms`.
///
/// # Errors
/// The database's.
pub async fn is_overdue(
    db: &mut PgConnection,
    at: Address,
    grace_ms: i64,
) -> Result<bool, EngineError> {
    let overdue = sqlx::query_scalar!(
        r#"select exists (select from workflows where tenant_id = $1 and id = $2
             and next_at <= onceover_now() - $3::bigint * interval '1 ms') as "overdue!""#,
        at.tenant.uuid(),
        at.id.uuid(),
        grace_ms,
    )
    .fetch_one(db)
    .await?;
    Ok(overdue)
}
