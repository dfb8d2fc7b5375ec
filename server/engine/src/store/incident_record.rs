//! Records that people gathered into an incident.

use chrono::{DateTime, Utc};
use domain::{
    ids::{IncidentId, TenantId},
    record::{RecordName, RecordType},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::word;
use crate::error::EngineError;

/// A gathered record.
#[derive(Clone, Debug)]
pub struct Gathered {
    /// Which.
    pub name: RecordName,
    /// Who gathered it.
    pub by: String,
    /// When.
    pub at: DateTime<Utc>,
}

/// Names as two arrays, for one statement.
fn columns(names: &[RecordName]) -> (Vec<String>, Vec<Uuid>) {
    names.iter().map(|name| (name.record.target().as_str().to_owned(), name.id)).unzip()
}

/// The record that a row names.
pub(super) fn name(target_type: &str, id: Uuid) -> Result<RecordName, EngineError> {
    let record = RecordType::of_target(word(target_type)?)
        .ok_or_else(|| EngineError::Unreadable(target_type.to_owned()))?;
    Ok(RecordName::new(record, id))
}

/// Gathers records; how many were not there before.
///
/// # Errors
/// The database's.
pub async fn add(
    db: &mut PgConnection,
    tenant: TenantId,
    incident: IncidentId,
    names: &[RecordName],
    by: &str,
) -> Result<u64, EngineError> {
    let (types, ids) = columns(names);
    let done = sqlx::query!(
        "insert into incident_records (tenant_id, incident_id, target_type, target_id, added_by)
         select $1, $2, r.target_type, r.target_id, $5
         from unnest($3::text[], $4::uuid[]) with ordinality as r(target_type, target_id, place) order by r.place
         on conflict (tenant_id, incident_id, target_type, target_id) do nothing",
        tenant.uuid(),
        incident.uuid(),
        &types,
        &ids,
        by,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// Takes records out again; how many were there.
///
/// # Errors
/// The database's.
pub async fn remove(
    db: &mut PgConnection,
    tenant: TenantId,
    incident: IncidentId,
    names: &[RecordName],
) -> Result<u64, EngineError> {
    let (types, ids) = columns(names);
    let done = sqlx::query!(
        "delete from incident_records i using unnest($3::text[], $4::uuid[]) as r(target_type, target_id)
         where i.tenant_id = $1 and i.incident_id = $2 and i.target_type = r.target_type
           and i.target_id = r.target_id",
        tenant.uuid(),
        incident.uuid(),
        &types,
        &ids,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected())
}

/// What was gathered into an incident, in order, at most `max`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    incident: IncidentId,
    max: i64,
) -> Result<Vec<Gathered>, EngineError> {
    let rows = sqlx::query!(
        "select target_type, target_id, added_by, added_at from incident_records
         where tenant_id = $1 and incident_id = $2 order by place limit $3",
        tenant.uuid(),
        incident.uuid(),
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let name = name(&row.target_type, row.target_id)?;
            Ok(Gathered { name, by: row.added_by, at: row.added_at })
        })
        .collect()
}

/// The first records of each of these incidents, in order, at most `max` of one.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn first_of(
    db: &mut PgConnection,
    tenant: TenantId,
    incidents: &[Uuid],
    max: i64,
) -> Result<Vec<(Uuid, RecordName)>, EngineError> {
    let rows = sqlx::query!(
        r#"select f.id as "incident!", r.target_type, r.target_id
           from unnest($2::uuid[]) as f(id) cross join lateral
             (select target_type, target_id, place from incident_records p
               where p.tenant_id = $1 and p.incident_id = f.id order by p.place limit $3) r
           order by f.id, r.place"#,
        tenant.uuid(),
        incidents,
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(|row| Ok((row.incident, name(&row.target_type, row.target_id)?))).collect()
}
