//! Any record that a person decides about, with the state and version that the decision is compared
//! with. Decisions about one record wait for each other by a lock of their own: each machine takes
//! its rows in its own order, and a row taken here first would cross it. The machine's function
//! compares the version again under its locks.

use domain::{
    action::{Subject, TargetType},
    ids::TenantId,
    money::Money,
    view::{ReceiptState, StateWord},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::row::money;
use crate::error::EngineError;

/// A record of a machine other than the operation's, kept from other decisions.
#[derive(Clone, Debug)]
pub struct Locked {
    /// Its id.
    pub id: Uuid,
    /// State and version.
    pub state: ReceiptState,
    /// What it is called among its like: a kind, a topic, a consumer, a cause.
    pub label: String,
    /// Its own key.
    pub key: String,
    /// The amount at stake.
    pub amount: Option<Money>,
    /// Whether money moves by it.
    pub money: bool,
}

/// Keeps other decisions off a record until the transaction ends, and reads it; `None` where the
/// tenant has none of that id.
///
/// # Errors
/// The database's.
pub async fn lock(
    db: &mut PgConnection,
    tenant: TenantId,
    subject: &Subject,
) -> Result<Option<Locked>, EngineError> {
    let Ok(id) = Uuid::try_parse(&subject.id) else { return Ok(None) };
    sqlx::query_scalar!(
        r#"select 1 as "one!" from (
             select pg_advisory_xact_lock(hashtextextended($1::uuid::text || $2 || $3::uuid::text, 0))) locked"#,
        tenant.uuid(),
        subject.kind.as_str(),
        id,
    )
    .fetch_one(&mut *db)
    .await?;
    match subject.kind {
        TargetType::Workflow => workflow(db, tenant, id).await,
        TargetType::Compensation => compensation(db, tenant, id).await,
        TargetType::Outbox => event(db, tenant, id).await,
        TargetType::Inbox => message(db, tenant, id).await,
        TargetType::Incident => incident(db, tenant, id).await,
        // Each of these is read by the module that decides about it.
        TargetType::Operation
        | TargetType::Conflict
        | TargetType::Approval
        | TargetType::OperationKind
        | TargetType::Staff
        | TargetType::Bulk
        | TargetType::Token => Ok(None),
    }
}

/// A record's state and version now, without its lock; `None` where there is none.
///
/// # Errors
/// The database's.
pub async fn read(
    db: &mut PgConnection,
    tenant: TenantId,
    subject: &Subject,
) -> Result<Option<ReceiptState>, EngineError> {
    if subject.kind == TargetType::OperationKind {
        let version = sqlx::query_scalar!(
            "select version from operation_kinds where tenant_id = $1 and name = $2",
            tenant.uuid(),
            subject.id,
        )
        .fetch_optional(db)
        .await?;
        return Ok(version.map(|version| state("in_force".into(), version)));
    }
    let Ok(id) = Uuid::try_parse(&subject.id) else { return Ok(None) };
    let row = sqlx::query!(
        r#"select status as "status!", version as "version!", needs_manual as "needs_manual!" from (
             select status, version, needs_manual from operations
               where $2 = 'operation' and tenant_id = $1 and id = $3
             union all select status, version, false from workflows
               where $2 = 'workflow' and tenant_id = $1 and id = $3
             union all select status, version, false from compensations
               where $2 = 'compensation' and tenant_id = $1 and id = $3
             union all select status, version, false from outbox
               where $2 = 'outbox' and tenant_id = $1 and id = $3
             union all select status, version, false from inbox
               where $2 = 'inbox' and tenant_id = $1 and id = $3
             union all select case when closed_at is null then 'open' else 'closed' end, version, false from incidents
               where $2 = 'incident' and tenant_id = $1 and id = $3
             union all select status, version, false from bulks
               where $2 = 'bulk' and tenant_id = $1 and id = $3
             union all select role, version, false from memberships
               where $2 = 'staff' and tenant_id = $1 and staff_id = $3
           ) found limit 1"#,
        tenant.uuid(),
        subject.kind.as_str(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| ReceiptState {
        needs_manual: row.needs_manual,
        ..state(row.status, row.version)
    }))
}

fn state(status: String, version: i64) -> ReceiptState {
    ReceiptState { status: StateWord::new(status), version, needs_manual: false }
}

async fn workflow(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Locked>, EngineError> {
    let row = sqlx::query!(
        r#"select w.status, w.version, w.kind, w.key,
             exists (select from workflow_steps s
               join operations o on o.tenant_id = s.tenant_id and o.id = s.operation_id
               join operation_kinds k on k.tenant_id = o.tenant_id and k.name = o.operation
               where s.tenant_id = $1 and s.workflow_id = $2 and k.money
                 and s.status not in ('failed', 'skipped', 'cancelled')) as "money!"
           from workflows w where w.tenant_id = $1 and w.id = $2"#,
        tenant.uuid(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Locked {
        id,
        state: state(row.status, row.version),
        label: row.kind,
        key: row.key,
        amount: None,
        money: row.money,
    }))
}

/// Whether money moves by it is for the compensation's own module to say.
async fn compensation(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Locked>, EngineError> {
    let row = sqlx::query!(
        "select status, version, kind, operation_id, amount_minor, currency
           from compensations where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Locked {
        id,
        state: state(row.status, row.version),
        label: row.kind,
        key: row.operation_id.to_string(),
        amount: money(row.amount_minor, row.currency),
        money: false,
    }))
}

async fn event(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Locked>, EngineError> {
    let row = sqlx::query!(
        r#"select x.status, x.version, x.topic, x.aggregate, x.seq,
             exists (select from operations o
               join operation_kinds k on k.tenant_id = o.tenant_id and k.name = o.operation
               where o.tenant_id = $1 and o.id = x.operation_id and k.money) as "money!"
           from outbox x where x.tenant_id = $1 and x.id = $2"#,
        tenant.uuid(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Locked {
        id,
        state: state(row.status, row.version),
        label: row.topic,
        key: format!("{} #{}", row.aggregate, row.seq),
        amount: None,
        money: row.money,
    }))
}

/// Whether money moves by a message is for the inbox to say, which reads what it would start.
async fn message(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Locked>, EngineError> {
    let row = sqlx::query!(
        "select status, version, consumer, message_id from inbox where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Locked {
        id,
        state: state(row.status, row.version),
        label: row.consumer,
        key: row.message_id,
        amount: None,
        money: false,
    }))
}

async fn incident(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
) -> Result<Option<Locked>, EngineError> {
    let row = sqlx::query!(
        "select version, cause, closed_at, operation_id from incidents where tenant_id = $1 and id = $2",
        tenant.uuid(),
        id,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Locked {
        id,
        state: state(if row.closed_at.is_some() { "closed" } else { "open" }.into(), row.version),
        label: row.cause,
        key: row.operation_id.map_or_else(|| id.to_string(), |id| id.to_string()),
        amount: None,
        money: false,
    }))
}
