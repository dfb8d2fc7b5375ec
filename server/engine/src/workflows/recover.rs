//! Workflows that no process carries on: their version is missing where their kind is known (W5).
//!
//! A process without a version leaves it to those that have it (D33), for a deployment mixes
//! binaries. Only one that stays due for long, while this process has the same kind in another
//! version, was left behind, and a person must hear of it (I5).

use domain::workflow::WorkflowState;
use serde_json::json;

use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    operations::retrying,
    report::Report,
    store::workflow::{self, Address},
};

/// Workflows of one run.
const BATCH: i64 = 50;
/// How long a version may be away: longer than two binaries stand beside each other in a
/// deployment.
const GRACE_MS: i64 = 15 * 60 * 1_000;

impl Engine {
    /// Blocks one batch of workflows that have been due for a quarter of an hour under a version
    /// that this process, which knows their kind, does not have.
    ///
    /// # Errors
    /// The database's; what was done before stays done.
    pub async fn block_unserved_workflows(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let (kinds, versions) = engine.workflows.served();
            if kinds.is_empty() {
                return Ok(Report::default());
            }
            let mut db = engine.pools.engine().acquire().await?;
            let left = workflow::overdue(&mut db, &kinds, &versions, GRACE_MS, BATCH).await?;
            drop(db);
            let mut handled = 0;
            for at in left {
                let blocked = retrying(|| engine.block_unserved(at)).await;
                handled += u64::from(engine.passed_over(at, blocked).await?);
            }
            Ok(Report { handled })
        })
        .await
    }

    async fn block_unserved(&self, at: Address) -> Result<bool, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let Some(mut flow) = workflow::lock(&mut tx, at).await? else { return Ok(false) };
        // A process that has the version may have come in between.
        let overdue = workflow::is_overdue(&mut tx, at, GRACE_MS).await?;
        if !overdue || !matches!(flow.status, WorkflowState::Running | WorkflowState::Waiting) {
            return Ok(false);
        }
        let cause = format!(
            "version_missing: no process has version {} of {} any more",
            flow.definition_version, flow.kind
        );
        let change = workflow::Change {
            cause: Some(&cause),
            detail: Some(json!({ "cause": cause })),
            ..Default::default()
        };
        let actor = Actor::new("worker", &self.settings.worker_name);
        workflow::advance(&mut tx, &mut flow, "W5", WorkflowState::Blocked, &actor, change).await?;
        tx.commit().await?;
        Ok(true)
    }
}
