//! How one operation would be undone, or is.

use domain::{access::Permission, ids::OperationId, problem::Code, view::CompensationPlan};

use crate::{
    Engine, StaffCaller, compensation::plan_of_operation, error::EngineError, store::Target,
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
}
