//! Links of operations to their undos (C1 to C10), and every undo that was ever reserved for one.
//! Locks are taken in the order operations, compensations, workflows.

use chrono::{DateTime, Utc};
use domain::{
    compensation::CompensationState,
    ids::{CompensationId, OperationId, TenantId, WorkflowId},
    machine::Machine as _,
    money::Money,
};
use sqlx::PgConnection;

use super::{Target, row::money, word};
use crate::{actor::Actor, error::EngineError};

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Whose.
    pub tenant: TenantId,
    /// Its id.
    pub id: CompensationId,
    /// What is undone.
    pub operation_id: OperationId,
    /// The kind of the undo.
    pub kind: String,
    /// Which try this is, from 1 (C9).
    pub n: i32,
    /// Where it stands.
    pub status: CompensationState,
    /// Grows with each move.
    pub version: i64,
    /// The undo operation of this n.
    pub undo_id: Option<OperationId>,
    /// How much it gives back.
    pub amount: Option<Money>,
    /// The workflow whose unwinding it belongs to.
    pub workflow_id: Option<WorkflowId>,
    /// Its step.
    pub step_key: Option<String>,
    /// When a person let the steps before it be undone without it.
    pub passed_at: Option<DateTime<Utc>>,
}

impl Link {
    /// The address of what is undone.
    #[must_use]
    pub const fn forward(&self) -> Target {
        Target { tenant: self.tenant, id: self.operation_id }
    }
}

/// What a new link is made of.
pub struct NewLink<'a> {
    /// The kind of the undo.
    pub kind: &'a str,
    /// How much it gives back.
    pub amount: Option<&'a Money>,
    /// The workflow that is unwound.
    pub workflow_id: Option<WorkflowId>,
    /// The step.
    pub step_key: Option<&'a str>,
    /// Why.
    pub reason: Option<&'a str>,
    /// Who asks.
    pub actor: &'a Actor,
}

/// What a move changes beside state and version.
#[derive(Default)]
pub struct LinkChange<'a> {
    /// The undo that was reserved, under the link's next n.
    pub undo: Option<OperationId>,
    /// Passed by name, by whom (CP).
    pub passed_by: Option<&'a str>,
    /// What the timeline keeps of it.
    pub detail: Option<serde_json::Value>,
}

/// Writes a link (C1). The caller holds the forward operation's lock and has looked whether there
/// is one: an insert that gave way to a rival would stand in the timeline all the same.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    forward: Target,
    new: NewLink<'_>,
) -> Result<CompensationId, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into compensations (tenant_id, operation_id, kind, status, amount_minor, currency, workflow_id,
           step_key, reason, requested_by_kind, requested_by, move, move_actor_kind, move_actor)
         values ($1, $2, $3, 'requested', $4, $5, $6, $7, $8, $9, $10, 'C1', $9, $10) returning id",
        forward.tenant.uuid(),
        forward.id.uuid(),
        new.kind,
        new.amount.map(|money| money.amount_minor),
        new.amount.map(|money| money.currency.as_str()),
        new.workflow_id.map(WorkflowId::uuid),
        new.step_key,
        new.reason,
        new.actor.kind,
        new.actor.name,
    )
    .fetch_one(db)
    .await?;
    Ok(CompensationId::new(id))
}

/// Reads a link and locks it. The forward operation is locked before it.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: CompensationId,
) -> Result<Option<Link>, EngineError> {
    let row = sqlx::query!(
        "select operation_id, kind, n, status, version, undo_id, amount_minor, currency, workflow_id, step_key,
           passed_at
         from compensations where tenant_id = $1 and id = $2 for update",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Link {
        tenant,
        id,
        operation_id: OperationId::new(row.operation_id),
        kind: row.kind,
        n: row.n,
        status: word(&row.status)?,
        version: row.version,
        undo_id: row.undo_id.map(OperationId::new),
        amount: money(row.amount_minor, row.currency),
        workflow_id: row.workflow_id.map(WorkflowId::new),
        step_key: row.step_key,
        passed_at: row.passed_at,
    }))
}

