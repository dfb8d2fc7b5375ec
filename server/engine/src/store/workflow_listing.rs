//! Lists of workflows, one workflow's row, and its timeline, which the database's triggers write.

use chrono::{DateTime, Utc};
use domain::{
    ids::{TenantId, WorkflowId},
    listing::Cursor,
    view::{WorkflowMove, WorkflowRow},
};
use serde_json::Value;
use sqlx::PgConnection;
use uuid::Uuid;

use super::{newest, one_over, person, word, workflow::Address};
use crate::error::EngineError;

/// A filter as SQL takes it.
#[derive(Clone, Debug)]
pub struct Narrowing {
    /// Whose.
    pub tenant: TenantId,
    /// One state.
    pub status: Option<String>,
    /// One kind.
    pub kind: Option<String>,
    /// Ids that a search found.
    pub found: Option<Vec<Uuid>>,
    /// Where the page begins.
    pub cursor: Option<Cursor>,
    /// Rows to read.
    pub limit: i64,
}

/// The ids of one page. The leading predicate stands first; the rest narrows what it finds.
macro_rules! page_ids {
    ($db:expr, $n:expr, $low:expr, $high:expr, $from:literal, $lead:literal, $sort:literal) => {
        sqlx::query_scalar!(
            "select w.id from "
                + $from
                + " where w.tenant_id = $1 and w.id > $2 and w.id < $3 and "
                + $lead
                + " and ($4::text is null or w.status = $4)
                    and ($5::text is null or w.kind = $5)
                    and ($6::uuid[] is null or w.id = any($6))
                  order by w.id "
                + $sort
                + " limit $7",
            $n.tenant.uuid(),
            $low,
            $high,
            $n.status,
            $n.kind,
            $n.found.as_deref(),
            $n.limit,
        )
        .fetch_all($db)
        .await?
    };
}

macro_rules! both_ways {
    ($db:expr, $n:expr, $low:expr, $high:expr, $backwards:expr, $from:literal, $lead:literal) => {
        if $backwards {
            page_ids!($db, $n, $low, $high, $from, $lead, "asc")
        } else {
            page_ids!($db, $n, $low, $high, $from, $lead, "desc")
        }
    };
}

/// The ids of a page, in reading order from its cursor (oldest first when reading backwards).
///
/// # Errors
/// The database's.
pub async fn ids(db: &mut PgConnection, n: &Narrowing) -> Result<Vec<WorkflowId>, EngineError> {
    let (mut low, mut high, mut backwards) = (Uuid::nil(), Uuid::max(), false);
    match n.cursor {
        Some(Cursor { id, backwards: true }) => (low, backwards) = (id, true),
        Some(Cursor { id, backwards: false }) => high = id,
        None => {}
    }
    let ids = if n.found.is_some() {
        both_ways!(
            db,
            n,
            low,
            high,
            backwards,
            // One look-up per id found, never a scan that a long list of ids makes look cheap.
            "unnest($6::uuid[]) as f(id) cross join lateral
               (select * from workflows p where p.tenant_id = $1 and p.id = f.id limit 1) w",
            "true"
        )
    } else if n.status.as_deref().is_some_and(|status| status != "completed") {
        both_ways!(db, n, low, high, backwards, "workflows w", "w.status = $4")
    } else if n.kind.is_some() {
        both_ways!(db, n, low, high, backwards, "workflows w", "w.kind = $5")
    } else if n.status.is_some() {
        both_ways!(db, n, low, high, backwards, "workflows w", "w.status = $4")
    } else {
        both_ways!(db, n, low, high, backwards, "workflows w", "true")
    };
    Ok(ids.into_iter().map(WorkflowId::new).collect())
}

/// The ids that a key's beginning, or an id's, stands for, and whether there are more than `max`.
///
/// # Errors
/// The database's.
pub async fn search(
    db: &mut PgConnection,
    tenant: TenantId,
    key: (&str, &str),
    ids: Option<(Uuid, Uuid)>,
    max: i64,
) -> Result<(Vec<Uuid>, bool), EngineError> {
    let mut found = sqlx::query_scalar!(
        "select id from workflows where tenant_id = $1 and key >= $2 and key < $3 order by key limit $4",
        tenant.uuid(),
        key.0,
        key.1,
        max + 1,
    )
    .fetch_all(&mut *db)
    .await?;
    if let Some((low, high)) = ids {
        let by_id = sqlx::query_scalar!(
            "select id from workflows where tenant_id = $1 and id between $2 and $3 order by id limit $4",
            tenant.uuid(),
            low,
            high,
            max + 1,
        )
        .fetch_all(db)
        .await?;
        found.extend(by_id);
    }
    let max = usize::try_from(max).unwrap_or_default();
    let more = found.len() > max;
    found.truncate(max);
    found.sort();
    found.dedup();
    Ok((found, more))
}

