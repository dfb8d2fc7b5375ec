//! Events that wait, as many as a figure needs: each alone in its aggregate, which is the most heads
//! that so many events can have.

use domain::ids::TenantId;

use crate::{bench::Database, fault::Fault};

/// Adds waiting events under new aggregates, the oldest an hour old.
pub async fn waiting(
    database: &Database,
    tenant: TenantId,
    label: &str,
    count: i64,
) -> Result<(), Fault> {
    for sql in [
        "insert into aggregates (tenant_id, aggregate, next_seq, next_at)
         select $1, $2 || n, 2, onceover_now() - interval '1 hour' + n * interval '1 microsecond'
         from generate_series(1, $3) n",
        r#"insert into outbox (tenant_id, aggregate, seq, topic, payload)
         select $1, $2 || n, 1, 'operation.succeeded',
           convert_to('{"operation_id":"' || $2 || n || '","operation":"invoice.charge","key":"charge INV-' || n
             || '","status":"succeeded","version":3,"rule":"O6","needs_manual":false,"external_reference":"ch_' || n
             || '","amount_minor":12900,"currency":"EUR"}', 'UTF8')
         from generate_series(1, $3) n"#,
    ] {
        sqlx::query(sql)
            .bind(tenant.uuid())
            .bind(label)
            .bind(count)
            .execute(&database.owner)
            .await?;
    }
    Ok(())
}

/// Adds aggregates that a dead event blocks.
pub async fn dead(database: &Database, tenant: TenantId, count: i64) -> Result<(), Fault> {
    for sql in [
        "insert into aggregates (tenant_id, aggregate, next_seq, next_at, blocked)
         select $1, 'dead-' || n, 2, onceover_now() - interval '2 hours', true from generate_series(1, $2) n",
        "insert into outbox (tenant_id, aggregate, seq, topic, payload, status, attempts, last_error)
         select $1, 'dead-' || n, 1, 'operation.succeeded', '{}', 'dead', 12, 'refused'
         from generate_series(1, $2) n",
    ] {
        sqlx::query(sql).bind(tenant.uuid()).bind(count).execute(&database.owner).await?;
    }
    Ok(())
}

/// Marks what is claimed as told, by the moves of a publisher (X3).
pub async fn settle(database: &Database) -> Result<(), Fault> {
    let settled = "with told as (
           update outbox set status = 'published', settled_at = onceover_now(), version = version + 1,
             owner = null, lease_until = null, move = 'X3'
           where status = 'publishing' returning tenant_id, aggregate, seq)
         update aggregates a set head_seq = told.seq + 1 from told
         where a.tenant_id = told.tenant_id and a.aggregate = told.aggregate";
    sqlx::query(settled).execute(&database.owner).await?;
    Ok(())
}

/// What autovacuum does in its time: statistics, and the visibility map.
pub async fn tidy(database: &Database) -> Result<(), Fault> {
    sqlx::raw_sql("vacuum analyze aggregates, outbox").execute(&database.owner).await?;
    Ok(())
}
