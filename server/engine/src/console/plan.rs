//! How one operation would be undone, or is.

use domain::{
    access::Permission,
    action::TargetType,
    ids::{CompensationId, OperationId},
    machine::Machine as _,
    problem::Code,
    record::{RecordName, RecordType},
    view::{CompensationPlan, FlowRef, UndoDetail},
};

use super::offers::offers;
use crate::{
    Engine, StaffCaller,
    compensation::{plan_of_operation, plan_of_workflow},
    error::EngineError,
    store::{Target, flow_links, outbox_listing, record_ref, workflow::Address, workflow_listing},
};

impl Engine {
    /// What undoing an operation would do, or why nothing can; once asked for, where that stands.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn compensation_plan(
        &self,
        by: &StaffCaller,
        id: OperationId,
    ) -> Result<CompensationPlan, EngineError> {
        by.require(Permission::Read)?;
        let (engine, target) = (self.clone(), Target { tenant: by.tenant_id(), id });
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(target.tenant).await?;
            let plan = plan_of_operation(&mut tx, &engine.settings.limits, target).await?;
            tx.commit().await?;
            plan.ok_or_else(|| EngineError::refused(Code::NotFound))
        })
        .await
    }

    /// One undo beside what it undoes, with what can be decided about it.
    ///
    /// # Errors
    /// Refused: `permission_missing`; `not_found`, the same for one of another tenant.
    pub async fn undo(
        &self,
        by: &StaffCaller,
        id: CompensationId,
    ) -> Result<UndoDetail, EngineError> {
        by.require(Permission::Read)?;
        let (engine, by, tenant) = (self.clone(), by.clone(), by.tenant_id());
        Self::detached(async move {
            let not_found = || EngineError::refused(Code::NotFound);
            let wanted = [RecordName::new(RecordType::Compensation, id.uuid())];
            let mut tx = engine.pools.begin_console(tenant).await?;
            let record = record_ref::of(&mut tx, tenant, &wanted).await?.pop();
            let record = record.ok_or_else(not_found)?;
            let undoes: OperationId = record.page_id.parse().map_err(|_| not_found())?;
            let target = Target { tenant, id: undoes };
            let plan = plan_of_operation(&mut tx, &engine.settings.limits, target).await?;
            let forward = outbox_listing::operation(&mut tx, tenant, undoes).await?;
            let step = flow_links::of_link(&mut tx, tenant, id).await?.and_then(|(_, step)| step);
            let (mut workflow, mut left) = (None, false);
            if let Some((flow, step_key)) = step {
                let at = Address { tenant, id: flow };
                let whole = plan_of_workflow(&mut tx, &engine.settings.limits, at).await?;
                left = whole.something_left();
                let row = workflow_listing::rows(&mut tx, tenant, &[flow]).await?.pop();
                workflow = row.map(|row| FlowRef {
                    id: flow,
                    kind: row.kind,
                    key: row.key,
                    status: row.status,
                    step_key,
                });
            }
            tx.commit().await?;
            let planned =
                plan.into_iter().flat_map(|plan| plan.awaited.into_iter().chain(plan.undone));
            let planned = planned
                .into_iter()
                .find(|planned| planned.undo.as_ref().is_some_and(|undo| undo.id == id));
            let mut planned = planned.ok_or_else(not_found)?;
            planned.step_key = workflow.as_ref().map(|flow| flow.step_key.clone());
            let status = planned.undo.as_ref().map_or("", |undo| undo.status.as_str());
            let actions = offers(&by, TargetType::Compensation, status);
            let ended = match planned.undo.as_ref().and_then(|undo| undo.undo_id) {
                Some(undo) => Some(engine.operation(&by, undo).await?.verdict.sentence),
                None => None,
            };
            Ok(UndoDetail { planned, forward, ended, workflow, left, actions })
        })
        .await
    }
}
