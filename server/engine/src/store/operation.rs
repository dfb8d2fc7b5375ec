//! Operations: the claim of a key, the locked read, and the one statement that moves a row.

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    money::Money,
    operation::{Event, ManualFlag, Status, next},
    view::ReceiptState,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::answer::StoredAnswer;
use super::{Target, word};
use crate::{actor::Actor, error::EngineError};

/// A row without its bodies.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its address.
    pub target: Target,
    /// The kind's name.
    pub operation: String,
    /// The client's key.
    pub key: String,
    /// Hash of what was asked (D22).
    pub hash: Vec<u8>,
    /// Version of the hash's form.
    pub hash_version: i16,
    /// Where it stands.
    pub status: Status,
    /// Moves with all that a person can see.
    pub version: i64,
    /// Moves with ownership.
    pub fence: i64,
    /// Whether workers may claim it from the start.
    pub queued: bool,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Calls begun.
    pub attempt: i32,
    /// Calls allowed.
    pub max_attempts: i32,
    /// Claims without a start.
    pub claims: i32,
    /// Leases lost during a call.
    pub takeovers: i32,
    /// When the first call began: the age of its key at the provider (D13).
    pub first_started_at: Option<DateTime<Utc>>,
    /// When the last call began.
    pub started_at: Option<DateTime<Utc>>,
    /// Whether the next question is put by sending again.
    pub ask_by_resend: bool,
    /// When it was last sent again to ask.
    pub resent_at: Option<DateTime<Utc>>,
    /// How often it was sent again to ask.
    pub resends: i32,
    /// When it may be tried again.
    pub next_at: Option<DateTime<Utc>>,
    /// Whether a person must decide.
    pub needs_manual: bool,
    /// When reconciliation asks next.
    pub next_reconcile_at: Option<DateTime<Utc>>,
    /// Questions asked so far.
    pub reconcile_tries: i32,
    /// "Not found" answers so far.
    pub absent_answers: i32,
    /// When the first of them came.
    pub absent_since: Option<DateTime<Utc>>,
    /// The rule that ended it.
    pub ended_by: Option<Event>,
    /// When its contents were removed.
    pub tombstoned_at: Option<DateTime<Utc>>,
    /// The workflow that it is a step of.
    pub workflow_id: Option<Uuid>,
    /// The step's key.
    pub step_key: Option<String>,
    /// The database's clock at the read.
    pub now: DateTime<Utc>,
}

impl Operation {
    /// When a request last left, as a call or as a question: what is asked about it may not have
    /// settled before the call's deadline and the settle window are over.
    #[must_use]
    pub fn last_sent_at(&self) -> Option<DateTime<Utc>> {
        self.started_at.max(self.resent_at)
    }

    /// State and version, as receipts and refusals show them.
    #[must_use]
    pub const fn state(&self) -> ReceiptState {
        ReceiptState { status: self.status, version: self.version, needs_manual: self.needs_manual }
    }
}

/// What a new operation is made of.
pub struct NewOperation<'a> {
    /// Its id, where the caller needed it beforehand ([`new_id`]).
    pub id: Option<OperationId>,
    /// Whose.
    pub tenant: TenantId,
    /// The kind's name, or `console.…`.
    pub operation: &'a str,
    /// The key.
    pub key: &'a str,
    /// Hash of what was asked.
    pub hash: &'a [u8],
    /// Version of the hash's form.
    pub hash_version: i16,
    /// `reserved`, or `succeeded` for a console action.
    pub status: Status,
    /// Whether workers may claim it.
    pub queued: bool,
    /// Amount at stake.
    pub amount: Option<&'a Money>,
    /// The bytes as sent.
    pub payload: &'a [u8],
    /// The workflow that it is a step of.
    pub workflow_id: Option<Uuid>,
    /// The step's key.
    pub step_key: Option<&'a str>,
    /// Calls allowed.
    pub max_attempts: i32,
    /// The stored answer of a console action.
    pub answer: Option<&'a StoredAnswer>,
    /// Who made it.
    pub actor: &'a Actor,
}

/// Claims a key (O1, O35): the id where this call won it, `None` where somebody has it. The
/// second statement of D23 is [`find_by_key`]; in one statement the rival's row would not be seen
/// while it commits.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    new: NewOperation<'_>,
) -> Result<Option<OperationId>, EngineError> {
    let completed = new.status.is_final();
    let id = sqlx::query_scalar!(
        r#"
        insert into operations
          (tenant_id, operation, key, hash, hash_version, status, mode, amount_minor, currency, payload,
           workflow_id, step_key, max_attempts, response_status, response_type, response_body,
           ended_by, completed_at, created_by_kind, created_by, id)
        values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
           case when $17 then 'O35' end, case when $17 then onceover_now() end, $18, $19,
           coalesce($20, onceover_uuid7()))
        on conflict (tenant_id, operation, key) do nothing
        returning id
        "#,
        new.tenant.uuid(),
        new.operation,
        new.key,
        new.hash,
        new.hash_version,
        new.status.as_str(),
        if new.queued { "queued" } else { "inline" },
        new.amount.map(|money| money.amount_minor),
        new.amount.map(|money| money.currency.as_str()),
        new.payload,
        new.workflow_id,
        new.step_key,
        new.max_attempts,
        new.answer.map(|answer| i32::from(answer.status)),
        new.answer.map(|answer| answer.content_type.as_str()),
        new.answer.map(|answer| answer.body.as_slice()),
        completed,
        new.actor.kind,
        new.actor.name,
        new.id.map(OperationId::uuid),
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(OperationId::new))
}

