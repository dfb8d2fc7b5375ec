//! The inbox: the insert that takes a message in, the locked read of what is on record, and the
//! moves that settle, shrink and remove it (N1, N2, N4 to N6).

use chrono::{DateTime, Utc};
use domain::{
    ids::{MessageId, OperationId, TenantId, WorkflowId},
    inbox::InboxState,
};
use serde_json::Value;
use sqlx::PgConnection;

use super::word;
use crate::{actor::Actor, error::EngineError};

/// A message's address as its producer knows it.
#[derive(Clone, Copy, Debug)]
pub struct Address<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// Who acts on it.
    pub consumer: &'a str,
    /// Where it comes from.
    pub source: &'a str,
    /// Its id there.
    pub message_id: &'a str,
}

/// A message to take in.
pub struct NewMessage<'a> {
    /// Its address.
    pub address: Address<'a>,
    /// Fingerprint of what it says and asks.
    pub hash: &'a [u8],
    /// Version of the fingerprint's form.
    pub hash_version: i16,
    /// `processing`, `quarantined` or `dead`.
    pub state: InboxState,
    /// By which rule.
    pub rule: &'static str,
    /// When its producer made it.
    pub produced_at: DateTime<Utc>,
    /// How long it is remembered in full, from then on.
    pub window_ms: i64,
    /// As sent.
    pub payload: &'a [u8],
    /// What it asks to start, as sent.
    pub effect: Option<&'a [u8]>,
    /// Failed deliveries so far.
    pub failures: i32,
    /// What the last of them said.
    pub last_error: Option<&'a str>,
    /// Who brought it.
    pub actor: &'a Actor,
    /// For the timeline.
    pub detail: Option<Value>,
}

/// Takes a message in; `None` where its address is on record. As with operations (D23), what is on
/// record is read by a second statement: [`lock_by_address`].
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    new: NewMessage<'_>,
) -> Result<Option<MessageId>, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
           window_until, payload, effect, failures, last_error, move, move_actor_kind, move_actor, move_detail)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $8::timestamptz + $9::bigint * interval '1 ms', $10, $11, $12, $13,
           $14, $15, $16, $17)
         on conflict (tenant_id, consumer, source, message_id) do nothing returning id",
        new.address.tenant.uuid(),
        new.address.consumer,
        new.address.source,
        new.address.message_id,
        new.hash,
        new.hash_version,
        new.state.label(),
        new.produced_at,
        new.window_ms,
        new.payload,
        new.effect,
        new.failures,
        new.last_error,
        new.rule,
        new.actor.kind,
        new.actor.name,
        new.detail,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(MessageId::new))
}

/// A message on record, without its bodies.
#[derive(Clone, Debug)]
pub struct Stored {
    /// Its id here.
    pub id: MessageId,
    /// Fingerprint of what it says and asks.
    pub hash: Vec<u8>,
    /// Version of the fingerprint's form.
    pub hash_version: i16,
    /// Where it stands.
    pub state: InboxState,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// The workflow that it started.
    pub workflow_id: Option<WorkflowId>,
}

/// Reads and locks the message at an address.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock_by_address(
    db: &mut PgConnection,
    address: Address<'_>,
) -> Result<Option<Stored>, EngineError> {
    let row = sqlx::query!(
        "select id, hash, hash_version, status, operation_id, workflow_id from inbox
         where tenant_id = $1 and consumer = $2 and source = $3 and message_id = $4 for update",
        address.tenant.uuid(),
        address.consumer,
        address.source,
        address.message_id,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Stored {
            id: MessageId::new(row.id),
            hash: row.hash,
            hash_version: row.hash_version,
            state: word(&row.status)?,
            operation_id: row.operation_id.map(OperationId::new),
            workflow_id: row.workflow_id.map(WorkflowId::new),
        })
    })
    .transpose()
}

