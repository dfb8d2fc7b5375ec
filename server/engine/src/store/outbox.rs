//! The outbox: events written in the transaction of the change, numbered per aggregate under its
//! row's lock (D25, X1), and moved by whoever publishes them (X3 to X9).
//!
//! Every move locks the aggregate before the event, so that no two of them wait for each other, and
//! each but the staff's names the fence: a publisher that lost its lease changes nothing.

use sqlx::PgConnection;

use crate::{actor::Actor, error::EngineError};
use domain::{
    ids::{EventId, OperationId, TenantId},
    machine::Machine as _,
    outbox::EventStatus,
};

/// Adds one event. Call it last in a transaction, events sorted by aggregate, so that locks
/// cannot cross.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    tenant: TenantId,
    aggregate: &str,
    topic: &str,
    payload: &[u8],
    operation: Option<OperationId>,
) -> Result<(), EngineError> {
    sqlx::query!(
        "with a as (
           insert into aggregates (tenant_id, aggregate, next_seq) values ($1, $2, 2)
           on conflict (tenant_id, aggregate) do update set
             next_seq = aggregates.next_seq + 1,
             next_at = case when aggregates.head_seq = aggregates.next_seq then onceover_now()
               else aggregates.next_at end
           returning next_seq - 1 as seq
         )
         insert into outbox (tenant_id, aggregate, seq, topic, payload, operation_id)
         select $1, $2, a.seq, $3, $4, $5 from a",
        tenant.uuid(),
        aggregate,
        topic,
        payload,
        operation.map(OperationId::uuid),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What came of a delivery, as it is written.
#[derive(Clone, Debug)]
pub struct Settled<'a> {
    /// X3 to X6.
    pub rule: &'static str,
    /// Where that leads.
    pub status: EventStatus,
    /// `published`, `duplicate`, `refused` or `transport_down`.
    pub outcome: &'static str,
    /// What the destination or the network said.
    pub error: Option<&'a str>,
    /// How long the aggregate rests; none after a success.
    pub pause_ms: i64,
    /// Who delivered.
    pub actor: &'a Actor,
    /// How long it took.
    pub took_ms: i32,
}

/// An event's address, with the fence that its publisher holds.
#[derive(Clone, Copy, Debug)]
pub struct Held<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub id: EventId,
    /// What it is about.
    pub aggregate: &'a str,
    /// The publisher's fence.
    pub fence: i64,
}

/// Writes what came of a delivery, moves the head on after a success and blocks the aggregate
/// behind a dead event. False where the fence is another's by now: nothing was written.
///
/// # Errors
/// The database's.
pub async fn settle(
    db: &mut PgConnection,
    held: Held<'_>,
    settled: &Settled<'_>,
) -> Result<bool, EngineError> {
    let written = sqlx::query!(
        "with head as materialized (
           select tenant_id, aggregate from aggregates where tenant_id = $1 and aggregate = $2 for update),
         event as (
           update outbox u set status = $5, move = $6, version = u.version + 1,
             attempts = u.attempts + ($6 in ('X5', 'X6'))::int, owner = null, lease_until = null, last_error = $7,
             settled_at = case when $5 = 'published' then onceover_now() end,
             move_actor_kind = $10, move_actor = $11, move_detail = jsonb_build_object('error', $7::text)
           from head
           where u.tenant_id = head.tenant_id and u.id = $3 and u.fence = $4 and u.status = 'publishing'
           returning u.tenant_id, u.id, u.aggregate, u.seq, u.fence, u.destination),
         moved as (
           update aggregates a set
             head_seq = case when $5 = 'published' then event.seq + 1 else a.head_seq end,
             blocked = $5 = 'dead',
             next_at = onceover_now() + make_interval(secs => $8::bigint / 1000.0)
           from event where a.tenant_id = event.tenant_id and a.aggregate = event.aggregate)
         insert into outbox_attempts (tenant_id, event_id, fence, destination, owner, outcome, error, took_ms)
         select tenant_id, id, fence, destination, $11, $9, $7, $12 from event",
        held.tenant.uuid(),
        held.aggregate,
        held.id.uuid(),
        held.fence,
        settled.status.as_str(),
        settled.rule,
        settled.error,
        settled.pause_ms,
        settled.outcome,
        settled.actor.kind,
        settled.actor.name,
        settled.took_ms,
    )
    .execute(db)
    .await?;
    Ok(written.rows_affected() == 1)
}

/// How events are treated whose publisher was lost.
#[derive(Clone, Copy, Debug)]
pub struct Losses {
    /// Publishers lost in a row, from which on an event is dead.
    pub max_takeovers: i32,
    /// The pause after the second loss in a row; it doubles with each that follows, up to an hour.
    pub backoff_ms: i64,
    /// Events of one batch.
    pub batch: i64,
}