/// A fresh id by the database's clock.
///
/// # Errors
/// The database's.
pub async fn new_id(db: &mut PgConnection) -> Result<OperationId, EngineError> {
    let id = sqlx::query_scalar!(r#"select onceover_uuid7() as "id!""#).fetch_one(db).await?;
    Ok(OperationId::new(id))
}

/// Who has a key.
///
/// # Errors
/// The database's.
pub async fn find_by_key(
    db: &mut PgConnection,
    tenant: TenantId,
    operation: &str,
    key: &str,
) -> Result<Option<OperationId>, EngineError> {
    let id = sqlx::query_scalar!(
        "select id from operations where tenant_id = $1 and operation = $2 and key = $3",
        tenant.uuid(),
        operation,
        key,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(OperationId::new))
}

/// The name of an operation's kind.
///
/// # Errors
/// The database's.
pub async fn kind_name(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<String>, EngineError> {
    let name = sqlx::query_scalar!(
        "select operation from operations where tenant_id = $1 and id = $2 and not console",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(name)
}

/// Reads a row and locks it until the transaction ends. Locks are taken in the order operations,
/// leases.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn lock(db: &mut PgConnection, target: Target) -> Result<Option<Operation>, EngineError> {
    let row = sqlx::query!(
        r#"
        select operation, key, hash, hash_version, status, version, fence, mode, amount_minor, currency,
          external_reference, attempt, max_attempts, claims, takeovers, first_started_at, started_at,
          ask_by, resent_at, resends, next_at, needs_manual,
          next_reconcile_at, reconcile_tries, absent_answers, absent_since, ended_by, tombstoned_at,
          workflow_id, step_key, onceover_now() as "now!"
        from operations where tenant_id = $1 and id = $2
        for update
        "#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Operation {
        target,
        operation: row.operation,
        key: row.key,
        hash: row.hash,
        hash_version: row.hash_version,
        status: word(&row.status)?,
        version: row.version,
        fence: row.fence,
        queued: row.mode == "queued",
        amount: super::row::money(row.amount_minor, row.currency),
        external_reference: row.external_reference,
        attempt: row.attempt,
        max_attempts: row.max_attempts,
        claims: row.claims,
        takeovers: row.takeovers,
        first_started_at: row.first_started_at,
        started_at: row.started_at,
        ask_by_resend: row.ask_by == "resend",
        resent_at: row.resent_at,
        resends: row.resends,
        next_at: row.next_at,
        needs_manual: row.needs_manual,
        next_reconcile_at: row.next_reconcile_at,
        reconcile_tries: row.reconcile_tries,
        absent_answers: row.absent_answers,
        absent_since: row.absent_since,
        ended_by: row.ended_by.as_deref().map(word).transpose()?,
        tombstoned_at: row.tombstoned_at,
        workflow_id: row.workflow_id,
        step_key: row.step_key,
        now: row.now,
    }))
}

/// What a move changes besides status, version and fence; what is left `None` stays as it is.
#[derive(Default)]
pub struct Change {
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// When it may be tried again.
    pub next_at: Option<DateTime<Utc>>,
    /// When reconciliation asks next.
    pub next_reconcile_at: Option<DateTime<Utc>>,
    /// Questions asked so far.
    pub reconcile_tries: Option<i32>,
    /// How the next question is put: `lookup` or `resend`.
    pub ask_by: Option<&'static str>,
    /// This turn sends the request again to ask.
    pub resend: bool,
    /// "Not found" answers: how many, since when.
    pub absent: Option<(i32, DateTime<Utc>)>,
    /// Claims without a start.
    pub claims: Option<i32>,
    /// Why it failed, as a code.
    pub failure_code: Option<&'static str>,
    /// The answer to store.
    pub answer: Option<StoredAnswer>,
    /// The whole answer, of which a workflow's step keeps more than an operation does (D31).
    pub brought: Option<StoredAnswer>,
    /// From when it may become a tombstone.
    pub expires_at: Option<DateTime<Utc>>,
    /// What the timeline keeps of it.
    pub detail: Option<serde_json::Value>,
}

