//! The bodies of workflows: their input, and the artifacts of their steps. They go when the workflow
//! is over and the contents of its last operation have gone (D39).

use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// After an operation became a tombstone: empties its workflow where it was the last.
///
/// # Errors
/// The database's.
pub async fn empty_after(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    // The workflow's row is locked before its operations are looked at: of two that bury the last two
    // at once, the later sees both gone.
    let workflow = sqlx::query_scalar!(
        "select w.id from workflows w
         join operations o on o.tenant_id = w.tenant_id and o.workflow_id = w.id
         where o.tenant_id = $1 and o.id = $2 and w.completed_at is not null
         for update of w",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(&mut *db)
    .await?;
    let Some(workflow) = workflow else { return Ok(()) };
    let left = sqlx::query_scalar!(
        r#"select exists (select from operations
           where tenant_id = $1 and workflow_id = $2 and tombstoned_at is null) as "left!""#,
        target.tenant.uuid(),
        workflow,
    )
    .fetch_one(&mut *db)
    .await?;
    if left {
        return Ok(());
    }
    sqlx::query!(
        "update workflow_artifacts set body = null
         where tenant_id = $1 and workflow_id = $2 and body is not null",
        target.tenant.uuid(),
        workflow,
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "update workflows set input = null where tenant_id = $1 and id = $2 and input is not null",
        target.tenant.uuid(),
        workflow,
    )
    .execute(&mut *db)
    .await?;
    Ok(())
}
