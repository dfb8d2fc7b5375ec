//! Starting the call and keeping the lease (O2, O5).

use chrono::{DateTime, Utc};
use domain::{
    ids::OperationId,
    operation::{Event, Status},
    problem::Code,
};

use super::{commit_unless_fault, lock_with_kind, moves::Moves, retrying};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    database::Tx,
    error::EngineError,
    store::{Target, kind, lease, operation::Change},
};

/// The call may begin.
#[derive(Clone, Debug)]
pub struct Started {
    /// Which call this is, from 1.
    pub attempt: i32,
    /// Until when the lease lasts.
    pub lease_until: DateTime<Utc>,
    /// The key to send to the provider (D15).
    pub provider_key: String,
    /// The version after.
    pub version: i64,
}

/// The lease was renewed.
#[derive(Clone, Debug)]
pub struct Beat {
    /// Until when.
    pub lease_until: DateTime<Utc>,
}

impl Engine {
    /// Opens the only way into *executing* (O2): the provider may be called when this returns,
    /// never before.
    ///
    /// # Errors
    /// Refused: `fence_lost`, `already_started` (the same fence again), `lease_too_short`,
    /// `not_found`.
    pub async fn start(
        &self,
        by: &ServiceCaller,
        id: OperationId,
        fence: i64,
    ) -> Result<Started, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let target = Target { tenant: by.tenant_id(), id };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let started =
                    start_in(&mut tx, target, fence, by.actor(), |kind| by.require(kind)).await;
                commit_unless_fault(tx, started).await
            })
            .await
        })
        .await
    }

    /// Renews a lease.
    ///
    /// # Errors
    /// Refused: `fence_lost`, `not_found`.
    pub async fn heartbeat(
        &self,
        by: &ServiceCaller,
        id: OperationId,
        fence: i64,
    ) -> Result<Beat, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let target = Target { tenant: by.tenant_id(), id };
            let view = engine.operation_for_service(&by, id).await?;
            let mut db = engine.pools.engine().acquire().await?;
            let kind = kind::find(&mut db, target.tenant, &view.operation)
                .await?
                .ok_or_else(|| EngineError::refused(Code::KindUnknown))?;
            let lease_until = lease::beat(&mut db, target, fence, kind.lease_ms)
                .await?
                .ok_or_else(|| EngineError::refused(Code::FenceLost))?;
            Ok(Beat { lease_until })
        })
        .await
    }
}

/// Starts inside a transaction; a refusal leaves nothing to roll back.
pub(crate) async fn start_in(
    tx: &mut Tx,
    target: Target,
    fence: i64,
    actor: Actor,
    covers: impl Fn(&str) -> Result<(), EngineError>,
) -> Result<Started, EngineError> {
    let (mut row, kind) = lock_with_kind(tx, target).await?;
    covers(&row.operation)?;
    if row.fence != fence || !matches!(row.status, Status::Reserved | Status::Executing) {
        return Err(EngineError::refused(Code::FenceLost));
    }
    if row.status == Status::Executing {
        return Err(EngineError::refused(Code::AlreadyStarted));
    }
    let held = lease::lock(tx, target)
        .await?
        .filter(|held| held.fence == fence)
        .ok_or_else(|| EngineError::refused(Code::FenceLost))?;
    if held.left_ms < kind.call_deadline_ms + kind.start_margin_ms() {
        return Err(EngineError::refused(Code::LeaseTooShort));
    }
    let mut moves = Moves::new(tx, actor);
    let event = moves
        .make(&mut row, &kind, Event::Start, Change { claims: Some(0), ..Change::default() })
        .await?;
    moves.finish().await?;
    if event != Event::Start {
        return Err(EngineError::refused(Code::FenceLost));
    }
    Ok(Started {
        attempt: row.attempt,
        lease_until: held.lease_until,
        provider_key: target.id.to_string(),
        version: row.version,
    })
}
