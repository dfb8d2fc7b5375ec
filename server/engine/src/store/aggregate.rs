//! Aggregates: one row each, whose lock gives events their order and whose head is what publishers
//! claim (D25). The heads of a thousand blocked aggregates cost a claim nothing.

use chrono::{DateTime, Utc};
use domain::ids::{EventId, OperationId, TenantId};
use sqlx::PgConnection;

use crate::error::EngineError;

/// Which topics go where, in the order in which they are tried: the first prefix that fits wins.
#[derive(Clone, Debug, Default)]
pub struct Routes {
    /// What a topic begins with.
    pub prefixes: Vec<String>,
    /// The destination that takes it.
    pub destinations: Vec<String>,
    /// The short name of the tenant whose topics it takes; empty, or left out: everybody's.
    pub tenants: Vec<String>,
}

/// How many events each destination takes now.
#[derive(Clone, Debug, Default)]
pub struct Rooms {
    /// Their names.
    pub destinations: Vec<String>,
    /// How many events may go there; none where its breaker is open.
    pub rooms: Vec<i64>,
    /// How long an event waits for which there is no room.
    pub wait_ms: Vec<i64>,
}

/// Who claims, for how long, and how many.
#[derive(Clone, Copy, Debug)]
pub struct Claim<'a> {
    /// The publisher.
    pub owner: &'a str,
    /// How long it may take.
    pub lease_ms: i64,
    /// How many heads are looked at.
    pub max: i64,
    /// How long the head of an aggregate is left alone that no destination takes.
    pub unrouted_ms: i64,
}

/// An event that a publisher holds.
#[derive(Clone, Debug)]
pub struct HeldEvent {
    /// Whose.
    pub tenant: TenantId,
    /// The tenant's short name.
    pub tenant_slug: String,
    /// Its id, the same at each delivery (D27).
    pub id: EventId,
    /// What it is about.
    pub aggregate: String,
    /// Its place within the aggregate.
    pub seq: i64,
    /// What happened.
    pub topic: String,
    /// What is told.
    pub payload: Vec<u8>,
    /// The operation that it came from.
    pub operation: Option<OperationId>,
    /// How often it has been refused.
    pub attempts: i32,
    /// The number that each write of this publisher must carry.
    pub fence: i64,
    /// When it was written.
    pub created_at: DateTime<Utc>,
    /// Where it goes.
    pub destination: String,
    /// The database's clock at the claim.
    pub now: DateTime<Utc>,
}

/// What a claim got.
#[derive(Clone, Debug, Default)]
pub struct Claimed {
    /// The events.
    pub events: Vec<HeldEvent>,
    /// How many heads it looked at; as many as asked for means that there may be more.
    pub looked_at: i64,
}

