//! What happened around an operation without moving it: its step, its events with their deliveries, the
//! messages that brought it or were about it, and requests for a second person. One statement for all of
//! it, each part bounded and read by its index, so that a long life costs no more questions than a short.

use chrono::{DateTime, Utc};
use domain::record::{RecordName, RecordType};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::Target;
use crate::error::EngineError;

/// Moves of its step that are told, the last ones.
const MAX_STEP_MOVES: i64 = 200;
/// Events, messages and requests that are told, the last ones.
const MAX_RECORDS: i64 = 100;
/// Deliveries and moves of one event or message that are told, the last ones.
const MAX_EACH: i64 = 10;

/// What a thing around an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Around {
    /// Its step moved.
    Step,
    /// An event that tells of it was written.
    Written,
    /// Such an event moved otherwise than by a delivery.
    Event,
    /// A delivery of such an event ended.
    Delivery,
    /// A message that brought it or was about it moved.
    Message,
    /// A second person was asked for.
    Asked,
    /// Such a request was settled.
    Settled,
}

/// Something that happened around an operation.
#[derive(Clone, Debug)]
pub struct Happened {
    /// What.
    pub what: Around,
    /// The other record's id.
    pub record: Uuid,
    /// A step's key, an event's topic, a message's consumer, a request's verb.
    pub name: String,
    /// The other record's own key.
    pub key: String,
    /// Its number or id among its like.
    pub place: String,
    /// When.
    pub at: DateTime<Utc>,
    /// The rule; of a delivery and a request no rule of a machine.
    pub rule: String,
    /// The state before.
    pub from: Option<String>,
    /// The state after, or how a delivery ended.
    pub to: String,
    /// Whether a person did it, named by email.
    pub by_person: bool,
    /// Who.
    pub actor: String,
    /// What it carried.
    pub detail: Option<Value>,
}

/// What happened around an operation, oldest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn around(db: &mut PgConnection, target: Target) -> Result<Vec<Happened>, EngineError> {
    let rows = sqlx::query!(
        r#"
        with events as materialized (
          select id, topic, aggregate || ' #' || seq as key, created_at from outbox
            where tenant_id = $1 and operation_id = $2::uuid order by id desc limit $4
        ), messages as materialized (
          select id, consumer, message_id from inbox
            where tenant_id = $1 and operation_id = $2::uuid order by id desc limit $4
        ), requests as materialized (
          select a.id, a.verb, a.requested_at, a.reason, a.status, a.decided_at, a.decision_reason, a.receipt,
              s.email as requester, d.email as decider
            from approvals a
            join staff s on s.id = a.requester_id
            left join staff d on d.id = a.decider_id
            where a.tenant_id = $1 and a.target_type = 'operation' and a.target_id = $2::uuid::text
            order by a.id desc limit $4
        )
        select what as "what!", record as "record!", name as "name!", key as "key!", place as "place!", at as "at!",
          rule as "rule!", from_status, to_status as "to_status!", by_person as "by_person!", actor as "actor!", detail
        from (
          (select 0 as what, s.workflow_id as record, s.step_key::text as name, w.key::text as key,
              e.id::text as place, e.at, e.rule, e.from_status, e.to_status, e.actor_kind = 'staff' as by_person,
              e.actor, e.detail
            from workflow_steps s
            join workflows w on w.tenant_id = s.tenant_id and w.id = s.workflow_id
            join machine_events e on e.tenant_id = s.tenant_id and e.record_id = s.workflow_id
              and e.step_key = s.step_key
            where s.tenant_id = $1 and s.operation_id = $2::uuid and e.machine = 'step' and e.rule <> 'S0'
            order by e.id desc limit $3)
          union all
          select 1, x.id, x.topic::text, x.key::text, x.id::text, x.created_at, 'X1', null, 'pending', false, 'engine',
              null::jsonb
            from events x
          union all
          select 2, x.id, x.topic::text, x.key::text, e.id::text, e.at, e.rule, e.from_status, e.to_status,
              e.actor_kind = 'staff', e.actor, e.detail
            from events x cross join lateral (
              select id, at, rule, from_status, to_status, actor_kind, actor, detail from machine_events
                where tenant_id = $1 and record_id = x.id and machine = 'outbox' order by id desc limit $5) e
          union all
          select 3, x.id, x.topic::text, x.key::text, a.id::text, a.at, 'delivery', null, a.outcome, false, a.owner,
              jsonb_build_object('destination', a.destination, 'error', a.error, 'took_ms', a.took_ms,
                'fence', a.fence)
            from events x cross join lateral (
              select id, at, outcome, owner, destination, error, took_ms, fence from outbox_attempts
                where tenant_id = $1 and event_id = x.id order by id desc limit $5) a
          union all
          select 4, m.id, m.consumer::text, m.message_id::text, e.id::text, e.at, e.rule, e.from_status, e.to_status,
              e.actor_kind = 'staff', e.actor, e.detail
            from messages m cross join lateral (
              select id, at, rule, from_status, to_status, actor_kind, actor, detail from machine_events
                where tenant_id = $1 and record_id = m.id and machine = 'inbox' and rule <> 'N1'
                order by id desc limit $5) e
          union all
          select 5, q.id, q.verb::text, q.verb::text, q.id::text, q.requested_at, 'request', null, 'pending', true,
              q.requester, jsonb_build_object('reason', q.reason)
            from requests q
          union all
          select 6, q.id, q.verb::text, q.verb::text, q.id::text, q.decided_at, 'request', 'pending', q.status,
              q.decider is not null, coalesce(q.decider, 'engine'),
              jsonb_build_object('reason', q.decision_reason, 'receipt', q.receipt)
            from requests q where q.decided_at is not null
        ) told
        order by at, what, length(place), place
        "#,
        target.tenant.uuid(),
        target.id.uuid(),
        MAX_STEP_MOVES,
        MAX_RECORDS,
        MAX_EACH,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Happened {
                what: what(row.what)?,
                record: row.record,
                name: row.name,
                key: row.key,
                place: row.place,
                at: row.at,
                rule: row.rule,
                from: row.from_status,
                to: row.to_status,
                by_person: row.by_person,
                actor: row.actor,
                detail: row.detail,
            })
        })
        .collect()
}

fn what(number: i32) -> Result<Around, EngineError> {
    Ok(match number {
        0 => Around::Step,
        1 => Around::Written,
        2 => Around::Event,
        3 => Around::Delivery,
        4 => Around::Message,
        5 => Around::Asked,
        6 => Around::Settled,
        other => return Err(EngineError::Unreadable(format!("a story's source {other}"))),
    })
}

/// The last events that tell of an operation, and the last messages that brought it or were about it, at
/// most `max` of each.
///
/// # Errors
/// The database's.
pub async fn beside(
    db: &mut PgConnection,
    target: Target,
    max: i64,
) -> Result<Vec<RecordName>, EngineError> {
    let rows = sqlx::query!(
        r#"select event as "event!", id as "id!" from (
             (select true as event, id from outbox where tenant_id = $1 and operation_id = $2
               order by id desc limit $3)
             union all
             (select false, id from inbox where tenant_id = $1 and operation_id = $2
               order by id desc limit $3)) beside"#,
        target.tenant.uuid(),
        target.id.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    let kind = |event| if event { RecordType::Event } else { RecordType::Message };
    Ok(rows.into_iter().map(|row| RecordName::new(kind(row.event), row.id)).collect())
}
