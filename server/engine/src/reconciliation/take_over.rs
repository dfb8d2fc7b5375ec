//! Taking over from a worker that stopped beating while its call may have been under way: the
//! operation becomes unknown, never straight back to run (O11, D18).

use domain::operation::{Event, Status};

use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    operations::{Moves, lock_with_kind, logged, retrying},
    report::Report,
    store::{Target, lease, operation::Change},
};

/// Rows of one run.
const BATCH: i64 = 100;

impl Engine {
    /// Makes unknown one batch of executing operations whose lease ended.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn take_over_expired(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let lapsed = lease::lapsed_calls(&mut db, BATCH).await?;
            drop(db);
            let mut handled = 0;
            for target in lapsed {
                handled += u64::from(logged(target, retrying(|| engine.take_over(target)).await)?);
            }
            Ok(Report { handled })
        })
        .await
    }

    async fn take_over(&self, target: Target) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (mut row, kind) = lock_with_kind(&mut tx, target).await?;
        let Some(held) = lease::lock(&mut tx, target).await? else {
            return Ok(false);
        };
        if row.status != Status::Executing || !lease::end_lapsed(&mut tx, target, row.fence).await?
        {
            return Ok(false);
        }
        let reconciler = Actor::new("reconciler", &self.settings.worker_name);
        let mut moves = Moves::new(&mut tx, reconciler);
        let detail = serde_json::json!({"holder": held.owner, "lease_until": held.lease_until});
        moves
            .make(
                &mut row,
                &kind,
                Event::LeaseLost,
                Change { detail: Some(detail), ..Change::default() },
            )
            .await?;
        moves.finish().await?;
        tx.commit().await?;
        Ok(true)
    }
}
