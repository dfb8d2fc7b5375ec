//! The one timeline of many records: moves of all machines, evidence, refused payloads, notes and the
//! decisions that move nothing, in the order in which they happened. A step's moves stand under its
//! workflow where that was gathered, otherwise under its operation: never twice.

use chrono::{DateTime, Utc};
use domain::{
    ids::TenantId,
    listing::StoryCursor,
    record::{RecordName, RecordType},
};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::incident_record::name;
use crate::error::EngineError;

/// Something that happened to a record.
#[derive(Clone, Debug)]
pub struct Happened {
    /// Where it stands in the story.
    pub cursor: StoryCursor,
    /// To which record.
    pub name: RecordName,
    /// The rule; or `evidence`, `conflict`, `note`, `audit`.
    pub rule: String,
    /// The state before.
    pub from: Option<String>,
    /// The state after; of an entry of the audit log what was done.
    pub to: Option<String>,
    /// The version after.
    pub version: Option<i64>,
    /// Whether a person did it.
    pub by_person: bool,
    /// Who.
    pub actor: String,
    /// What it carried.
    pub detail: Option<Value>,
}

/// Whose story: an incident's own id and its records.
#[derive(Clone, Debug)]
pub struct Cast {
    operations: Vec<Uuid>,
    machines: Vec<Uuid>,
    conflicts: Vec<Uuid>,
    others: Vec<Uuid>,
    all: Vec<String>,
}

impl Cast {
    /// An incident with its records.
    #[must_use]
    pub fn new(incident: Uuid, names: &[RecordName]) -> Self {
        let of = |wanted: &dyn Fn(RecordType) -> bool| -> Vec<Uuid> {
            names.iter().filter(|name| wanted(name.record)).map(|name| name.id).collect()
        };
        let machine = |record| !matches!(record, RecordType::Operation | RecordType::Conflict);
        let all = names.iter().map(|name| name.id).chain([incident]);
        Self {
            operations: of(&|record| record == RecordType::Operation),
            machines: of(&machine),
            conflicts: of(&|record| record == RecordType::Conflict),
            others: of(&|record| record != RecordType::Operation)
                .into_iter()
                .chain([incident])
                .collect(),
            all: all.map(|id| id.to_string()).collect(),
        }
    }
}

/// What happened after a place, oldest first, at most `max`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn after(
    db: &mut PgConnection,
    tenant: TenantId,
    cast: &Cast,
    cursor: &StoryCursor,
    max: i64,
) -> Result<Vec<Happened>, EngineError> {
    let rows = sqlx::query!(
        r#"
        select at as "at!", source as "source!", place as "place!", target_type as "target_type!", id as "id!",
          rule as "rule!", from_status, to_status, version, by_person as "by_person!", actor as "actor!", detail
        from (
          select at, 0 as source, lpad(id::text, 20, '0') collate "C" as place, 'operation' as target_type,
              operation_id as id, move as rule, from_status, to_status, version, actor_kind = 'staff' as by_person,
              actor, detail
            from operation_events where tenant_id = $1 and operation_id = any($2)
          union all
          select at, 1, lpad(id::text, 20, '0') collate "C", case machine when 'step' then 'workflow' else machine end,
              record_id, rule, from_status, to_status, version, actor_kind = 'staff', actor,
              case machine when 'step' then coalesce(detail, '{}') || jsonb_build_object('step', step_key)
                else detail end
            from machine_events where tenant_id = $1 and record_id = any($3) and rule <> 'S0'
          union all
          select e.at, 1, lpad(e.id::text, 20, '0') collate "C", 'operation', s.operation_id, e.rule, e.from_status,
              e.to_status, e.version, e.actor_kind = 'staff', e.actor,
              coalesce(e.detail, '{}') || jsonb_build_object('step', e.step_key)
            from workflow_steps s
            join machine_events e on e.tenant_id = s.tenant_id and e.record_id = s.workflow_id
              and e.step_key = s.step_key
            where s.tenant_id = $1 and s.operation_id = any($2) and s.workflow_id <> all($3)
              and e.machine = 'step' and e.rule <> 'S0'
          union all
          select at, 2, id::text collate "C", 'operation', operation_id, 'evidence', null, says, null, source = 'staff',
              actor, jsonb_build_object('source', source, 'external_reference', external_reference,
                'amount_minor', amount_minor, 'currency', currency, 'text', text)
            from evidence where tenant_id = $1 and operation_id = any($2)
          union all
          select first_at, 3, id::text collate "C", 'conflict', id, 'conflict', null, null, null, false,
              array_to_string(callers, ', '), jsonb_build_object('count', count)
            from payload_conflicts where tenant_id = $1 and id = any($4)
          union all
          select at, 4, id::text collate "C", target_type, operation_id, 'note', null, null, null, true, author,
              jsonb_build_object('text', text)
            from notes where tenant_id = $1 and operation_id = any($2)
          union all
          select at, 5, id::text collate "C", target_type, other_id, 'note', null, null, null, true, author,
              jsonb_build_object('text', text)
            from notes where tenant_id = $1 and other_id = any($5)
          union all
          select at, 6, lpad(seq::text, 20, '0') collate "C", target_type, target_id::uuid, 'audit', null, action, null,
              true, actor, jsonb_build_object('reason', reason, 'receipt', receipt,
                'approved_by', after ->> 'approved_by')
            from audit where tenant_id = $1 and target_id = any($6) and result = 'done'
              and action in ('open', 'add', 'remove', 'close', 'correct', 'take', 'put_back')
        ) story
        where (at, source, place) > ($7, $8, $9)
        order by at, source, place limit $10
        "#,
        tenant.uuid(),
        &cast.operations,
        &cast.machines,
        &cast.conflicts,
        &cast.others,
        &cast.all,
        cursor.at,
        cursor.source,
        cursor.place,
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Happened {
                cursor: StoryCursor { at: row.at, source: row.source, place: row.place },
                name: name(&row.target_type, row.id)?,
                rule: row.rule,
                from: row.from_status,
                to: row.to_status,
                version: row.version,
                by_person: row.by_person,
                actor: row.actor,
                detail: row.detail,
            })
        })
        .collect()
}

