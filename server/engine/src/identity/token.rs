//! Bearer tokens of the JSON API.

use super::secret_hash;
use crate::{Caller, Engine, error::EngineError, store::token};

impl Engine {
    /// Who a bearer token stands for; `None` where it is unknown, expired or revoked, or its
    /// person is disabled or has left the tenant.
    ///
    /// # Errors
    /// The database's.
    pub async fn caller_by_bearer(
        &self,
        bearer: &str,
        request_id: &str,
    ) -> Result<Option<Caller>, EngineError> {
        let (engine, hash, request_id) = (self.clone(), secret_hash(bearer), request_id.to_owned());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            token::caller(&mut db, &hash, request_id).await
        })
        .await
    }
}
