//! The timelines of the machines other than the operation's, written by the database's triggers
//! alone.

use chrono::{DateTime, Utc};
use domain::{ids::TenantId, view::MoveView};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{newest, one_over, person};
use crate::error::EngineError;

/// A record's newest moves in one machine, oldest first, at most `max`, and whether there are older ones;
/// people by their names.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    machine: &str,
    id: Uuid,
    max: usize,
) -> Result<(Vec<MoveView>, bool), EngineError> {
    let rows = sqlx::query_as!(
        Row,
        "select at, rule, from_status, to_status, version, actor_kind, actor, detail from machine_events
         where tenant_id = $1 and record_id = $2 and machine = $3 order by id desc limit $4",
        tenant.uuid(),
        id,
        machine,
        one_over(max),
    )
    .fetch_all(&mut *db)
    .await?;
    let (moves, older) = newest(rows.into_iter().map(Row::view).collect(), max);
    Ok((named(db, moves).await?, older))
}

/// A record's last moves in one machine after an instant, oldest first, at most `max`; further back than
/// its last thousand none is looked for.
///
/// # Errors
/// The database's.
pub async fn since(
    db: &mut PgConnection,
    tenant: TenantId,
    (machine, id): (&str, Uuid),
    after: DateTime<Utc>,
    max: i64,
) -> Result<Vec<MoveView>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select at as "at!", rule as "rule!", from_status, to_status as "to_status!", version as "version!",
             actor_kind as "actor_kind!", actor as "actor!", detail
           from (select id, at, rule, from_status, to_status, version, actor_kind, actor, detail, machine
             from machine_events where tenant_id = $1 and record_id = $2 order by id desc limit 1000) last
           where at > $4 and machine = $3 order by id desc limit $5"#,
        tenant.uuid(),
        id,
        machine,
        after,
        max,
    )
    .fetch_all(&mut *db)
    .await?;
    named(db, rows.into_iter().rev().map(Row::view).collect()).await
}

struct Row {
    at: DateTime<Utc>,
    rule: String,
    from_status: Option<String>,
    to_status: String,
    version: i64,
    actor_kind: String,
    actor: String,
    detail: Option<serde_json::Value>,
}

impl Row {
    fn view(self) -> MoveView {
        MoveView {
            at: self.at,
            rule: self.rule,
            from: self.from_status,
            to: self.to_status,
            version: self.version,
            by_person: self.actor_kind == "staff",
            actor: self.actor,
            detail: self.detail.map(|detail| told(&detail)).unwrap_or_default(),
        }
    }
}

/// Calls people by their names.
async fn named(
    db: &mut PgConnection,
    mut moves: Vec<MoveView>,
) -> Result<Vec<MoveView>, EngineError> {
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
