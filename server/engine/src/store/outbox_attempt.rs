//! Deliveries that were tried, for people who ask why an event is not there; written by the moves
//! in `outbox`, in the same statement.

use chrono::{DateTime, Utc};
use domain::ids::{EventId, TenantId};
use sqlx::PgConnection;

use crate::error::EngineError;

/// One delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attempt {
    /// When it ended.
    pub at: DateTime<Utc>,
    /// The fence that its publisher held.
    pub fence: i64,
    /// Where to.
    pub destination: Option<String>,
    /// Which publisher.
    pub owner: String,
    /// `published`, `duplicate`, `refused`, `transport_down` or `lease_lost`.
    pub outcome: String,
    /// What the destination or the network said.
    pub error: Option<String>,
    /// How long it took.
    pub took_ms: Option<i32>,
}

/// The last deliveries of an event, newest first.
///
/// # Errors
/// The database's.
pub async fn of_event(
    db: &mut PgConnection,
    tenant: TenantId,
    event: EventId,
    max: i64,
) -> Result<Vec<Attempt>, EngineError> {
    let attempts = sqlx::query_as!(
        Attempt,
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
