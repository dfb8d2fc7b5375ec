//! Which bulk is worked on next, by whom: one is held by one run at a time, and a run that dies leaves it
//! to the next once its time is over.

use domain::bulk::BulkState;

use crate::{
    Engine,
    database::Tx,
    error::EngineError,
    report::Report,
    store::bulk::{self, Bulk, Held},
};

impl Engine {
    /// Brings the bulk that has waited longest one batch further.
    ///
    /// # Errors
    /// The database's; what was done before stays done, and the rest is done by the next run.
    pub async fn advance_bulks(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut tx = engine.pools.begin_engine().await?;
            let held = bulk::claim(&mut tx).await?;
            tx.commit_quietly().await?;
            let Some(held) = held else { return Ok(Report::default()) };
            let handled = engine.advance(held).await?;
            let mut tx = engine.pools.begin_console(held.tenant).await?;
            bulk::give_back(&mut tx, held).await?;
            tx.commit_quietly().await?;
            Ok(Report { handled })
        })
        .await
    }

    async fn advance(&self, held: Held) -> Result<u64, EngineError> {
        let mut tx = self.pools.begin_console(held.tenant).await?;
        let now = bulk::find(&mut tx, held.tenant, held.id).await?;
        tx.commit_quietly().await?;
        match now.map(|now| now.row.status) {
            Some(BulkState::Freezing) => self.freeze_on(held).await,
            Some(BulkState::Checking) => self.check_on(held).await,
            Some(BulkState::Running) => self.run_on(held).await,
            _ => Ok(0),
        }
    }
}

/// The bulk, locked, where it still stands so and nobody else works on it by now.
pub(super) async fn still_held(
    tx: &mut Tx,
    held: Held,
    state: BulkState,
) -> Result<Option<Bulk>, EngineError> {
    let now = bulk::lock(tx, held.tenant, held.id).await?;
    Ok(now.filter(|now| now.row.status == state && now.fence == held.fence))
}
