//! What points at an operation from other tables: undos, workflows, events, incidents, requests for
//! a second person. While something does, contents stay and nothing is repeated.

use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// Whether an operation is being undone, or its workflow no longer goes forward: what is about to
/// be taken back must not be brought about by asking (D34).
///
/// # Errors
/// The database's.
pub async fn is_being_undone(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let undone = sqlx::query_scalar!(
        r#"select exists (select from compensations c
             where c.tenant_id = $1 and c.operation_id = $2 and c.status <> 'not_needed')
           or exists (select from operations o
             join workflows w on w.tenant_id = o.tenant_id and w.id = o.workflow_id
             where o.tenant_id = $1 and o.id = $2
               and w.status not in ('running', 'waiting', 'blocked')) as "undone!""#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(undone)
}

/// Whether something still points at an operation, so that its contents stay (O27).
///
/// # Errors
/// The database's.
pub async fn holds(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let held = sqlx::query_scalar!(
        r#"select operation_is_pointed_at(tenant_id, id, workflow_id) as "held!"
           from operations where tenant_id = $1 and id = $2"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(held)
}

/// Whether a tombstone is part of something that stays: an undo's or a correction's record, or
/// whatever keeps contents too (O29).
///
/// # Errors
/// The database's.
pub async fn keeps(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let kept = sqlx::query_scalar!(
        r#"select o.workflow_id is not null or operation_is_pointed_at(o.tenant_id, o.id, o.workflow_id)
             or exists (select from compensations c
               where c.tenant_id = $1 and (c.operation_id = $2 or c.undo_id = $2))
             or exists (select from corrections c where c.tenant_id = $1 and c.operation_id = $2) as "kept!"
           from operations o where o.tenant_id = $1 and o.id = $2"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(kept)
}