/// A decision on a record, as the audit log keeps it.
#[derive(Clone, Debug)]
pub struct Decision {
    /// When.
    pub at: DateTime<Utc>,
    /// On which record.
    pub name: RecordName,
    /// Who decided.
    pub actor: String,
    /// Who agreed, where it took a second person.
    pub approved_by: Option<String>,
    /// What.
    pub action: String,
    /// Why.
    pub reason: Option<String>,
    /// Its receipt.
    pub receipt: Uuid,
}

/// What was decided on these records with a receipt, oldest first, at most `max`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn decisions(
    db: &mut PgConnection,
    tenant: TenantId,
    cast: &Cast,
    max: i64,
) -> Result<Vec<Decision>, EngineError> {
    let rows = sqlx::query!(
        r#"select at, actor, action, target_type, target_id::uuid as "id!", reason, receipt as "receipt!",
             after ->> 'approved_by' as approved_by, after ->> 'requested_by' as requested_by
           from audit where tenant_id = $1 and target_id = any($2) and result = 'done' and receipt is not null
             and target_type in ('operation', 'workflow', 'compensation', 'outbox', 'inbox', 'approval', 'incident')
           order by seq limit $3"#,
        tenant.uuid(),
        &cast.all,
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(Decision {
                at: row.at,
                name: name(&row.target_type, row.id)?,
                actor: row.requested_by.unwrap_or(row.actor),
                approved_by: row.approved_by,
                action: row.action,
                reason: row.reason,
                receipt: row.receipt,
            })
        })
        .collect()
}

/// A note on any of these records.
#[derive(Clone, Debug)]
pub struct Noted {
    /// On which record.
    pub name: RecordName,
    /// Who wrote it.
    pub author: String,
    /// When.
    pub at: DateTime<Utc>,
    /// What.
    pub text: String,
}

/// What people wrote on these records, oldest first, at most `max`.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn notes(
    db: &mut PgConnection,
    tenant: TenantId,
    cast: &Cast,
    max: i64,
) -> Result<Vec<Noted>, EngineError> {
    let rows = sqlx::query!(
        r#"select target_type as "target_type!", coalesce(operation_id, other_id) as "id!", author as "author!", at as "at!",
             text as "text!" from (
             select target_type, operation_id, other_id, author, at, text, id from notes
               where tenant_id = $1 and operation_id = any($2)
             union all select target_type, operation_id, other_id, author, at, text, id from notes
               where tenant_id = $1 and other_id = any($3)) noted
           order by at, id limit $4"#,
        tenant.uuid(),
        &cast.operations,
        &cast.others,
        max,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            let name = name(&row.target_type, row.id)?;
            Ok(Noted { name, author: row.author, at: row.at, text: row.text })
        })
        .collect()
}
