//! What a service sees of its operation.

use chrono::{DateTime, Utc};
use domain::{ids::OperationId, money::Money, operation::Status, problem::Code};
use serde::Serialize;

use crate::{
    Engine,
    caller::ServiceCaller,
    error::EngineError,
    store::{Target, detail},
};

/// An operation without its contents.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceView {
    /// Its id.
    pub id: OperationId,
    /// The kind's name.
    pub operation: String,
    /// The client's key.
    pub key: String,
    /// Where it stands.
    pub status: Status,
    /// Moves with all that a person can see.
    pub version: i64,
    /// Calls begun.
    pub attempt: i32,
    /// Whether a person must decide.
    pub needs_manual: bool,
    /// The provider's reference.
    pub external_reference: Option<String>,
    /// Amount at stake.
    #[serde(flatten)]
    pub amount: Option<Money>,
    /// When it was reserved.
    pub created_at: DateTime<Utc>,
    /// When it last moved.
    pub updated_at: DateTime<Utc>,
    /// When it became final.
    pub completed_at: Option<DateTime<Utc>>,
    /// When its contents were removed.
    pub tombstoned_at: Option<DateTime<Utc>>,
}

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
