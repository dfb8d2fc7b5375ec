//! The rows of a page, by their ids.

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    lease::{LeaseState, LeaseView},
    view::OperationRow,
};
use sqlx::PgConnection;

use crate::{
    error::EngineError,
    store::{row::money, word},
};

/// The rows of these ids, newest first. Flags come from lateral joins with a limit: an `exists`
/// would be hashed over the whole table.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[OperationId],
    now: DateTime<Utc>,
) -> Result<Vec<OperationRow>, EngineError> {
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"
        select o.id, o.operation, o.key, o.status, o.tombstoned_at, o.version, o.fence, o.attempt,
          o.amount_minor, o.currency, o.external_reference, o.needs_manual, o.created_at, o.updated_at,
          l.owner as "owner?", l.granted_at as "granted_at?", l.beat_at as "beat_at?",
          l.lease_until as "lease_until?", t.name as "taken_by?",
          c.yes is not null as "conflict!", i.yes is not null as "incident!"
        from operations o
        left join leases l on l.tenant_id = o.tenant_id and l.operation_id = o.id
        left join operation_takes t on t.tenant_id = o.tenant_id and t.operation_id = o.id
        left join lateral (select true as yes from payload_conflicts c
          where c.tenant_id = o.tenant_id and c.operation_id = o.id limit 1) c on true
        left join lateral (select true as yes from incidents i
          where i.tenant_id = o.tenant_id and i.operation_id = o.id and i.closed_at is null limit 1) i on true
        where o.tenant_id = $1 and o.id = any($2) and not o.console
        order by o.id desc
        "#,
        tenant.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let state = match row.lease_until {
                None => LeaseState::None,
                Some(until) if until >= now => LeaseState::Live,
                Some(_) => LeaseState::Stale,
            };
            Ok(OperationRow {
                id: OperationId::new(row.id),
                operation: row.operation,
                key: row.key,
                status: word(&row.status)?,
                tombstoned: row.tombstoned_at.is_some(),
                version: row.version,
                attempt: row.attempt,
                lease: LeaseView {
                    owner: row.owner,
                    fence: row.fence,
                    granted_at: row.granted_at,
                    beat_at: row.beat_at,
                    lease_until: row.lease_until,
                    state,
                },
                amount: money(row.amount_minor, row.currency),
                external_reference: row.external_reference,
                needs_manual: row.needs_manual,
                conflict: row.conflict,
                open_incident: row.incident,
                taken_by: row.taken_by,
                created_at: row.created_at,
                updated_at: row.updated_at,
            })
        })
        .collect()
}
