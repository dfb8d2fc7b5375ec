//! What a page shows of one operation beyond its list row.

use chrono::{DateTime, Utc};
use domain::{
    ids::OperationId,
    money::Money,
    operation::{Event, Status},
};
use serde::Serialize;
use sqlx::PgConnection;

use super::{Target, word};
use crate::error::EngineError;

/// The columns of the detail page.
#[derive(Clone, Debug)]
pub struct Detail {
    /// `inline` or `queued`.
    pub mode: String,
    /// Calls allowed.
    pub max_attempts: i32,
    /// Claims without a start.
    pub claims: i32,
    /// Leases lost during a call.
    pub takeovers: i32,
    /// Questions asked.
    pub reconcile_tries: i32,
    /// When reconciliation asks next.
    pub next_reconcile_at: Option<DateTime<Utc>>,
    /// When it may be tried again.
    pub next_at: Option<DateTime<Utc>>,
    /// When the last call began.
    pub started_at: Option<DateTime<Utc>>,
    /// When a request last left, as a call or as a question (D13).
    pub last_sent_at: Option<DateTime<Utc>>,
    /// When it became final.
    pub completed_at: Option<DateTime<Utc>>,
    /// From when it may become a tombstone.
    pub expires_at: Option<DateTime<Utc>>,
    /// When its contents were removed.
    pub tombstoned_at: Option<DateTime<Utc>>,
    /// The rule that made it unknown.
    pub unknown_by: Option<Event>,
    /// The rule that ended it.
    pub ended_by: Option<Event>,
    /// The first bytes of the payload.
    pub payload: Option<Vec<u8>>,
    /// All of its bytes.
    pub payload_bytes: Option<i32>,
    /// HTTP status of the stored answer.
    pub response_status: Option<i32>,
    /// Its media type.
    pub response_type: Option<String>,
    /// The first bytes of its body.
    pub response_body: Option<Vec<u8>>,
    /// All of its bytes.
    pub response_bytes: Option<i32>,
    /// Whether the stored answer was cut.
    pub response_cut: bool,
    /// The key of the workflow that made it.
    pub workflow_key: Option<String>,
}

/// Reads the detail columns; of the payload all that a kind allows, for it is masked as a whole, of
/// the answer the first `max_bytes`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    target: Target,
    max_bytes: i32,
) -> Result<Option<Detail>, EngineError> {
    let row = sqlx::query!(
        r#"select mode, max_attempts, claims, takeovers, reconcile_tries, next_reconcile_at, next_at, started_at,
           greatest(started_at, resent_at) as last_sent_at,
           completed_at, expires_at, tombstoned_at, unknown_by, ended_by, payload,
           octet_length(payload) as payload_bytes, response_status, response_type,
           substring(response_body from 1 for $3) as response_body, octet_length(response_body) as response_bytes,
           response_cut,
           (select w.key from workflows w
             where w.tenant_id = operations.tenant_id and w.id = operations.workflow_id) as "workflow_key?"
         from operations where tenant_id = $1 and id = $2 and not console"#,
        target.tenant.uuid(),
        target.id.uuid(),
        max_bytes,
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Detail {
        mode: row.mode,
        max_attempts: row.max_attempts,
        claims: row.claims,
        takeovers: row.takeovers,
        reconcile_tries: row.reconcile_tries,
        next_reconcile_at: row.next_reconcile_at,
        next_at: row.next_at,
        started_at: row.started_at,
        last_sent_at: row.last_sent_at,
        completed_at: row.completed_at,
        expires_at: row.expires_at,
        tombstoned_at: row.tombstoned_at,
        unknown_by: row.unknown_by.as_deref().map(word).transpose()?,
        ended_by: row.ended_by.as_deref().map(word).transpose()?,
        payload: row.payload,
        payload_bytes: row.payload_bytes,
        response_status: row.response_status,
        response_type: row.response_type,
        response_body: row.response_body,
        response_bytes: row.response_bytes,
        response_cut: row.response_cut,
        workflow_key: row.workflow_key,
    }))
}

/// An operation without its contents.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceView {
    /// Its id.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The client's key.
    pub key: String,
    /// Where it stands.
    pub status: Status,
    /// Moves with all that a person can see.
    pub version: i64,
    /// Calls begun.
    pub attempt: i32,
    /// Whether a person must decide.
    pub needs_manual: bool,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Amount at stake.
    #[serde(flatten)]
    pub amount: Option<Money>,
    /// When it was reserved.
    pub created_at: DateTime<Utc>,
    /// When it last moved.
    pub updated_at: DateTime<Utc>,
    /// When it became final.
    pub completed_at: Option<DateTime<Utc>>,
    /// When its contents were removed.
    pub tombstoned_at: Option<DateTime<Utc>>,
}

/// What a service sees of its operation.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn for_service(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<ServiceView>, EngineError> {
    let row = sqlx::query!(
        "select operation, key, status, version, attempt, needs_manual, external_reference, amount_minor, currency,
           created_at, updated_at, completed_at, tombstoned_at
         from operations where tenant_id = $1 and id = $2 and not console",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(ServiceView {
        id: target.id,
        operation: row.operation,
        key: row.key,
        status: word(&row.status)?,
        version: row.version,
        attempt: row.attempt,
        needs_manual: row.needs_manual,
        external_reference: row.external_reference,
        amount: super::row::money(row.amount_minor, row.currency),
        created_at: row.created_at,
        updated_at: row.updated_at,
        completed_at: row.completed_at,
        tombstoned_at: row.tombstoned_at,
    }))
}
