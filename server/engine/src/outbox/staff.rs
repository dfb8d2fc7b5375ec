//! What a person may do about a dead event (X8): put it in line again, or let its aggregate go on
//! without it. Rights, receipts and second persons are the caller's business.

use domain::{
    ids::{EventId, TenantId},
    machine::Machine as _,
    outbox::EventStatus,
    problem::Code,
};
use sqlx::PgConnection;

use crate::{
    actor::Actor,
    error::EngineError,
    store::outbox::{self, LockedEvent},
};

/// An event as a receipt shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EventState {
    /// Where it stands.
    pub status: EventStatus,
    /// Its version.
    pub version: i64,
}

/// Puts a dead event in line again, its attempts beginning anew.
///
/// # Errors
/// Refused: `not_found`; `stale` where the version is another; `not_allowed_in_state` where it is
/// not dead. Nothing was done then.
pub async fn requeue_in(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
    version: i64,
    reason: &str,
    actor: &Actor,
) -> Result<(EventState, EventState), EngineError> {
    decide(db, tenant, id, version, reason, actor, EventStatus::Pending).await
}

/// Lets the aggregate go on without a dead event: consumers will never be told of it.
///
/// # Errors
/// As [`requeue_in`].
pub async fn skip_in(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
    version: i64,
    reason: &str,
    actor: &Actor,
) -> Result<(EventState, EventState), EngineError> {
    decide(db, tenant, id, version, reason, actor, EventStatus::Skipped).await
}

async fn decide(
    db: &mut PgConnection,
    tenant: TenantId,
    id: EventId,
    version: i64,
    reason: &str,
    actor: &Actor,
    to: EventStatus,
) -> Result<(EventState, EventState), EngineError> {
    let event =
        outbox::lock(db, tenant, id).await?.ok_or_else(|| EngineError::refused(Code::NotFound))?;
    allowed(&event, version)?;
    outbox::decide(db, tenant, id, &event, to, actor, reason).await?;
    Ok((
        EventState { status: event.status, version },
        EventState { status: to, version: version + 1 },
    ))
}

fn allowed(event: &LockedEvent, version: i64) -> Result<(), EngineError> {
    if event.version != version {
        return Err(EngineError::refused_with(Code::Stale, |refusal| {
            refusal.detail = Some(format!("The event is {} now.", event.status.as_str()));
        }));
    }
    if event.status != EventStatus::Dead {
        return Err(EngineError::refused_with(Code::NotAllowedInState, |refusal| {
            refusal.detail = Some(format!(
                "Only a dead event is requeued or skipped; this one is {}.",
                event.status.as_str()
            ));
        }));
    }
    Ok(())
}
