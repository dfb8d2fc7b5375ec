//! Deliveries that were tried, for people who ask why an event is not there; written by the moves
//! in `outbox`, in the same statement.

use domain::{
    ids::{EventId, TenantId},
    view::EventAttempt,
};
use sqlx::PgConnection;

use crate::error::EngineError;

/// The last deliveries of an event, newest first.
///
/// # Errors
/// The database's.
pub async fn of_event(
    db: &mut PgConnection,
    tenant: TenantId,
    event: EventId,
    max: i64,
) -> Result<Vec<EventAttempt>, EngineError> {
    let attempts = sqlx::query_as!(
        EventAttempt,
        "select at, fence, destination, owner, outcome, error, took_ms from outbox_attempts
         where tenant_id = $1 and event_id = $2 order by id desc limit $3",
        tenant.uuid(),
        event.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(attempts)
}