/// Gives events back whose publisher's lease ended (X7), at once after the first loss and later and
/// later after each that follows; at the bound the event is dead and blocks its aggregate (X7b). How
/// many.
///
/// # Errors
/// The database's.
pub async fn release_lapsed(
    db: &mut PgConnection,
    actor: &Actor,
    losses: Losses,
) -> Result<u64, EngineError> {
    let released = sqlx::query!(
        "with due as materialized (
           select tenant_id, aggregate, id, fence, owner, takeovers + 1 as takeovers from outbox
           where status = 'publishing' and lease_until < (select onceover_now())
           order by lease_until limit $1),
         head as materialized (
           select a.tenant_id, a.aggregate, due.id, due.fence, due.owner, due.takeovers,
             case when due.takeovers >= $4 then 'dead' else 'pending' end as status,
             case when due.takeovers >= $4
               then due.takeovers || ' publishers in a row were lost before they could say what came of it. Whether it '
                 || 'arrived is not known; what ends its publishers may be the event itself.'
               else 'The publisher was lost before it could say what came of it.' end as cause
           from due join aggregates a on a.tenant_id = due.tenant_id and a.aggregate = due.aggregate
           for update of a skip locked),
         event as (
           update outbox u set status = head.status, move = case when head.status = 'dead' then 'X7b' else 'X7' end,
             version = u.version + 1, fence = u.fence + 1, owner = null, lease_until = null, last_error = head.cause,
             move_actor_kind = $2, move_actor = $3, move_detail = jsonb_build_object('error', head.cause)
           from head
           where u.tenant_id = head.tenant_id and u.id = head.id and u.fence = head.fence
             and u.status = 'publishing' and u.lease_until < onceover_now()
           returning u.tenant_id, u.id, u.aggregate, head.fence, u.destination, coalesce(head.owner, '') as owner,
             head.status, head.takeovers),
         moved as (
           update aggregates a set blocked = event.status = 'dead',
             next_at = onceover_now() + case when event.takeovers < 2 then interval '0'
               else least(3600000, $5::bigint * power(2, least(event.takeovers - 2, 20))) * (0.5 + random() / 2)
                 * interval '1 ms' end
           from event where a.tenant_id = event.tenant_id and a.aggregate = event.aggregate)
         insert into outbox_attempts (tenant_id, event_id, fence, destination, owner, outcome)
         select tenant_id, id, fence, destination, owner, 'lease_lost' from event",
        losses.batch,
        actor.kind,
        actor.name,
        losses.max_takeovers,
        losses.backoff_ms,
    )
    .execute(db)
    .await?;
    Ok(released.rows_affected())
}

/// An event as its next move finds it.
#[derive(Clone, Debug)]
pub struct LockedEvent {
    /// What it is about.
    pub aggregate: String,
    /// Its place there.
    pub seq: i64,
    /// Where it stands.
    pub status: EventStatus,
    /// Grows with each move.
    pub version: i64,
}

/// Locks an event for a person's decision, its aggregate first.
///
/// # Errors
/// The database's.
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
) -> Result<Option<LockedEvent>, EngineError> {
    sqlx::query!(
        "select a.aggregate from outbox u
         join aggregates a on a.tenant_id = u.tenant_id and a.aggregate = u.aggregate
         where u.tenant_id = $1 and u.id = $2 for update of a",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    let row = sqlx::query!(
        "select aggregate, seq, status, version from outbox where tenant_id = $1 and id = $2 for update",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| {
        let status =
            EventStatus::parse(&row.status).map_err(|error| EngineError::Unreadable(error.0))?;
        Ok(LockedEvent { aggregate: row.aggregate, seq: row.seq, status, version: row.version })
    })
    .transpose()
}

/// Frees the aggregate behind a locked dead event (X8): with the event again in line, its attempts
/// beginning anew, or past it.
///
/// # Errors
/// The database's.
pub async fn decide(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
    event: &LockedEvent,
    to: EventStatus,
    actor: &Actor,
    reason: &str,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update outbox set status = $3, move = 'X8', version = version + 1, attempts = 0,
           settled_at = case when $3 = 'skipped' then onceover_now() end,
           move_actor_kind = $4, move_actor = $5, move_detail = jsonb_build_object('reason', $6::text)
         where tenant_id = $1 and id = $2 and status = 'dead' and version = $7",
        tenant.uuid(),
        id.uuid(),
        to.as_str(),
        actor.kind,
        actor.name,
        reason,
        event.version,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "update aggregates set blocked = false, next_at = onceover_now(),
           head_seq = case when $4 = 'skipped' then $3::bigint + 1 else head_seq end
         where tenant_id = $1 and aggregate = $2",
        tenant.uuid(),
        event.aggregate,
        event.seq,
        to.as_str(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Removes what was told or skipped longer ago than any consumer replays (X9); how many.
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, days: i32, max: i64) -> Result<u64, EngineError> {
    let gone = sqlx::query!(
        "delete from outbox u using (
           select tenant_id, id from outbox
           where status in ('published', 'skipped')
             and settled_at < (select onceover_now()) - make_interval(days => $1)
           order by settled_at limit $2 for update skip locked) old
         where u.tenant_id = old.tenant_id and u.id = old.id",
        days,
        max,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected())
}
