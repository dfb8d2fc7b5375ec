//! Handing queued work out: reserved and unheld, due for another attempt, or taken over while no
//! call had begun (O4, O13).

use chrono::{DateTime, Utc};
use domain::{
    ids::{OperationId, TenantId},
    money::Money,
    operation::Event,
    problem::Code,
};

use super::{lock_with_kind, moves::Moves, retrying};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    database::Tx,
    error::EngineError,
    store::{Target, answer, compensation, due, lease, operation::Change},
};

/// The most that one call hands out.
const MAX_CLAIM: i64 = 100;

/// An operation that the caller now holds; no call has begun.
#[derive(Clone, Debug)]
pub struct ClaimedWork {
    /// The operation.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The client's key.
    pub key: String,
    /// Every further call carries it.
    pub fence: i64,
    /// Until when, unless renewed.
    pub lease_until: DateTime<Utc>,
    /// The lease's length, in milliseconds.
    pub lease_ms: i64,
    /// The key to send to the provider (D15).
    pub provider_key: String,
    /// The payload as sent.
    pub payload: Vec<u8>,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// Calls begun before.
    pub attempt: i32,
}

impl Engine {
    /// Hands out up to `max` operations of the kinds named.
    ///
    /// # Errors
    /// Refused: `unprocessable` without a kind, `token_scope`.
    pub async fn claim(
        &self,
        by: &ServiceCaller,
        kinds: &[String],
        max: i64,
        lease_ms: Option<i64>,
    ) -> Result<Vec<ClaimedWork>, EngineError> {
        if kinds.is_empty() {
            return Err(EngineError::field(
                Code::Unprocessable,
                "kinds",
                "name the kinds that you can do",
            ));
        }
        for kind in kinds {
            by.require(kind)?;
        }
        let (engine, by, kinds) = (self.clone(), by.clone(), kinds.to_vec());
        Self::detached(async move {
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let work =
                    claim_for(&mut tx, by.tenant_id(), &kinds, max, lease_ms, &by.actor()).await?;
                tx.commit().await?;
                Ok(work)
            })
            .await
        })
        .await
    }
}

/// Claims inside a transaction. An operation that was claimed too often without a start is ended
/// instead (O4b), and one that evidence contradicts is halted: neither is handed out.
pub(crate) async fn claim_for(
    tx: &mut Tx,
    tenant: TenantId,
    kinds: &[String],
    max: i64,
    lease_ms: Option<i64>,
    actor: &Actor,
) -> Result<Vec<ClaimedWork>, EngineError> {
    let max = max.clamp(1, MAX_CLAIM);
    let mut ids = due::due_for_retry(tx, tenant, kinds, max).await?;
    let left = max - i64::try_from(ids.len()).unwrap_or(max);
    if left > 0 {
        ids.extend(due::claimable(tx, tenant, kinds, left).await?);
    }
    hand_out(tx, tenant, ids, lease_ms, actor).await
}

/// Hands out operations by their ids, as [`claim_for`] does with those it finds due.
pub(crate) async fn hand_out(
    tx: &mut Tx,
    tenant: TenantId,
    ids: Vec<OperationId>,
    lease_ms: Option<i64>,
    actor: &Actor,
) -> Result<Vec<ClaimedWork>, EngineError> {
    let mut work = Vec::with_capacity(ids.len());
    let mut events = Vec::new();
    for id in ids {
        let target = Target { tenant, id };
        let (mut row, kind) = lock_with_kind(tx, target).await?;
        // The list was read before the lock: a rival's lease may have come in between.
        if lease::lock(tx, target).await?.is_some_and(|held| held.is_live()) {
            continue;
        }
        let retried = row.status == domain::operation::Status::FailedRetryable;
        // An undo may have been asked for in between: what is to be undone is not tried again (O13).
        if retried && compensation::stops_retry(tx, target).await? {
            continue;
        }
        let mut moves = Moves::new(tx, actor.clone());
        if retried {
            let change = Change { claims: Some(0), ..Change::default() };
            if moves.make(&mut row, &kind, Event::Retry, change).await? != Event::Retry {
                events.push(moves.into_told());
                continue;
            }
        }
        if row.claims >= kind.max_claims {
            let change = Change { failure_code: Some("crash_loop"), ..Change::default() };
            moves.make(&mut row, &kind, Event::ClaimBound, change).await?;
            events.push(moves.into_told());
            continue;
        }
        let change = Change { claims: Some(row.claims + 1), ..Change::default() };
        moves.make(&mut row, &kind, Event::TakeOver, change).await?;
        events.push(moves.into_told());
        let lease_ms =
            lease_ms.unwrap_or(kind.lease_ms).clamp(kind.call_deadline_ms + 1, kind.lease_ms);
        let lease_until = lease::grant(tx, target, row.fence, &actor.name, lease_ms).await?;
        let payload = answer::payload(tx, target).await?.unwrap_or_default();
        work.push(ClaimedWork {
            id,
            operation: row.operation,
            key: row.key,
            fence: row.fence,
            lease_until,
            lease_ms,
            provider_key: id.to_string(),
            payload,
            amount: row.amount,
            attempt: row.attempt,
        });
    }
    Moves::write_all(tx, events).await?;
    Ok(work)
}