/// Moves a locked row on by one rule. The statement compares status and fence all the same: a
/// lock that was forgotten somewhere must not become a lost update.
///
/// # Errors
/// [`EngineError::Unreadable`] for a move that is not in the table, which is a fault of ours:
/// callers ask first.
pub async fn advance(
    db: &mut PgConnection,
    row: &mut Operation,
    event: Event,
    actor: &Actor,
    change: Change,
) -> Result<(), EngineError> {
    let rule = next(Some(row.status), event)
        .map_err(|illegal| EngineError::Unreadable(illegal.to_string()))?;
    let needs_manual = match rule.manual {
        ManualFlag::Keep => row.needs_manual,
        ManualFlag::Set => true,
        ManualFlag::Clear => false,
    };
    let started = event == Event::Start;
    let granted = matches!(event, Event::ConfirmRetry | Event::StaffRetry);
    let moved = sqlx::query!(
        r#"
        update operations set
          status = $5, version = version + $6, fence = fence + $7, needs_manual = $8,
          attempt = attempt + $9, started_at = case when $9 = 1 then onceover_now() else started_at end,
          takeovers = takeovers + $10, max_attempts = max_attempts + $11,
          claims = coalesce($12, claims),
          external_reference = coalesce($13, external_reference),
          next_at = coalesce($14, next_at),
          next_reconcile_at = coalesce($15, next_reconcile_at),
          reconcile_tries = coalesce($16, reconcile_tries),
          absent_answers = case when $9 = 1 then 0 else coalesce($17, absent_answers) end,
          absent_since = case when $9 = 1 then null else coalesce($18, absent_since) end,
          failure_code = coalesce($19, failure_code),
          response_status = coalesce($20, response_status), response_type = coalesce($21, response_type),
          response_body = coalesce($22, response_body), response_cut = coalesce($23, response_cut),
          expires_at = coalesce($24, expires_at),
          ask_by = coalesce($29, ask_by), resends = resends + $30,
          resent_at = case when $30 = 1 then onceover_now() else resent_at end,
          move = $25, move_actor_kind = $26, move_actor = $27, move_detail = $28
        where tenant_id = $1 and id = $2 and status = $3 and fence = $4
        returning version, fence, attempt, max_attempts, takeovers, first_started_at, started_at, resent_at,
          resends, completed_at
        "#,
        row.target.tenant.uuid(),
        row.target.id.uuid(),
        row.status.as_str(),
        row.fence,
        rule.to.as_str(),
        i64::from(rule.version),
        i64::from(rule.fence),
        needs_manual,
        i32::from(started),
        i32::from(event == Event::LeaseLost),
        i32::from(granted),
        change.claims,
        change.external_reference.as_deref(),
        change.next_at,
        change.next_reconcile_at,
        change.reconcile_tries,
        change.absent.map(|(answers, _)| answers),
        change.absent.map(|(_, since)| since),
        change.failure_code,
        change.answer.as_ref().map(|answer| i32::from(answer.status)),
        change.answer.as_ref().map(|answer| answer.content_type.as_str()),
        change.answer.as_ref().map(|answer| answer.body.as_slice()),
        change.answer.as_ref().map(|answer| answer.cut),
        change.expires_at,
        event.rule(),
        actor.kind,
        actor.name,
        change.detail,
        change.ask_by,
        i32::from(change.resend),
    )
    .fetch_optional(db)
    .await?
    .ok_or_else(|| EngineError::Unreadable(format!("{} moved on under its lock", row.target.id)))?;
    row.status = rule.to;
    row.version = moved.version;
    row.fence = moved.fence;
    row.needs_manual = needs_manual;
    row.attempt = moved.attempt;
    row.max_attempts = moved.max_attempts;
    row.takeovers = moved.takeovers;
    row.first_started_at = moved.first_started_at;
    row.started_at = moved.started_at;
    row.resent_at = moved.resent_at;
    row.resends = moved.resends;
    row.ask_by_resend = change.ask_by.map_or(row.ask_by_resend, |by| by == "resend");
    if moved.completed_at.is_some() {
        row.ended_by = row.ended_by.or(Some(event));
    }
    if let Some(reference) = change.external_reference {
        row.external_reference = Some(reference);
    }
    if started {
        // What was absent before this call says nothing about it.
        (row.absent_answers, row.absent_since) = (0, None);
    }
    row.claims = change.claims.unwrap_or(row.claims);
    row.next_at = change.next_at.or(row.next_at);
    row.next_reconcile_at = change.next_reconcile_at.or(row.next_reconcile_at);
    row.reconcile_tries = change.reconcile_tries.unwrap_or(row.reconcile_tries);
    if let Some((answers, since)) = change.absent {
        row.absent_answers = answers;
        row.absent_since = Some(since);
    }
    Ok(())
}

/// Removes a locked tombstone (O29); the database refuses one that its kind does not let go. What
/// hangs on it has gone before.
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, row: &Operation) -> Result<bool, EngineError> {
    let gone = sqlx::query!(
        "delete from operations
         where tenant_id = $1 and id = $2 and status = $3 and fence = $4 and tombstoned_at is not null",
        row.target.tenant.uuid(),
        row.target.id.uuid(),
        row.status.as_str(),
        row.fence,
    )
    .execute(db)
    .await?;
    Ok(gone.rows_affected() == 1)
}
