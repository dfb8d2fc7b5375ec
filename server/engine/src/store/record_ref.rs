//! Records of any kind by their ids: what each is called, where it stands, what is at stake.

use domain::{
    ids::TenantId,
    record::{RecordName, RecordType},
    view::RecordRef,
};
use sqlx::PgConnection;

use super::{row::money, span};
use crate::error::EngineError;

/// These records, each named and linked; one that the tenant does not have is left out.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    wanted: &[RecordName],
) -> Result<Vec<RecordRef>, EngineError> {
    let of = |kind| span::of_kind(wanted, kind);
    let rows = sqlx::query!(
        r#"
        select 'operation' as "record!", id as "id!", id as "page!", operation as "label!", key as "key!",
            status as "status!", amount_minor, currency
          from operations where tenant_id = $1 and id = any($2) and not console
        union all select 'workflow', id, id, kind, key, status, null, null
          from workflows where tenant_id = $1 and id = any($3)
        union all select 'compensation', id, operation_id, kind, operation_id::text, status, amount_minor, currency
          from compensations where tenant_id = $1 and id = any($4)
        union all select 'event', id, id, topic, aggregate || ' #' || seq, status, null, null
          from outbox where tenant_id = $1 and id = any($5)
        union all select 'message', id, id, consumer, message_id, status, null, null
          from inbox where tenant_id = $1 and id = any($6)
        union all select 'conflict', c.id, c.id, o.operation, o.key, 'refused', c.amount_minor, c.currency
          from payload_conflicts c
          join lateral (select operation, key from operations p
            where p.tenant_id = c.tenant_id and p.id = c.operation_id limit 1) o on true
          where c.tenant_id = $1 and c.id = any($7)
        union all select 'approval', id, id, verb || ' of ' || target_type, target_id, status, amount_minor, currency
          from approvals where tenant_id = $1 and id = any($8)
        "#,
        tenant.uuid(),
        &of(RecordType::Operation),
        &of(RecordType::Workflow),
        &of(RecordType::Compensation),
        &of(RecordType::Event),
        &of(RecordType::Message),
        &of(RecordType::Conflict),
        &of(RecordType::Approval),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .filter_map(|row| {
            Some(RecordRef {
                record: row.record.parse().ok()?,
                id: row.id.to_string(),
                page_id: row.page.to_string(),
                label: row.label,
                key: row.key,
                status: row.status,
                amount: money(row.amount_minor, row.currency),
            })
        })
        .collect())
}
