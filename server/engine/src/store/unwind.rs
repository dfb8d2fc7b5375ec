//! What unwinding reads: the history of a workflow's steps with their operations, links and undos as
//! they are now, and the workflows whose turn it is.

use domain::{
    compensation::{CompensationState, Effect},
    ids::{CompensationId, OperationId, TenantId, WorkflowId},
    money::Money,
    operation::Status,
    workflow::StepState,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Target, row::money, word, workflow::Address};
use crate::error::EngineError;

/// One step with its operation, its link and its undo, as they are now.
#[derive(Clone, Debug)]
pub struct StepHistory {
    /// The step's key.
    pub step_key: String,
    /// Where the step stands.
    pub status: StepState,
    /// Its place in the order of completion.
    pub completed_seq: Option<i64>,
    /// Its operation; a decision has none.
    pub operation: Option<StepOperation>,
}

/// A step's operation.
#[derive(Clone, Debug)]
pub struct StepOperation {
    /// Its id.
    pub id: OperationId,
    /// The kind's name.
    pub kind: String,
    /// Where it stands.
    pub status: Status,
    /// Whether its contents have expired.
    pub tombstoned: bool,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// The provider's reference, the latest correction's before the operation's own.
    pub external_reference: Option<String>,
    /// What the latest correction says.
    pub corrected: Option<bool>,
    /// The link that stands in the unique index.
    pub link: Option<StepLink>,
}

impl StepOperation {
    /// What is known of its effect.
    #[must_use]
    pub const fn effect(&self) -> Effect {
        Effect::of(self.status, self.corrected)
    }
}

/// The link of a step's operation.
#[derive(Clone, Debug)]
pub struct StepLink {
    /// Its id.
    pub id: CompensationId,
    /// The kind of the undo.
    pub kind: String,
    /// Where it stands.
    pub status: CompensationState,
    /// Its version.
    pub version: i64,
    /// Which try it is.
    pub n: i32,
    /// How much it gives back.
    pub amount: Option<Money>,
    /// Whether it was passed by name.
    pub passed: bool,
    /// The undo of this n.
    pub undo_id: Option<OperationId>,
    /// Where the undo stands.
    pub undo_status: Option<Status>,
    /// Whether the undo is unknown and needs a person.
    pub needs_person: bool,
}

/// A row of the history, flat.
struct Row {
    step_key: String,
    status: String,
    completed_seq: Option<i64>,
    operation_id: Option<Uuid>,
    kind: Option<String>,
    operation_status: Option<String>,
    tombstoned: bool,
    amount_minor: Option<i64>,
    currency: Option<String>,
    external_reference: Option<String>,
    corrected: Option<bool>,
    link_id: Option<Uuid>,
    link_kind: Option<String>,
    link_status: Option<String>,
    link_version: Option<i64>,
    n: Option<i32>,
    link_amount: Option<i64>,
    link_currency: Option<String>,
    passed: bool,
    undo_id: Option<Uuid>,
    undo_status: Option<String>,
    needs_person: bool,
}

impl Row {
    fn read(self) -> Result<StepHistory, EngineError> {
        let link = match (self.link_id, self.link_kind, self.link_status, self.link_version, self.n)
        {
            (Some(id), Some(kind), Some(status), Some(version), Some(n)) => Some(StepLink {
                id: CompensationId::new(id),
                kind,
                status: word(&status)?,
                version,
                n,
                amount: money(self.link_amount, self.link_currency),
                passed: self.passed,
                undo_id: self.undo_id.map(OperationId::new),
                undo_status: self.undo_status.as_deref().map(word).transpose()?,
                needs_person: self.needs_person,
            }),
            _ => None,
        };
        let operation = match (self.operation_id, self.kind, self.operation_status) {
            (Some(id), Some(kind), Some(status)) => Some(StepOperation {
                id: OperationId::new(id),
                kind,
                status: word(&status)?,
                tombstoned: self.tombstoned,
                amount: money(self.amount_minor, self.currency),
                external_reference: self.external_reference,
                corrected: self.corrected,
                link,
            }),
            _ => None,
        };
        Ok(StepHistory {
            step_key: self.step_key,
            status: word(&self.status)?,
            completed_seq: self.completed_seq,
            operation,
        })
    }
}

