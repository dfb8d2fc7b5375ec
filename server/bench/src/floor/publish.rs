//! The row writes of publishing, without a broker: the same claims of so many heads in one
//! statement, the same one statement per event that was told.

use domain::ids::TenantId;
use sqlx::PgPool;
use tokio::task::JoinSet;
use uuid::Uuid;

use crate::{bench::Database, fault::Fault};

/// As many as the engine has under way to one destination.
const AT_A_TIME: i64 = 32;

const CLAIM: &str = "
  with due as materialized (
    select tenant_id, aggregate, head_seq from floor.aggregates
    where not blocked and head_seq < next_seq and next_at <= (select onceover_now())
    order by next_at limit $1 for update skip locked),
  hidden as (
    update floor.aggregates a set next_at = onceover_now() + interval '30 s'
    from due where a.tenant_id = due.tenant_id and a.aggregate = due.aggregate)
  update floor.outbox u set status = 'publishing', version = u.version + 1, fence = u.fence + 1,
    owner = 'floor', lease_until = onceover_now() + interval '30 s', destination = 'events'
  from due
  where u.tenant_id = due.tenant_id and u.aggregate = due.aggregate and u.seq = due.head_seq
    and u.status = 'pending'
  returning u.tenant_id, u.id, u.fence";

const SETTLE: &str = "
  with event as (
    update floor.outbox u set status = 'published', version = u.version + 1, owner = null,
      lease_until = null, settled_at = onceover_now()
    where u.tenant_id = $1 and u.id = $2 and u.fence = $3 and u.status = 'publishing'
    returning u.tenant_id, u.id, u.aggregate, u.seq, u.fence, u.destination),
  moved as (
    update floor.aggregates a set head_seq = event.seq + 1, next_at = onceover_now()
    from event where a.tenant_id = event.tenant_id and a.aggregate = event.aggregate)
  insert into floor.outbox_attempts (tenant_id, event_id, fence, destination, owner, outcome, took_ms)
  select tenant_id, id, fence, destination, 'floor', 'published', 1 from event";

/// Copies events of the engine's outbox that wait into the bare one.
pub async fn plant(database: &Database, tenant: TenantId) -> Result<(), Fault> {
    sqlx::raw_sql("truncate floor.aggregates, floor.outbox, floor.outbox_attempts")
        .execute(&database.owner)
        .await?;
    for sql in [
        "insert into floor.aggregates select * from public.aggregates
         where tenant_id = $1 and head_seq < next_seq",
        "insert into floor.outbox select * from public.outbox where tenant_id = $1 and status = 'pending'",
    ] {
        sqlx::query(sql).bind(tenant.uuid()).execute(&database.owner).await?;
    }
    sqlx::raw_sql("vacuum analyze floor.aggregates, floor.outbox").execute(&database.owner).await?;
    Ok(())
}

/// Claims and settles until nothing waits; how many there were.
pub async fn drain(pool: &PgPool) -> Result<u64, Fault> {
    let mut done = 0;
    loop {
        let claimed: Vec<(Uuid, Uuid, i64)> =
            sqlx::query_as(CLAIM).bind(AT_A_TIME).fetch_all(pool).await?;
        if claimed.is_empty() {
            return Ok(done);
        }
        let mut settles = JoinSet::new();
        for (tenant, id, fence) in claimed {
            let pool = pool.clone();
            settles.spawn(async move {
                sqlx::query(SETTLE).bind(tenant).bind(id).bind(fence).execute(&pool).await
            });
        }
        while let Some(settled) = settles.join_next().await {
            let settled =
                settled.map_err(|error| Fault::Said(format!("the floor panicked: {error}")))??;
            done += settled.rows_affected();
        }
    }
}
