//! What the first page shows of the way out, of providers and of the database. What waits is counted up to a
//! bound.

use domain::{
    ids::TenantId,
    view::{ProviderHealth, PublisherHealth, TransactionView},
};
use sqlx::PgConnection;

use crate::error::EngineError;

/// The tenant's events that are to be told, counted up to `max`.
///
/// # Errors
/// The database's.
pub async fn publisher(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<PublisherHealth, EngineError> {
    let row = sqlx::query!(
        r#"select count(*) as "waiting!", min(created_at) as oldest_at from (
             select created_at from outbox
             where tenant_id = $1 and status = 'pending' order by id limit $2) w"#,
        tenant.uuid(),
        max + 1,
    )
    .fetch_one(db)
    .await?;
    Ok(PublisherHealth {
        waiting: row.waiting.min(max),
        more: row.waiting > max,
        oldest_at: row.oldest_at,
    })
}

/// What each provider leaves open among the tenant's newest `max` records of a state: outcomes that it was
/// asked about without an end, and calls that are made again. When it last gave its word is looked for
/// among the newest operations of those kinds.
///
/// # Errors
/// The database's.
pub async fn providers(
    db: &mut PgConnection,
    tenant: TenantId,
    max: i64,
) -> Result<Vec<ProviderHealth>, EngineError> {
    let providers = sqlx::query_as!(
        ProviderHealth,
        r#"select t.provider as "provider!", t.unanswered as "unanswered!", t.put_off as "put_off!", t.since as "since!",
             a.at as "answered_at?"
           from (
             select k.provider, array_agg(distinct k.name) as kinds, min(f.since) as since,
               count(*) filter (where f.status = 'unknown') as unanswered,
               count(*) filter (where f.status <> 'unknown') as put_off
             from (
               select u.operation, u.status, u.unknown_since as since from (
                 select o.operation, o.status, o.unknown_since, o.needs_manual, o.reconcile_tries + o.resends as tries
                 from operations o
                 where o.tenant_id = $1 and o.status = 'unknown' and not o.console order by o.id desc limit $2) u
               where not u.needs_manual and u.tries > 0
               union all
               select r.operation, r.status, r.updated_at from (
                 select o.operation, o.status, o.updated_at from operations o
                 where o.tenant_id = $1 and o.status = 'failed_retryable' and not o.console
                 order by o.id desc limit $2) r) f
             join operation_kinds k on k.tenant_id = $1 and k.name = f.operation
             where k.provider is not null
             group by k.provider order by min(f.since) limit 20) t
           left join lateral (
             select max(n.completed_at) as at
             from unnest(t.kinds) as kind (name)
             cross join lateral (select o.completed_at, o.ended_by from operations o
               where o.tenant_id = $1 and o.operation = kind.name and not o.console
               order by o.id desc limit 50) n
             where n.ended_by in ('O6', 'O7', 'O16', 'O17')) a on true
           order by t.since"#,
        tenant.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(providers)
}

/// The oldest transaction that is open in the database besides this one, and how many sessions could
/// not be looked at.
///
/// # Errors
/// The database's.
pub async fn oldest_transaction(
    db: &mut PgConnection,
) -> Result<(Option<TransactionView>, i64), EngineError> {
    let row = sqlx::query!(
        r#"select age_ms, state, application, hidden as "hidden!" from onceover_oldest_transaction()"#
    )
    .fetch_one(db)
    .await?;
    let oldest = row.age_ms.map(|age_ms| TransactionView {
        age_ms,
        state: row.state.unwrap_or_default(),
        application: row.application.unwrap_or_default(),
    });
    Ok((oldest, row.hidden))
}