/// Takes the heads of aggregates whose time has come (X2): each as far as its destination has
/// room, the others out of the way for a while, so that none of them stands before its neighbours.
///
/// # Errors
/// The database's.
pub async fn claim_heads(
    db: &mut PgConnection,
    claim: Claim<'_>,
    routes: &Routes,
    rooms: &Rooms,
) -> Result<Claimed, EngineError> {
    let rows = sqlx::query!(
        r#"with due as materialized (
             select tenant_id, aggregate, head_seq, next_at from aggregates
             where not blocked and head_seq < next_seq and next_at <= (select onceover_now())
             order by next_at limit $1 for update skip locked),
           routed as materialized (
             select d.tenant_id, d.aggregate, u.id, r.destination,
               row_number() over (partition by r.destination order by d.next_at) as place
             from due d
             join outbox u on u.tenant_id = d.tenant_id and u.aggregate = d.aggregate and u.seq = d.head_seq
             left join lateral (
               select t.destination from unnest($2::text[], $3::text[], $10::text[])
                 with ordinality as t(destination, prefix, tenant, n)
               where starts_with(u.topic, t.prefix) and (coalesce(t.tenant, '') = ''
                 or t.tenant = (select s.slug from tenants s where s.id = d.tenant_id))
               order by t.n limit 1) r on true),
           placed as materialized (
             select r.tenant_id, r.aggregate, r.id, r.destination, coalesce(r.place <= g.room, false) as goes,
               coalesce(g.wait_ms, $4) * (0.8 + 0.4 * random()) as wait_ms
             from routed r
             left join unnest($5::text[], $6::bigint[], $7::bigint[]) as g(destination, room, wait_ms)
               on g.destination = r.destination),
           hidden as (
             update aggregates a set next_at = onceover_now()
               + make_interval(secs => case when p.goes then $8::bigint else p.wait_ms end / 1000.0)
             from placed p where a.tenant_id = p.tenant_id and a.aggregate = p.aggregate),
           taken as (
             update outbox u set status = 'publishing', move = 'X2', version = u.version + 1, fence = u.fence + 1,
               owner = $9, lease_until = onceover_now() + make_interval(secs => $8::bigint / 1000.0),
               destination = p.destination
             from placed p
             where p.goes and u.tenant_id = p.tenant_id and u.id = p.id and u.status = 'pending'
             returning u.tenant_id, u.id, u.aggregate, u.seq, u.topic, u.payload, u.operation_id, u.attempts,
               u.fence, u.created_at, u.destination)
           select c.looked_at as "looked_at!", onceover_now() as "now!", s.slug as "slug?", t.tenant_id as "tenant_id?",
             t.id as "id?", t.aggregate as "aggregate?", t.seq as "seq?", t.topic as "topic?", t.payload as "payload?",
             t.operation_id as "operation_id?", t.attempts as "attempts?", t.fence as "fence?",
             t.created_at as "created_at?", t.destination as "destination?"
           from (select count(*) as looked_at from due) c
           left join taken t on true
           left join tenants s on s.id = t.tenant_id"#,
        claim.max,
        &routes.destinations,
        &routes.prefixes,
        claim.unrouted_ms,
        &rooms.destinations,
        &rooms.rooms,
        &rooms.wait_ms,
        claim.lease_ms,
        claim.owner,
        &routes.tenants,
    )
    .fetch_all(db)
    .await?;
    let looked_at = rows.first().map_or(0, |row| row.looked_at);
    let events = rows
        .into_iter()
        .filter_map(|row| {
            Some(HeldEvent {
                tenant: TenantId::new(row.tenant_id?),
                tenant_slug: row.slug?,
                id: EventId::new(row.id?),
                aggregate: row.aggregate?,
                seq: row.seq?,
                topic: row.topic?,
                payload: row.payload?,
                operation: row.operation_id.map(OperationId::new),
                attempts: row.attempts?,
                fence: row.fence?,
                created_at: row.created_at?,
                destination: row.destination?,
                now: row.now,
            })
        })
        .collect();
    Ok(Claimed { events, looked_at })
}

/// Topics of heads that no route takes, a few of them, oldest aggregates last: what waits without
/// being wrong.
///
/// # Errors
/// The database's.
pub async fn unrouted(
    db: &mut PgConnection,
    routes: &Routes,
    max: i64,
) -> Result<Vec<String>, EngineError> {
    let topics = sqlx::query_scalar!(
        "select distinct h.topic from (
           select u.topic from (
             select tenant_id, aggregate, head_seq from aggregates
             where not blocked and head_seq < next_seq order by next_at desc limit 2000) a
           join outbox u on u.tenant_id = a.tenant_id and u.aggregate = a.aggregate and u.seq = a.head_seq
           where not exists (select from unnest($1::text[], $3::text[]) as t(prefix, tenant)
             where starts_with(u.topic, t.prefix) and (coalesce(t.tenant, '') = ''
               or t.tenant = (select s.slug from tenants s where s.id = a.tenant_id)))) h
         order by h.topic limit $2",
        &routes.prefixes,
        max,
        &routes.tenants,
    )
    .fetch_all(db)
    .await?;
    Ok(topics)
}
