//! What a service sees of its operation.

use domain::{ids::OperationId, problem::Code};

use crate::{
    Engine,
    caller::ServiceCaller,
    error::EngineError,
    store::{Target, detail, detail::ServiceView},
};

impl Engine {
    /// An operation of the service's tenant and kinds; any other is not found.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn operation_for_service(
        &self,
        by: &ServiceCaller,
        id: OperationId,
    ) -> Result<ServiceView, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        detail::for_service(&mut db, Target { tenant: by.tenant_id(), id })
            .await?
            .filter(|view| by.covers(&view.operation))
            .ok_or_else(|| EngineError::refused(Code::NotFound))
    }
}
