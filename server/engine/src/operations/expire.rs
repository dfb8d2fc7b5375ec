//! Expiry: after its retention a final operation loses its contents and keeps its key closed (O27,
//! D38, D39).

use super::{lock_with_kind, logged, retrying};
use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    report::Report,
    store::{answer, due, incident},
};

/// Rows of one run.
const BATCH: i64 = 100;

impl Engine {
    /// Makes tombstones of one batch of operations whose retention is over.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn expire_due(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.engine().acquire().await?;
            let due = due::due_for_expiry(&mut db, BATCH).await?;
            drop(db);
            let mut handled = 0;
            for target in due {
                let expired = retrying(|| async {
                    let mut tx = engine.pools.begin_engine().await?;
                    let (row, _) = lock_with_kind(&mut tx, target).await?;
                    let janitor = Actor::new("janitor", &engine.settings.worker_name);
                    // An incident may have been opened since it was found due.
                    if incident::any_open(&mut tx, target).await? {
                        return Ok(false);
                    }
                    let expired = answer::tombstone(&mut tx, &row, &janitor).await?;
                    tx.commit().await?;
                    Ok(expired)
                })
                .await;
                handled += u64::from(logged(target, expired)?);
            }
            Ok(Report { handled })
        })
        .await
    }
}