/// All steps of a workflow, in the order that lists show them.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn history(db: &mut PgConnection, at: Address) -> Result<Vec<StepHistory>, EngineError> {
    let rows = sqlx::query_as!(
        Row,
        r#"select s.step_key, s.status, s.completed_seq,
             o.id as "operation_id?", o.operation as "kind?", o.status as "operation_status?",
             (o.tombstoned_at is not null) as "tombstoned!", o.amount_minor as "amount_minor?",
             o.currency as "currency?",
             coalesce(k.external_reference, o.external_reference) as "external_reference?",
             k.happened as "corrected?",
             c.id as "link_id?", c.kind as "link_kind?", c.status as "link_status?", c.version as "link_version?",
             c.n as "n?", c.amount_minor as "link_amount?", c.currency as "link_currency?",
             (c.passed_at is not null) as "passed!", c.undo_id as "undo_id?", u.status as "undo_status?",
             coalesce(u.needs_manual, false) as "needs_person!"
           from workflow_steps s
           left join operations o on o.tenant_id = s.tenant_id and o.id = s.operation_id
           left join lateral (select happened, external_reference from corrections
             where tenant_id = s.tenant_id and operation_id = s.operation_id order by id desc limit 1) k on true
           left join lateral (select id, kind, status, version, n, amount_minor, currency, passed_at, undo_id
             from compensations l
             where l.tenant_id = s.tenant_id and l.operation_id = s.operation_id and l.status <> 'not_needed'
             order by l.id desc limit 1) c on true
           left join operations u on u.tenant_id = s.tenant_id and u.id = c.undo_id
           where s.tenant_id = $1 and s.workflow_id = $2
           order by s.position, s.step_key limit 10000"#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    rows.into_iter().map(Row::read).collect()
}

/// One operation with its link and its undo, as they are now.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn operation(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<StepOperation>, EngineError> {
    let row = sqlx::query_as!(
        Row,
        r#"select coalesce(o.step_key, '') as "step_key!", 'succeeded' as "status!", null::bigint as completed_seq,
             o.id as "operation_id?", o.operation as "kind?", o.status as "operation_status?",
             (o.tombstoned_at is not null) as "tombstoned!", o.amount_minor, o.currency,
             coalesce(k.external_reference, o.external_reference) as external_reference,
             k.happened as "corrected?",
             c.id as "link_id?", c.kind as "link_kind?", c.status as "link_status?", c.version as "link_version?",
             c.n as "n?", c.amount_minor as "link_amount?", c.currency as "link_currency?",
             (c.passed_at is not null) as "passed!", c.undo_id as "undo_id?", u.status as "undo_status?",
             coalesce(u.needs_manual, false) as "needs_person!"
           from operations o
           left join lateral (select happened, external_reference from corrections
             where tenant_id = o.tenant_id and operation_id = o.id order by id desc limit 1) k on true
           left join lateral (select id, kind, status, version, n, amount_minor, currency, passed_at, undo_id
             from compensations l
             where l.tenant_id = o.tenant_id and l.operation_id = o.id and l.status <> 'not_needed'
             order by l.id desc limit 1) c on true
           left join operations u on u.tenant_id = o.tenant_id and u.id = c.undo_id
           where o.tenant_id = $1 and o.id = $2 and not o.console"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(Row::read).transpose()?.and_then(|step| step.operation))
}

/// Takes up to `max` workflows that are being undone and whose turn it is, and puts their next turn
/// off: a wake that comes meanwhile is not lost, and a process that dies leaves them due again.
///
/// # Errors
/// The database's.
pub async fn take_due(
    db: &mut PgConnection,
    max: i64,
    again_ms: i64,
) -> Result<Vec<Address>, EngineError> {
    let rows = sqlx::query!(
        r#"with due as materialized (
             select tenant_id, id from workflows
             where next_at <= (select onceover_now()) and status in ('compensating', 'compensation_stuck')
             order by next_at limit $1 for update skip locked)
           update workflows w set next_at = onceover_now() + $2::bigint * interval '1 millisecond'
           from due where w.tenant_id = due.tenant_id and w.id = due.id
           returning w.tenant_id, w.id"#,
        max,
        again_ms,
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| Address { tenant: TenantId::new(row.tenant_id), id: WorkflowId::new(row.id) })
        .collect())
}
