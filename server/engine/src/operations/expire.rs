//! Expiry: after its retention a final operation loses its contents and keeps its key closed (O27,
//! D38, D39).
//!
//! Guards against the backlog that hides the rest: what something still points at is stepped over,
//! and the walk goes on behind it.

use super::{lock_with_kind, logged, retrying, walk::Mark};
use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    report::Report,
    store::{Target, answer, due, pointer, workflow_bodies},
};

/// Rows of one run.
const BATCH: usize = 100;
/// Rows that one look reads.
const LOOK: i64 = 1_000;
/// Looks of one run that find nothing to do.
const LOOKS: usize = 10;

impl Engine {
    /// Makes tombstones of one batch of operations whose retention is over.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn expire_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut handled = 0;
            for _ in 0..LOOKS {
                let mut db = engine.pools.engine().acquire().await?;
                let seen =
                    due::expirable(&mut db, engine.walks.expiry().map(Mark::key), LOOK).await?;
                drop(db);
                let is_end = i64::try_from(seen.len()).unwrap_or(LOOK) < LOOK;
                let mut done = 0;
                for row in &seen {
                    if done == BATCH {
                        break;
                    }
                    engine.walks.set_expiry(Some(Mark { at: row.at, id: row.target.id }));
                    if row.is_free {
                        done += 1;
                        let expired = retrying(|| engine.expire(row.target)).await;
                        handled += u64::from(logged(row.target, expired)?);
                    }
                }
                if done == BATCH {
                    break;
                }
                if is_end {
                    // Round again: what was pointed at may be free by then.
                    engine.walks.set_expiry(None);
                    break;
                }
                if done > 0 {
                    break;
                }
            }
            Ok(Report { handled })
        })
        .await
    }

    async fn expire(&self, target: Target) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (row, _) = lock_with_kind(&mut tx, target).await?;
        let janitor = Actor::new("janitor", &self.settings.worker_name);
        // Something may have come to point at it since it was found.
        if pointer::holds(&mut tx, target).await? {
            return Ok(false);
        }
        let expired = answer::tombstone(&mut tx, &row, &janitor).await?;
        if expired {
            workflow_bodies::empty_after(&mut tx, target).await?;
        }
        tx.commit().await?;
        Ok(expired)
    }
}
