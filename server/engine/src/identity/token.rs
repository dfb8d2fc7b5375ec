//! Bearer tokens of the JSON API.

use super::{new_secret, secret_hash};
use crate::{
    Caller, Engine, RequestOrigin,
    error::EngineError,
    store::token::{self, Bearer},
};

/// What a service's token begins with, and a person's: scanners of secrets find them by it, and whoever
/// finds one knows what it opens.
const PREFIXES: (&str, &str) = ("onceover_service_", "onceover_person_");

/// A new token's text and what is stored of it.
pub(crate) fn new_token(own: bool) -> (String, Vec<u8>) {
    let prefix = if own { PREFIXES.1 } else { PREFIXES.0 };
    let text = format!("{prefix}{}", new_secret());
    let hash = secret_hash(&text);
    (text, hash)
}

impl Engine {
    /// Who a bearer token stands for; `None` where it is unknown, expired or revoked, or its
    /// person is disabled or has left the tenant. Its use is noted to the minute.
    ///
    /// # Errors
    /// The database's.
    pub async fn caller_by_bearer(
        &self,
        bearer: &str,
        request: RequestOrigin,
    ) -> Result<Option<Caller>, EngineError> {
        let (engine, hash) = (self.clone(), secret_hash(bearer));
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let Some(bearer) = token::bearer(&mut db, &hash, request).await? else {
                return Ok(None);
            };
            drop(db);
            if bearer.note {
                engine.note_use(&bearer).await;
            }
            Ok(Some(bearer.caller))
        })
        .await
    }

    /// Best effort: that a use could not be noted refuses nobody.
    async fn note_use(&self, bearer: &Bearer) {
        let noted = async {
            let mut tx = self.pools.begin_identity(bearer.tenant).await?;
            token::note_use(&mut tx, bearer.tenant, bearer.token).await?;
            tx.commit().await?;
            Ok::<_, EngineError>(())
        };
        if let Err(error) = noted.await {
            tracing::warn!(%error, "the use of a token was not noted");
        }
    }
}
