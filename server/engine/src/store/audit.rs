//! The audit log: written by the database's one function, in the transaction of the action.

use std::net::IpAddr;

use domain::{
    ids::{OperationId, StaffId, TenantId},
    problem::Code,
    view::AuditView,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{Target, person::called, word};
use crate::error::EngineError;

/// What somebody did or was refused.
pub struct Entry<'a> {
    /// In which tenant.
    pub tenant: TenantId,
    /// `staff`, `service`, `command line` or `identity provider`.
    pub actor_kind: &'a str,
    /// The person's or token's id.
    pub actor_id: Option<Uuid>,
    /// Email, token name or issuer.
    pub actor: &'a str,
    /// What, such as `confirm`.
    pub action: &'a str,
    /// `operation`, `staff`, `token`, …
    pub target_type: &'a str,
    /// Its id, as it was given.
    pub target_id: &'a str,
    /// The refusal's code; `None` where it was done.
    pub refused: Option<Code>,
    /// The person's reason.
    pub reason: Option<&'a str>,
    /// What was before.
    pub before: Option<serde_json::Value>,
    /// What is after.
    pub after: Option<serde_json::Value>,
    /// The receipt.
    pub receipt: Option<OperationId>,
    /// The request.
    pub request_id: &'a str,
    /// Where it came from; `None` where no client asked.
    pub client: Option<IpAddr>,
}

/// Writes an entry; where that fails, so must the action (T29).
///
/// # Errors
/// [`EngineError::Unaudited`], whatever the database's reason: that nobody can be held to what was done
/// is no fault of whoever asked.
pub async fn add(db: &mut PgConnection, entry: Entry<'_>) -> Result<(), EngineError> {
    sqlx::query_scalar!(
        "select audit_add($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15)",
        entry.tenant.uuid(),
        entry.actor_kind,
        entry.actor_id,
        entry.actor,
        entry.action,
        entry.target_type,
        entry.target_id,
        if entry.refused.is_some() { "denied" } else { "done" },
        entry.refused.map(Code::as_str),
        entry.reason,
        entry.before,
        entry.after,
        entry.receipt.map(OperationId::uuid),
        entry.request_id,
        entry.client.map(|client| client.to_string()),
    )
    .fetch_one(db)
    .await
    .map_err(EngineError::Unaudited)?;
    Ok(())
}

/// What people did to an operation, newest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<AuditView>, EngineError> {
    of_record(db, target.tenant, &target.id.to_string()).await
}

/// What people did to any record, newest first, each by the name that the person has now.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn of_record(
    db: &mut PgConnection,
    tenant: TenantId,
    id: &str,
) -> Result<Vec<AuditView>, EngineError> {
    let rows = sqlx::query!(
        r#"select a.seq, a.at, a.actor, s.name as "name?", a.action, a.result, a.code, a.reason, a.receipt,
           a.after ->> 'bulk' as bulk
         from audit a left join staff s on s.id = a.actor_id and a.actor_kind = 'staff'
         where a.tenant_id = $1 and a.target_id = $2 order by a.seq desc limit 100"#,
        tenant.uuid(),
        id,
    )
    .fetch_all(db)
    .await?;
    rows.into_iter()
        .map(|row| {
            Ok(AuditView {
                seq: row.seq,
                at: row.at,
                actor: called(row.name.as_deref(), &row.actor),
                action: row.action,
                result: row.result,
                code: row.code.as_deref().map(word).transpose()?,
                reason: row.reason,
                receipt: row.receipt.map(OperationId::new),
                bulk: row.bulk.and_then(|id| id.parse().ok()),
            })
        })
        .collect()
}

/// A later person who sent a decision that had been taken: kept for its receipt (D41).
///
/// # Errors
/// The database's.
pub async fn add_repeat(
    db: &mut PgConnection,
    action: Target,
    staff: StaffId,
    name: &str,
    reason: &str,
    evidence: Option<&str>,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into action_repeats (tenant_id, action_id, staff_id, name, reason, evidence)
         values ($1, $2, $3, $4, $5, $6) on conflict do nothing",
        action.tenant.uuid(),
        action.id.uuid(),
        staff.uuid(),
        name,
        reason,
        evidence,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Who sent it later, in order.
///
/// # Errors
/// The database's.
pub async fn repeats(
    db: &mut PgConnection,
    action: Target,
) -> Result<Vec<domain::view::AlsoDecided>, EngineError> {
    let rows = sqlx::query_as!(
        domain::view::AlsoDecided,
        "select name as actor, at, reason from action_repeats
         where tenant_id = $1 and action_id = $2 order by at limit 100",
        action.tenant.uuid(),
        action.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}
