//! Incidents: problems that stay open until a person closes them; one open per cause and per what
//! it is about.

use domain::{
    ids::{IncidentId, OperationId, TenantId},
    view::IncidentView,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::Target;
use crate::error::EngineError;

/// The cause of an incident that a person opened.
pub const OPENED_BY_PERSON: &str = "opened_by_person";

/// What an incident of the engine is about: at least one of these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The operation.
    pub operation: Option<OperationId>,
    /// The workflow.
    pub workflow: Option<Uuid>,
    /// The compensation link.
    pub compensation: Option<Uuid>,
    /// The outbox event.
    pub event: Option<Uuid>,
    /// The inbox message.
    pub message: Option<Uuid>,
}

impl Subject {
    /// What the incident is filed under: the database's column `subject`, in the same order.
    #[must_use]
    pub fn id(&self) -> Option<Uuid> {
        self.operation
            .map(OperationId::uuid)
            .or(self.compensation)
            .or(self.workflow)
            .or(self.event)
            .or(self.message)
    }
}

/// Opens an incident; `None` where one is open for the same cause.
///
/// # Errors
/// The database's.
pub async fn open(
    db: &mut PgConnection,
    tenant: TenantId,
    about: Subject,
    cause: &str,
    summary: &str,
) -> Result<Option<IncidentId>, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into incidents
           (tenant_id, operation_id, workflow_id, compensation_id, event_id, message_id, cause, summary)
         values ($1, $2, $3, $4, $5, $6, $7, $8)
         on conflict (tenant_id, subject, cause) where closed_at is null do nothing
         returning id",
        tenant.uuid(),
        about.operation.map(OperationId::uuid),
        about.workflow,
        about.compensation,
        about.event,
        about.message,
        cause,
        summary,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(IncidentId::new))
}

/// Opens an incident that a person asks for, under the id that the form carried; `false` where the
/// tenant has one of that id.
///
/// # Errors
/// The database's.
pub async fn open_by_person(
    db: &mut PgConnection,
    tenant: TenantId,
    id: IncidentId,
    summary: &str,
    by: &str,
    reason: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into incidents (tenant_id, id, cause, summary, opened_by, opened_reason)
         values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id, id) do nothing",
        tenant.uuid(),
        id.uuid(),
        OPENED_BY_PERSON,
        summary,
        by,
        reason,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Moves an open incident's version, because of what is gathered into it; `false` where it is closed
/// or has another version.
///
/// # Errors
/// The database's.
pub async fn touch(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    version: i64,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update incidents set version = version + 1
         where tenant_id = $1 and id = $2 and version = $3 and closed_at is null",
        tenant.uuid(),
        id,
        version,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Closes an incident at its version; `false` where it is closed or has another.
///
/// # Errors
/// The database's.
pub async fn close(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    version: i64,
    by: &str,
    reason: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update incidents set closed_at = onceover_now(), closed_by = $4, reason = $5, version = version + 1
         where tenant_id = $1 and id = $2 and version = $3 and closed_at is null",
        tenant.uuid(),
        id,
        version,
        by,
        reason,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Whether any incident about an operation is open.
///
/// # Errors
/// The database's.
pub async fn any_open(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let open = sqlx::query_scalar!(
        r#"select exists (select from incidents
           where tenant_id = $1 and operation_id = $2 and closed_at is null) as "open!""#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(open)
}

/// An operation's incidents, oldest first: those about it, and those that it was gathered into.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<IncidentView>, EngineError> {
    let rows = sqlx::query!(
        "select id, version, cause, summary, opened_at, closed_at, closed_by, reason from incidents
         where tenant_id = $1 and id in (
           (select id from incidents where tenant_id = $1 and operation_id = $2 limit 100)
           union
           (select incident_id from incident_records
             where tenant_id = $1 and target_type = 'operation' and target_id = $2 limit 100))
         order by opened_at, id limit 100",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| IncidentView {
            id: IncidentId::new(row.id),
            version: row.version,
            cause: row.cause,
            summary: row.summary,
            opened_at: row.opened_at,
            closed_at: row.closed_at,
            closed_by: row.closed_by,
            reason: row.reason,
        })
        .collect())
}

/// Removes an operation's incidents with its row (O29); the database keeps an open one.
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from incidents where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
