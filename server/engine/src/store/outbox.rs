//! The outbox: events written in the transaction of the change, numbered per aggregate under its
//! row's lock (D25, X1).

use sqlx::PgConnection;

use crate::error::EngineError;
use domain::ids::{OperationId, TenantId};

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