/// The rows of ids, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn rows(
    db: &mut PgConnection,
    tenant: TenantId,
    ids: &[WorkflowId],
) -> Result<Vec<WorkflowRow>, EngineError> {
    let ids: Vec<Uuid> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        r#"select w.id as "id!", w.kind as "kind!", w.key as "key!", w.definition_version as "definition_version!",
             w.status as "status!", w.version as "version!", w.cause, w.created_at as "created_at!",
             w.updated_at as "updated_at!", w.completed_at, s.steps as "steps!", s.over as "over!"
           from unnest($2::uuid[]) as f(id) cross join lateral
             (select * from workflows p where p.tenant_id = $1 and p.id = f.id limit 1) w
           cross join lateral (
             select count(*) as steps, count(*) filter (where t.completed_at is not null) as over
             from workflow_steps t where t.tenant_id = $1 and t.workflow_id = w.id) s
           order by w.id desc limit 1000"#,
        tenant.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(WorkflowRow {
                id: WorkflowId::new(row.id),
                kind: row.kind,
                key: row.key,
                definition_version: row.definition_version,
                status: word(&row.status)?,
                version: row.version,
                cause: row.cause,
                steps_over: row.over,
                steps: row.steps,
                created_at: row.created_at,
                updated_at: row.updated_at,
                completed_at: row.completed_at,
            })
        })
        .collect()
}

/// What a workflow's own page shows beyond its row.
#[derive(Clone, Debug)]
pub struct More {
    /// Bytes of the input; `None` once expired.
    pub input_bytes: Option<i32>,
    /// Who started it.
    pub created_by: String,
    /// The executor that had the last turn.
    pub owner: Option<String>,
    /// Executors that had a turn.
    pub fence: i64,
    /// Whether somebody cancelled it.
    pub cancel_asked: bool,
    /// The database's clock.
    pub now: DateTime<Utc>,
}

/// Reads it.
///
/// # Errors
/// The database's.
pub async fn more(db: &mut PgConnection, at: Address) -> Result<Option<More>, EngineError> {
    let more = sqlx::query_as!(
        More,
        r#"select octet_length(input) as input_bytes, created_by, owner, fence,
             cancel_asked, onceover_now() as "now!"
           from workflows where tenant_id = $1 and id = $2"#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(more)
}

/// The newest moves of a workflow and of its steps, oldest first, and whether there are older ones; of
/// executors' turns nothing is told.
///
/// # Errors
/// The database's.
pub async fn timeline(
    db: &mut PgConnection,
    at: Address,
    max: usize,
) -> Result<(Vec<WorkflowMove>, bool), EngineError> {
    let rows = sqlx::query!(
        "select id, at, rule, step_key, from_status, to_status, version, actor_kind, actor, detail
         from machine_events
         where tenant_id = $1 and record_id = $2 and machine in ('workflow', 'step') and rule <> 'W2'
         order by id desc limit $3",
        at.tenant.uuid(),
        at.id.uuid(),
        one_over(max),
    )
    .fetch_all(&mut *db)
    .await?;
    let moves: Vec<_> = rows
        .into_iter()
        .map(|row| WorkflowMove {
            id: row.id,
            at: row.at,
            rule: row.rule,
            step_key: row.step_key,
            from: row.from_status,
            to: row.to_status,
            version: row.version,
            by_person: row.actor_kind == "staff",
            actor: row.actor,
            detail: words(row.detail),
        })
        .collect();
    let (mut moves, older) = newest(moves, max);
    let by_people = moves.iter_mut().filter(|step| step.by_person);
    person::name_all(db, by_people.map(|step| &mut step.actor).collect()).await?;
    Ok((moves, older))
}

/// A move's detail as words.
fn words(detail: Option<Value>) -> Vec<(String, String)> {
    let Some(Value::Object(members)) = detail else { return Vec::new() };
    members
        .into_iter()
        .filter(|(_, value)| !value.is_null())
        .map(|(name, value)| match value {
            Value::String(text) => (name, text),
            other => (name, other.to_string()),
        })
        .collect()
}