/// What a link undoes, and the undo of its present n; read without a lock, to know what to lock.
///
/// # Errors
/// The database's.
pub async fn ends(
    db: &mut PgConnection,
    tenant: TenantId,
    id: CompensationId,
) -> Result<Option<(OperationId, Option<OperationId>)>, EngineError> {
    let row = sqlx::query!(
        "select operation_id, undo_id from compensations where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (OperationId::new(row.operation_id), row.undo_id.map(OperationId::new))))
}

/// The link of an operation and a kind of undo that stands in the unique index; there is at most one.
///
/// # Errors
/// The database's.
pub async fn standing(
    db: &mut PgConnection,
    forward: Target,
    kind: &str,
) -> Result<Option<CompensationId>, EngineError> {
    let id = sqlx::query_scalar!(
        "select id from compensations
         where tenant_id = $1 and operation_id = $2 and kind = $3 and status <> 'not_needed'",
        forward.tenant.uuid(),
        forward.id.uuid(),
        kind,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(CompensationId::new))
}

/// The link that an undo operation is the present n of.
///
/// # Errors
/// The database's.
pub async fn of_undo(
    db: &mut PgConnection,
    undo: Target,
) -> Result<Option<CompensationId>, EngineError> {
    let id = sqlx::query_scalar!(
        "select id from compensations where tenant_id = $1 and undo_id = $2",
        undo.tenant.uuid(),
        undo.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(CompensationId::new))
}

/// Moves a locked link by one rule. State and version are compared all the same.
///
/// # Errors
/// The database's: it refuses a move that is not in the table.
pub async fn advance(
    db: &mut PgConnection,
    link: &mut Link,
    rule: &str,
    to: CompensationState,
    actor: &Actor,
    change: LinkChange<'_>,
) -> Result<(), EngineError> {
    let n = link.n + i32::from(rule == "C9");
    let moved = sqlx::query!(
        "update compensations set status = $5, version = version + 1, n = $6,
           undo_id = coalesce($7, undo_id),
           passed_at = case when $8::text is null then passed_at else onceover_now() end,
           passed_by = coalesce($8, passed_by),
           settled_at = case when $5 in ('compensated', 'not_needed', 'accepted_undone_not') then onceover_now() end,
           next_at = case when $5 in ('requested', 'waiting_forward') then next_at end,
           updated_at = onceover_now(),
           move = $9, move_actor_kind = $10, move_actor = $11, move_detail = $12
         where tenant_id = $1 and id = $2 and status = $3 and version = $4
         returning version, passed_at",
        link.tenant.uuid(),
        link.id.uuid(),
        link.status.as_str(),
        link.version,
        to.as_str(),
        n,
        change.undo.map(OperationId::uuid),
        change.passed_by,
        rule,
        actor.kind,
        actor.name,
        change.detail,
    )
    .fetch_optional(&mut *db)
    .await?
    .ok_or_else(|| EngineError::Unreadable(format!("link {} moved on under its lock", link.id)))?;
    link.status = to;
    link.version = moved.version;
    link.passed_at = moved.passed_at;
    link.n = n;
    if let Some(undo) = change.undo {
        link.undo_id = Some(undo);
        sqlx::query!(
            "insert into compensation_undos (tenant_id, compensation_id, n, undo_id) values ($1, $2, $3, $4)",
            link.tenant.uuid(),
            link.id.uuid(),
            n,
            undo.uuid(),
        )
        .execute(db)
        .await?;
    }
    Ok(())
}

/// All undos that were ever reserved for a link, oldest first.
///
/// # Errors
/// The database's.
pub async fn undos(
    db: &mut PgConnection,
    tenant: TenantId,
    link: CompensationId,
) -> Result<Vec<OperationId>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select undo_id from compensation_undos where tenant_id = $1 and compensation_id = $2 order by n limit 1000",
        tenant.uuid(),
        link.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(OperationId::new).collect())
}

/// How much of an operation's amount is given back, or may be: links under way, unknown ones and
/// failed ones that may be retried all count; one that was accepted as not undone counts only where
/// something says that it happened after all.
///
/// # Errors
/// The database's.
pub async fn given_back(db: &mut PgConnection, forward: Target) -> Result<i64, EngineError> {
    let sum = sqlx::query_scalar!(
        r#"select coalesce(sum(c.amount_minor), 0)::bigint as "sum!" from compensations c
           where c.tenant_id = $1 and c.operation_id = $2 and c.status <> 'not_needed'
             and (c.status <> 'accepted_undone_not' or exists (
               select from compensation_undos u where u.tenant_id = c.tenant_id and u.compensation_id = c.id
                 and (exists (select from evidence e where e.tenant_id = u.tenant_id and e.operation_id = u.undo_id
                     and e.says = 'done' and e.refuted_at is null)
                   or exists (select from corrections k where k.tenant_id = u.tenant_id
                     and k.operation_id = u.undo_id and k.happened))))"#,
        forward.tenant.uuid(),
        forward.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(sum)
}

/// Whether a link forbids that an operation is tried again (O13): it is to be undone, not done.
///
/// # Errors
/// The database's.
pub async fn stops_retry(db: &mut PgConnection, forward: Target) -> Result<bool, EngineError> {
    let stops = sqlx::query_scalar!(
        r#"select exists (select from compensations where tenant_id = $1 and operation_id = $2
             and status in ('requested', 'waiting_forward')) as "stops!""#,
        forward.tenant.uuid(),
        forward.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(stops)
}

/// Has the links that wait for an operation looked at now.
///
/// # Errors
/// The database's.
pub async fn wake(db: &mut PgConnection, forward: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "update compensations set next_at = onceover_now()
         where tenant_id = $1 and operation_id = $2 and status = 'waiting_forward'",
        forward.tenant.uuid(),
        forward.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Takes up to `max` links whose turn it is, and puts their next turn off: a wake that comes
/// meanwhile is not lost, and a process that dies leaves them due again.
///
/// # Errors
/// The database's.
pub async fn take_due(
    db: &mut PgConnection,
    max: i64,
    again_ms: i64,
) -> Result<Vec<(TenantId, CompensationId)>, EngineError> {
    let rows = sqlx::query!(
        r#"with due as materialized (
             select tenant_id, id from compensations
             where next_at <= (select onceover_now()) and status in ('requested', 'waiting_forward')
             order by next_at limit $1 for update skip locked)
           update compensations c set next_at = onceover_now() + $2::bigint * interval '1 millisecond'
           from due where c.tenant_id = due.tenant_id and c.id = due.id
           returning c.tenant_id, c.id"#,
        max,
        again_ms,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| (TenantId::new(row.tenant_id), CompensationId::new(row.id)))
        .collect())
}