/// Counts another delivery of the same message; moves nothing.
///
/// # Errors
/// The database's.
pub async fn count_delivery(
    db: &mut PgConnection,
    tenant: TenantId,
    id: MessageId,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update inbox set deliveries = deliveries + 1, last_delivery_at = onceover_now()
         where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// A message that a person decides about, locked, with what it says and asks.
#[derive(Clone, Debug)]
pub struct Waiting {
    /// Who acts on it.
    pub consumer: String,
    /// Where it comes from.
    pub source: String,
    /// Its id there.
    pub message_id: String,
    /// Where it stands.
    pub state: InboxState,
    /// Moves with all that a person can see.
    pub version: i64,
    /// As sent.
    pub payload: Option<Vec<u8>>,
    /// What it asks to start, as sent.
    pub effect: Option<Vec<u8>>,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// Failed deliveries.
    pub failures: i32,
}

/// Reads and locks a message by its id here.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: MessageId,
) -> Result<Option<Waiting>, EngineError> {
    let row = sqlx::query!(
        "select consumer, source, message_id, status, version, payload, effect, operation_id, failures from inbox
         where tenant_id = $1 and id = $2 for update",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        Ok(Waiting {
            consumer: row.consumer,
            source: row.source,
            message_id: row.message_id,
            state: word(&row.status)?,
            version: row.version,
            payload: row.payload,
            effect: row.effect,
            operation_id: row.operation_id.map(OperationId::new),
            failures: row.failures,
        })
    })
    .transpose()
}

/// How a message is settled.
pub struct Settling<'a> {
    /// Which.
    pub id: MessageId,
    /// From where: the guard.
    pub from: InboxState,
    /// To `processed` or `dropped`.
    pub to: InboxState,
    /// By which rule.
    pub rule: &'static str,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// The workflow that it started.
    pub workflow_id: Option<WorkflowId>,
    /// Failed deliveries before.
    pub failures: i32,
    /// Who.
    pub actor: &'a Actor,
    /// For the timeline.
    pub detail: Option<Value>,
}

/// Settles a message (N2, N5); `false` where it did not stand where it was said to.
///
/// # Errors
/// The database's.
pub async fn settle(
    db: &mut PgConnection,
    tenant: TenantId,
    settling: Settling<'_>,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update inbox set status = $3, version = version + 1, operation_id = coalesce($4, operation_id),
           workflow_id = coalesce($5, workflow_id), failures = $6, settled_at = onceover_now(),
           move = $7, move_actor_kind = $8, move_actor = $9, move_detail = $10
         where tenant_id = $1 and id = $2 and status = $11",
        tenant.uuid(),
        settling.id.uuid(),
        settling.to.label(),
        settling.operation_id.map(OperationId::uuid),
        settling.workflow_id.map(WorkflowId::uuid),
        settling.failures,
        settling.rule,
        settling.actor.kind,
        settling.actor.name,
        settling.detail,
        settling.from.label(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Takes the contents of settled messages whose window has passed, the id stays (N6). A sweep over
/// all tenants; says how many.
///
/// # Errors
/// The database's.
pub async fn shrink(db: &mut PgConnection, janitor: &str, limit: i64) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "with due as materialized (
           select tenant_id, id from inbox
           where shrunk_at is null and status in ('processed', 'dropped')
             and window_until < (select onceover_now())
           order by window_until limit $1 for update skip locked
         ), bodies as (
           update inbox_conflicts c set payload = null from due
           where c.tenant_id = due.tenant_id and c.inbox_id = due.id and c.payload is not null
         )
         update inbox i set payload = null, effect = null, last_error = null, shrunk_at = onceover_now(),
           move = 'N6', move_actor_kind = 'janitor', move_actor = $2
         from due where i.tenant_id = due.tenant_id and i.id = due.id",
        limit,
        janitor,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Removes bare ids past the furthest horizon of their consumer, where its policy has one (N6). A
/// sweep over all tenants; says how many.
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, limit: i64) -> Result<u64, EngineError> {
    let done = sqlx::query!(
        "with due as materialized (
           select i.tenant_id, i.id from inbox_consumers c cross join lateral (
             select tenant_id, id from inbox
             where tenant_id = c.tenant_id and consumer = c.name and shrunk_at is not null
               and window_until < (select onceover_now()) - c.retention_ms * interval '1 ms'
               and produced_at < (select onceover_now()) - (c.window_ms + c.retention_ms) * interval '1 ms'
             order by window_until limit $1 for update skip locked
           ) i
           where c.retention_ms is not null
           limit $1
         )
         delete from inbox i using due where i.tenant_id = due.tenant_id and i.id = due.id",
        limit,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}
