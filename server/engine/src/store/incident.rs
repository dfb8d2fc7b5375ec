//! Incidents: problems that stay open until a person closes them; one open per operation and
//! cause.

use domain::{ids::IncidentId, view::IncidentView};
use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// Opens an incident, or leaves the one that is open for the same cause.
///
/// # Errors
/// The database's.
pub async fn open(
    db: &mut PgConnection,
    target: Target,
    cause: &str,
    summary: &str,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into incidents (tenant_id, operation_id, cause, summary) values ($1, $2, $3, $4)
         on conflict (tenant_id, operation_id, cause) where closed_at is null do nothing",
        target.tenant.uuid(),
        target.id.uuid(),
        cause,
        summary,
    )
    .execute(db)
    .await?;
    Ok(())
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

/// An operation's incidents, oldest first.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<IncidentView>, EngineError> {
    let rows = sqlx::query!(
        "select id, cause, summary, opened_at, closed_at from incidents
         where tenant_id = $1 and operation_id = $2 order by opened_at, id limit 100",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| IncidentView {
            id: IncidentId::new(row.id),
            cause: row.cause,
            summary: row.summary,
            opened_at: row.opened_at,
            closed_at: row.closed_at,
        })
        .collect())
}
