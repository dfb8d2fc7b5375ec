//! Sets that nobody started: after their time they expire, and nothing is done. Guards against a set that is
//! started long after anybody looked at it. The database refuses such a start, too.

use crate::{Engine, error::EngineError, report::Report, store::bulk};

/// Bulks that one batch expires.
const BATCH: i64 = 100;

impl Engine {
    /// Expires a batch of bulks that were not started in time (B9).
    ///
    /// # Errors
    /// The database's.
    pub async fn expire_bulks(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut tx = engine.pools.begin_engine().await?;
            let handled = bulk::expire_due(&mut tx, BATCH).await?;
            tx.commit().await?;
            Ok(Report { handled })
        })
        .await
    }
}
