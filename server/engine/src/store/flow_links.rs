//! How operations, workflows and undos belong together, for the pages that lead from one to another.

use domain::{
    ids::{CompensationId, OperationId, TenantId, WorkflowId},
    view::StepCall,
};
use sqlx::PgConnection;

use super::{Target, word, workflow::Address};
use crate::error::EngineError;

/// The workflow and step that an operation was reserved for.
///
/// # Errors
/// The database's.
pub async fn step_of(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<(WorkflowId, String)>, EngineError> {
    let row = sqlx::query!(
        "select workflow_id, step_key from workflow_steps where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (WorkflowId::new(row.workflow_id), row.step_key)))
}

/// What the operations of a workflow's steps came to.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn calls(db: &mut PgConnection, at: Address) -> Result<Vec<StepCall>, EngineError> {
    let rows = sqlx::query!(
        "select s.step_key, o.status, o.attempt, o.needs_manual
         from workflow_steps s join operations o on o.tenant_id = s.tenant_id and o.id = s.operation_id
         where s.tenant_id = $1 and s.workflow_id = $2 order by s.position, s.step_key limit 10000",
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(StepCall {
                step_key: row.step_key,
                status: word(&row.status)?,
                attempt: row.attempt,
                needs_manual: row.needs_manual,
            })
        })
        .collect()
}

/// A workflow and one of its steps.
pub type Step = (WorkflowId, String);

/// What an undo undoes, and the workflow and step that it belongs to, if any.
///
/// # Errors
/// The database's.
pub async fn of_link(
    db: &mut PgConnection,
    tenant: TenantId,
    id: CompensationId,
) -> Result<Option<(OperationId, Option<Step>)>, EngineError> {
    let row = sqlx::query!(
        "select operation_id, workflow_id, step_key from compensations where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| {
        let step = row.workflow_id.map(WorkflowId::new).zip(row.step_key);
        (OperationId::new(row.operation_id), step)
    }))
}
