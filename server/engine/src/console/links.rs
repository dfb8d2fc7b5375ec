//! What an operation belongs to: the workflow that made it, and, where it is an undo, what it undoes.

use domain::{
    access::Permission,
    ids::OperationId,
    view::{FlowRef, OperationLinks},
};

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{Target, compensation, flow_links, outbox_listing, workflow_listing},
};

impl Engine {
    /// What an operation belongs to; nothing for one that is not the caller's.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn operation_links(
        &self,
        by: &StaffCaller,
        id: OperationId,
    ) -> Result<OperationLinks, EngineError> {
        by.require(Permission::Read)?;
        let (engine, target) = (self.clone(), Target { tenant: by.tenant_id(), id });
        Self::detached(async move {
            let tenant = target.tenant;
            let mut tx = engine.pools.begin_console(tenant).await?;
            let mut step = flow_links::step_of(&mut tx, target).await?;
            let mut undoes = None;
            if let Some(link) = compensation::of_undo(&mut tx, target).await?
                && let Some((forward, of)) = flow_links::of_link(&mut tx, tenant, link).await?
            {
                step = step.or(of);
                let forward = outbox_listing::operation(&mut tx, tenant, forward).await?;
                undoes = forward.map(|forward| (link, forward));
            }
            let workflow = match step {
                Some((id, step_key)) => {
                    let row = workflow_listing::rows(&mut tx, tenant, &[id]).await?.pop();
                    row.map(|row| FlowRef {
                        id,
                        kind: row.kind,
                        key: row.key,
                        status: row.status,
                        step_key,
                    })
                }
                None => None,
            };
            tx.commit().await?;
            Ok(OperationLinks { workflow, undoes })
        })
        .await
    }
}
