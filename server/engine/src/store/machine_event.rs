//! The timelines of the machines other than the operation's, written by the database's triggers
//! alone.

use domain::{ids::TenantId, view::MoveView};
use sqlx::PgConnection;
use uuid::Uuid;

use super::person;
use crate::error::EngineError;

/// A record's moves in one machine, oldest first, at most `max`; people by their names.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    machine: &str,
    id: Uuid,
    max: i64,
) -> Result<Vec<MoveView>, EngineError> {
    let rows = sqlx::query!(
        "select at, rule, from_status, to_status, version, actor_kind, actor, detail from machine_events
         where tenant_id = $1 and record_id = $2 and machine = $3 order by id limit $4",
        tenant.uuid(),
        id,
        machine,
        max,
    )
    .fetch_all(&mut *db)
    .await?;
    let mut moves: Vec<_> = rows
        .into_iter()
        .map(|row| MoveView {
            at: row.at,
            rule: row.rule,
            from: row.from_status,
            to: row.to_status,
            version: row.version,
            by_person: row.actor_kind == "staff",
            actor: row.actor,
            detail: row.detail.map(|detail| told(&detail)).unwrap_or_default(),
        })
        .collect();
    let by_people = moves.iter_mut().filter(|step| step.by_person);
    person::name_all(db, by_people.map(|step| &mut step.actor).collect()).await?;
    Ok(moves)
}

/// The members of a move's detail, as text.
#[must_use]
pub fn told(detail: &serde_json::Value) -> Vec<(String, String)> {
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    detail
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| (name.clone(), text(value)))
        .collect()
}
