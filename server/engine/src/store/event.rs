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
    let rows = sqlx::query_as!(
        Row,
        "select id, at, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail
         from operation_events where tenant_id = $1 and operation_id = $2 order by id limit $3",
        target.tenant.uuid(),
        target.id.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Row::moved).collect()
}

/// When each move of an operation was, oldest first: the last `max`.
///
/// # Errors
/// The database's.
pub async fn instants(
    db: &mut PgConnection,
    target: Target,
    max: i64,
) -> Result<Vec<(i64, DateTime<Utc>)>, EngineError> {
    let rows = sqlx::query!(
        "select id, at from operation_events where tenant_id = $1 and operation_id = $2 order by id desc limit $3",
        target.tenant.uuid(),
        target.id.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    Ok(rows.into_iter().rev().map(|row| (row.id, row.at)).collect())
}

/// These moves of an operation, oldest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn these(
    db: &mut PgConnection,
    target: Target,
    ids: &[i64],
) -> Result<Vec<Moved>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        "select id, at, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail
         from operation_events where tenant_id = $1 and operation_id = $2 and id = any($3) order by id",
        target.tenant.uuid(),
        target.id.uuid(),
        ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Row::moved).collect()
}

/// An operation's last moves after an instant, oldest first, at most `max`; further back than its last
/// thousand none is looked for.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn since(
    db: &mut PgConnection,
    target: Target,
    after: DateTime<Utc>,
    max: i64,
) -> Result<Vec<Moved>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select id as "id!", at as "at!", move as "move!", from_status, to_status as "to_status!",
             version as "version!", fence as "fence!", attempt as "attempt!", actor_kind as "actor_kind!",
             actor as "actor!", detail
           from (select id, at, move, from_status, to_status, version, fence, attempt, actor_kind, actor, detail
             from operation_events where tenant_id = $1 and operation_id = $2 order by id desc limit 1000) last
           where at > $3 order by id desc limit $4"#,
        target.tenant.uuid(),
        target.id.uuid(),
        after,
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().rev().map(Row::moved).collect()
}

struct Row {
    id: i64,
    at: DateTime<Utc>,
    r#move: String,
    from_status: Option<String>,
    to_status: String,
    version: i64,
    fence: i64,
    attempt: i32,
    actor_kind: String,
    actor: String,
    detail: Option<serde_json::Value>,
}

impl Row {
    fn moved(self) -> Result<Moved, EngineError> {
        Ok(Moved {
            id: self.id,
            at: self.at,
            event: word(&self.r#move)?,
            from: self.from_status.as_deref().map(word).transpose()?,
            to: word(&self.to_status)?,
            version: self.version,
            fence: self.fence,
            attempt: self.attempt,
            actor_kind: self.actor_kind,
            actor: self.actor,
            detail: self.detail,
        })
    }
}

/// What the provider's last answer to a question said, where it was asked.
///
/// # Errors
/// The database's.
pub async fn last_answer(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<String>, EngineError> {
    let says = sqlx::query_scalar!(
        "select detail #>> '{answer,says}' from operation_events
         where tenant_id = $1 and operation_id = $2 and detail #>> '{answer,says}' is not null
         order by id desc limit 1",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(says.flatten())
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
