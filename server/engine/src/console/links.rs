//! What an operation belongs to: the workflow that made it, what it undoes, where it is an undo, the events
//! that tell of it, and the messages that brought it or were about it.

use domain::{
    access::Permission,
    ids::OperationId,
    record::RecordType,
    view::{FlowRef, OperationLinks, RecordRef},
};

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{
        Target, compensation, flow_links, operation_story, outbox_listing, record_ref,
        workflow_listing,
    },
};

/// Events and messages that the page links, the last ones.
const MAX_BESIDE: usize = 10;

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
            let one_more = i64::try_from(MAX_BESIDE + 1).unwrap_or(i64::MAX);
            let beside = operation_story::beside(&mut tx, target, one_more).await?;
            let beside = record_ref::of(&mut tx, tenant, &beside).await?;
            tx.commit().await?;
            let (mut events, mut messages): (Vec<_>, Vec<_>) =
                beside.into_iter().partition(|record| record.record == RecordType::Event);
            let more_events = last(&mut events);
            last(&mut messages);
            Ok(OperationLinks { workflow, undoes, events, more_events, messages })
        })
        .await
    }
}

/// Keeps the last of these, oldest first; whether there were more. Ids grow with time.
fn last(records: &mut Vec<RecordRef>) -> bool {
    records.sort_by(|a, b| a.id.cmp(&b.id));
    let over = records.len().saturating_sub(MAX_BESIDE);
    records.drain(..over);
    over > 0
}
