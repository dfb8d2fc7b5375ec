//! Deliveries that failed (N3): each rolled back whole, counted in a transaction of its own, and at
//! the consumer's bound kept as dead, so that a message which can never be done stops coming.

use domain::{idempotency::HASH_VERSION, inbox::InboxState, problem::Code};
use serde_json::json;

use super::{
    message::{Incoming, Received},
    receive::fresh,
};
use crate::{
    Engine,
    error::EngineError,
    operations::{bounded, retrying},
    store::{
        inbox::{self, NewMessage},
        inbox_consumer, inbox_failure,
    },
};

/// The longest error kept, in bytes.
const MAX_ERROR: usize = 1_000;

/// Whether an error speaks against the message: a database that does not answer, or a race that was
/// lost, says nothing about it, as a broker that is down burns no attempt of an event (D28).
pub(super) fn counts(error: &EngineError) -> bool {
    !error.is_transient() && error.refusal().code != Code::Unavailable
}

/// An error in words that people may read; a fault by its code alone (T41).
pub(super) fn worded(error: &EngineError) -> String {
    let refusal = error.refusal();
    let text = match &refusal.detail {
        Some(detail) => format!("{}: {detail}", refusal.code),
        None => format!("{}: {}", refusal.code, refusal.code.title()),
    };
    bounded(text.replace('\0', ""), MAX_ERROR).0
}

impl Engine {
    /// Counts a failed delivery; what is on record where that made the message dead. The bound is
    /// looked at in a second transaction, so that locks are taken in one order everywhere: the
    /// message, then its count.
    pub(super) async fn count_failure(
        &self,
        incoming: &Incoming,
        error: &EngineError,
    ) -> Result<Option<Received>, EngineError> {
        if error.is_fault() {
            tracing::error!(
                consumer = incoming.consumer,
                source = incoming.source,
                error = ?error,
                "a message's effect failed"
            );
        }
        let words = worded(error);
        let failures = retrying(|| async {
            let mut tx = self.pools.begin_engine().await?;
            let failures = inbox_failure::count(&mut tx, incoming.address(), &words).await?;
            tx.commit().await?;
            Ok(failures)
        })
        .await?;
        retrying(|| self.bury(incoming, failures, &words, error.refusal().code)).await
    }

    async fn bury(
        &self,
        incoming: &Incoming,
        failures: i32,
        words: &str,
        code: Code,
    ) -> Result<Option<Received>, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (policy, _) =
            inbox_consumer::policy(&mut tx, incoming.tenant, &incoming.consumer).await?;
        if failures < policy.max_failures {
            tx.rollback().await?;
            return Ok(None);
        }
        let own = incoming
            .fingerprint(HASH_VERSION)
            .ok_or_else(|| EngineError::Unreadable("own hash version".into()))?;
        let new = NewMessage {
            state: InboxState::Dead,
            rule: "N3",
            failures,
            last_error: Some(words),
            detail: Some(json!({ "failures": failures, "error": code })),
            ..fresh(incoming, &own.hash, &policy)
        };
        // Another delivery may have done it meanwhile: then it is on record, and not dead.
        let Some(id) = inbox::insert(&mut tx, new).await? else {
            tx.rollback().await?;
            return Ok(None);
        };
        inbox_failure::take(&mut tx, incoming.address()).await?;
        tx.commit().await?;
        Ok(Some(Received {
            id,
            first: true,
            state: InboxState::Dead,
            operation_id: None,
            workflow_id: None,
            error: Some(words.to_owned()),
        }))
    }
}
