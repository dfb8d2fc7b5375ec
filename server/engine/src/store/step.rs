//! A workflow's steps: explicit keys, and the one statement that moves a row (D30).

use chrono::{DateTime, Utc};
use domain::{ids::OperationId, machine::Machine as _, workflow::StepState};
use sqlx::PgConnection;

use super::{Target, word, workflow::Address};
use crate::{actor::Actor, error::EngineError};

/// One step.
#[derive(Clone, Debug)]
pub struct Step {
    /// Its workflow.
    pub at: Address,
    /// Its key.
    pub key: String,
    /// Where lists show it.
    pub position: i32,
    /// The steps that must be over first.
    pub after: Vec<String>,
    /// Where it stands.
    pub status: StepState,
    /// Moves with all that a person can see.
    pub version: i64,
    /// The kind of its operation; `None` for a decision.
    pub operation: Option<String>,
    /// Its operation, once started.
    pub operation_id: Option<OperationId>,
    /// Hash of the input that it was started with.
    pub input_hash: Option<Vec<u8>>,
    /// When it was started.
    pub started_at: Option<DateTime<Utc>>,
    /// When it was over.
    pub completed_at: Option<DateTime<Utc>>,
    /// Its place in the order of completion, which an undo reverses (D35).
    pub completed_seq: Option<i64>,
}

/// What a new step is made of.
pub struct NewStep<'a> {
    /// Its key.
    pub key: &'a str,
    /// Where lists show it.
    pub position: i32,
    /// The steps that must be over first.
    pub after: &'a [String],
    /// The kind of its operation.
    pub operation: Option<&'a str>,
}

/// Writes a step that waits for its predecessors (S0).
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    at: Address,
    new: &NewStep<'_>,
    actor: &Actor,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into workflow_steps
           (tenant_id, workflow_id, step_key, position, after, status, operation, move, move_actor_kind, move_actor)
         values ($1, $2, $3, $4, $5, 'pending', $6, 'S0', $7, $8)",
        at.tenant.uuid(),
        at.id.uuid(),
        new.key,
        new.position,
        new.after,
        new.operation,
        actor.kind,
        actor.name,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The steps of a workflow as a definition lists them.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn of(db: &mut PgConnection, at: Address) -> Result<Vec<Step>, EngineError> {
    let rows = sqlx::query!(
        "select step_key, position, after, status, version, operation, operation_id, input_hash, started_at,
           completed_at, completed_seq
         from workflow_steps where tenant_id = $1 and workflow_id = $2 order by position limit 1000",
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Step {
                at,
                key: row.step_key,
                position: row.position,
                after: row.after,
                status: word(&row.status)?,
                version: row.version,
                operation: row.operation,
                operation_id: row.operation_id.map(OperationId::new),
                input_hash: row.input_hash,
                started_at: row.started_at,
                completed_at: row.completed_at,
                completed_seq: row.completed_seq,
            })
        })
        .collect()
}

/// One step. Its workflow's row must be locked where it is to be moved.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    at: Address,
    key: &str,
) -> Result<Option<Step>, EngineError> {
    Ok(of(db, at).await?.into_iter().find(|step| step.key == key))
}

/// The operations of running steps of a workflow that has a failed one, or (`all`) of any: what
/// must be locked before the workflow is, where it is about to be undone.
///
/// # Errors
/// The database's.
pub async fn open_operations(
    db: &mut PgConnection,
    at: Address,
    all: bool,
) -> Result<Vec<Target>, EngineError> {
    let ids = sqlx::query_scalar!(
        r#"select s.operation_id as "id!" from workflow_steps s
           where s.tenant_id = $1 and s.workflow_id = $2 and s.status in ('running', 'waiting_retry')
             and s.operation_id is not null
             and ($3 or exists (select from workflow_steps f
               where f.tenant_id = $1 and f.workflow_id = $2 and f.status = 'failed'))
           order by s.operation_id limit 1000"#,
        at.tenant.uuid(),
        at.id.uuid(),
        all,
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(|id| Target { tenant: at.tenant, id: OperationId::new(id) }).collect())
}

/// What a move changes besides the status; what is left `None` stays as it is.
#[derive(Default)]
pub struct Change<'a> {
    /// Its operation.
    pub operation_id: Option<OperationId>,
    /// Hash of its input.
    pub input_hash: Option<&'a [u8]>,
    /// What the timeline keeps of it.
    pub detail: Option<serde_json::Value>,
}

/// Moves a step on by one rule, status and version compared. The workflow's row must be locked: the
/// order of completion is counted here.
///
/// # Errors
/// [`EngineError::Unreadable`] for a move that is not in the table, which is a fault of ours.
pub async fn advance(
    db: &mut PgConnection,
    step: &mut Step,
    rule: &'static str,
    to: StepState,
    actor: &Actor,
    change: Change<'_>,
) -> Result<(), EngineError> {
    if !StepState::permits(rule, Some(step.status), to) {
        return Err(EngineError::Unreadable(format!("{rule} from {} to {to}", step.status)));
    }
    let moved = sqlx::query!(
        "update workflow_steps set status = $6, version = version + 1,
           operation_id = coalesce($7, operation_id), input_hash = coalesce($8, input_hash),
           started_at = case when $9 = 'S1' then onceover_now() else started_at end,
           completed_at = case when $10 then onceover_now() end,
           completed_seq = case when $6 = 'succeeded' then
             (select coalesce(max(s.completed_seq), 0) + 1 from workflow_steps s
              where s.tenant_id = $1 and s.workflow_id = $2) end,
           move = $9, move_actor_kind = $11, move_actor = $12, move_detail = $13
         where tenant_id = $1 and workflow_id = $2 and step_key = $3 and status = $4 and version = $5
         returning version, started_at, completed_at, completed_seq",
        step.at.tenant.uuid(),
        step.at.id.uuid(),
        step.key,
        step.status.as_str(),
        step.version,
        to.as_str(),
        change.operation_id.map(OperationId::uuid),
        change.input_hash,
        rule,
        to.is_final(),
        actor.kind,
        actor.name,
        change.detail,
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(|| EngineError::Unreadable(format!("step {} moved on unseen", step.key)))?;
    step.status = to;
    step.version = moved.version;
    step.operation_id = change.operation_id.or(step.operation_id);
    if let Some(hash) = change.input_hash {
        step.input_hash = Some(hash.to_vec());
    }
    step.started_at = moved.started_at;
    step.completed_at = moved.completed_at;
    step.completed_seq = moved.completed_seq;
    Ok(())
}
