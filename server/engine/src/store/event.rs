//! The timeline that the database's trigger writes: read only.

use chrono::{DateTime, Utc};
use domain::operation::{Event, Status};
use sqlx::PgConnection;

use super::{Target, word};
use crate::error::EngineError;

/// One move.
#[derive(Clone, Debug)]
pub struct Moved {
    /// Its number.
    pub id: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// The rule.
    pub event: Event,
    /// The state before.
    pub from: Option<Status>,
    /// The state after.
    pub to: Status,
    /// The version after.
    pub version: i64,
    /// The fence after.
    pub fence: i64,
    /// The attempt it belongs to.
    pub attempt: i32,
    /// Who, by kind.
    pub actor_kind: String,
    /// Who.
    pub actor: String,
    /// What it carried.
    pub detail: Option<serde_json::Value>,
}

/// An operation's moves, oldest first, at most `max`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn of(
    db: &mut PgConnection,
    target: Target,
    max: i64,
) -> Result<Vec<Moved>, EngineError> {
    let rows = sqlx::query!(
        "select id, at, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail
         from operation_events where tenant_id = $1 and operation_id = $2 order by id limit $3",
        target.tenant.uuid(),
        target.id.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Moved {
                id: row.id,
                at: row.at,
                event: word(&row.r#move)?,
                from: row.from_status.as_deref().map(word).transpose()?,
                to: word(&row.to_status)?,
                version: row.version,
                fence: row.fence,
                attempt: row.attempt,
                actor_kind: row.actor_kind,
                actor: row.actor,
                detail: row.detail,
            })
        })
        .collect()
}

/// How a call ended under a fence, where it did: to which state and version, and what its owner
/// said, so that the same words again get the same answer.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn finished_under(
    db: &mut PgConnection,
    target: Target,
    fence: i64,
) -> Result<Option<(Status, i64, serde_json::Value)>, EngineError> {
    let row = sqlx::query!(
        "select to_status, version, detail from operation_events
         where tenant_id = $1 and operation_id = $2 and from_status = 'executing'
           and move in ('O6', 'O7', 'O8', 'O9', 'O10', 'OE') and (detail ->> 'fence')::bigint = $3
         order by id desc limit 1",
        target.tenant.uuid(),
        target.id.uuid(),
        fence,
    )
    .fetch_optional(db)
    .await?;
    row.map(|row| Ok((word(&row.to_status)?, row.version, row.detail.unwrap_or_default())))
        .transpose()
}

/// Whether *it did not happen* ever rested on a person's word or a kind's statement (O22, O34): no
/// later answer proves what became of that earlier call.
///
/// # Errors
/// The database's.
pub async fn was_guessed(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let guessed = sqlx::query_scalar!(
        r#"select exists (select from operation_events
           where tenant_id = $1 and operation_id = $2 and move in ('O22', 'O34')) as "guessed!""#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(guessed)
}

/// Whether a person ever said that it did not happen (O22): evidence of Done later contradicts that
/// person, not a provider's answer.
///
/// # Errors
/// The database's.
pub async fn was_denied(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let denied = sqlx::query_scalar!(
        r#"select exists (select from operation_events
           where tenant_id = $1 and operation_id = $2 and move = 'O22') as "denied!""#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(denied)
}
