//! What becomes of settled messages (N6): past its window a message is its bare id, which goes on
//! guarding; that goes too only where its consumer's policy says when.

use crate::{
    Engine, EngineError,
    report::Report,
    store::{inbox, inbox_failure},
};

/// Rows of one batch.
const BATCH: i64 = 200;

impl Engine {
    /// Shrinks and purges messages, one bounded batch; messages that wait for a person are left
    /// alone, however old.
    ///
    /// # Errors
    /// The database's.
    pub async fn shrink_inbox(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut tx = engine.pools.begin_engine().await?;
            let shrunk = inbox::shrink(&mut tx, &engine.settings.worker_name, BATCH).await?;
            tx.commit().await?;
            let mut tx = engine.pools.begin_engine().await?;
            let purged = inbox::purge(&mut tx, BATCH).await?;
            tx.commit().await?;
            let mut tx = engine.pools.begin_engine().await?;
            let forgotten = inbox_failure::forget(&mut tx, BATCH).await?;
            tx.commit().await?;
            Ok(Report { handled: shrunk + purged + forgotten })
        })
        .await
    }
}
