//! Taking a message in (N1, N2, N4): insert first, the effect in the same transaction, and one
//! answer for every further delivery.

use std::sync::Arc;

use domain::{
    idempotency::HASH_VERSION,
    inbox::{InboxState, MAX_AHEAD_MINUTES},
    problem::Code,
};
use serde_json::json;

use super::{
    effect::{Done, Effect, Origin},
    failure,
    message::{Incoming, Received},
};
use crate::{
    Engine,
    database::Tx,
    error::EngineError,
    operations::retrying,
    store::{
        inbox::{self, NewMessage, Settling, Stored},
        inbox_conflict,
        inbox_consumer::{self, ConsumerPolicy},
        inbox_failure,
    },
};

/// What became of a delivery, and what its effect said.
pub(super) struct Taken {
    pub(super) received: Received,
    /// What was done, where this delivery is the one that did it.
    pub(super) done: Option<Done>,
}

/// One try at a delivery.
pub(super) enum Tried {
    Taken(Taken),
    /// The id stands for another content; the conflict is kept.
    Reused,
    /// It claims to come from the future.
    TooNew,
}

impl Engine {
    /// Takes a message in, in a task of its own (F5); counts it where its effect fails.
    pub(super) async fn take_in(&self, incoming: Incoming) -> Result<Taken, EngineError> {
        let (engine, incoming) = (self.clone(), Arc::new(incoming));
        Self::detached(async move {
            let (trying, message) = (engine.clone(), incoming.clone());
            // In a task of its own once more: an effect that panics is a failed delivery, too.
            let tried =
                Self::detached(async move { retrying(|| trying.take_once(&message)).await }).await;
            match tried {
                Ok(Tried::Taken(taken)) => Ok(taken),
                Ok(Tried::Reused) => Err(EngineError::refused(Code::MessageReused)),
                Ok(Tried::TooNew) => Err(EngineError::field(
                    Code::RequestInvalid,
                    "produced_at",
                    format!("produced_at lies more than {MAX_AHEAD_MINUTES} minutes in the future"),
                )),
                Err(error) if failure::counts(&error) => {
                    match engine.count_failure(&incoming, &error).await? {
                        Some(received) => Ok(Taken { received, done: None }),
                        None => Err(error),
                    }
                }
                Err(error) => Err(error),
            }
        })
        .await
    }

    async fn take_once(&self, incoming: &Incoming) -> Result<Tried, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let (policy, now) =
            inbox_consumer::policy(&mut tx, incoming.tenant, &incoming.consumer).await?;
        let ahead = chrono::TimeDelta::minutes(MAX_AHEAD_MINUTES);
        if incoming.produced_at.signed_duration_since(now) > ahead {
            tx.rollback().await?;
            return Ok(Tried::TooNew);
        }
        let age = now.signed_duration_since(incoming.produced_at);
        let late = age.num_milliseconds() > policy.window_ms;
        let own = incoming
            .fingerprint(HASH_VERSION)
            .ok_or_else(|| EngineError::Unreadable("own hash version".into()))?;
        loop {
            let (state, rule) =
                if late { (InboxState::Quarantined, "N4") } else { (InboxState::Processing, "N1") };
            let new = NewMessage { state, rule, ..fresh(incoming, &own.hash, &policy) };
            if let Some(id) = inbox::insert(&mut tx, new).await? {
                let taken = if late {
                    let received = Received {
                        id,
                        first: true,
                        state,
                        operation_id: None,
                        workflow_id: None,
                        error: None,
                    };
                    Taken { received, done: None }
                } else {
                    self.process(&mut tx, incoming, id).await?
                };
                tx.commit().await?;
                return Ok(Tried::Taken(taken));
            }
            // The second statement of D23; nothing found means that the rival rolled back.
            let Some(known) = inbox::lock_by_address(&mut tx, incoming.address()).await? else {
                continue;
            };
            let tried = known_before(&mut tx, incoming, known).await?;
            tx.commit().await?;
            return Ok(tried);
        }
    }

    /// Does the effect and settles the message (N2), in the transaction that inserted it.
    async fn process(
        &self,
        tx: &mut Tx,
        incoming: &Incoming,
        id: domain::ids::MessageId,
    ) -> Result<Taken, EngineError> {
        let failures = inbox_failure::take(tx, incoming.address()).await?;
        let done = match incoming.effect_bytes() {
            None => Done::default(),
            Some(bytes) => {
                let origin = Origin {
                    address: incoming.address(),
                    payload: &incoming.payload,
                    actor: &incoming.actor,
                };
                Effect::parse(bytes)?.carry_out(tx, self, origin).await?
            }
        };
        let settling = Settling {
            id,
            from: InboxState::Processing,
            to: InboxState::Processed,
            rule: "N2",
            operation_id: done.operation_id,
            workflow_id: done.workflow_id,
            failures,
            actor: &incoming.actor,
            detail: done.detail(),
        };
        if !inbox::settle(tx, incoming.tenant, settling).await? {
            return Err(EngineError::Unreadable("a message of this transaction is gone".into()));
        }
        let received = Received {
            id,
            first: true,
            state: InboxState::Processed,
            operation_id: done.operation_id,
            workflow_id: done.workflow_id,
            error: None,
        };
        Ok(Taken { received, done: Some(done) })
    }
}

/// A row to insert, as far as every state shares it.
pub(super) fn fresh<'a>(
    incoming: &'a Incoming,
    hash: &'a [u8],
    policy: &ConsumerPolicy,
) -> NewMessage<'a> {
    NewMessage {
        address: incoming.address(),
        hash,
        hash_version: HASH_VERSION,
        state: InboxState::Processing,
        rule: "N1",
        produced_at: incoming.produced_at,
        window_ms: policy.window_ms,
        payload: &incoming.payload,
        effect: incoming.effect_bytes(),
        failures: 0,
        last_error: None,
        actor: &incoming.actor,
        detail: None,
    }
}

/// A message that is on record: its content is compared before its state is looked at (D05).
async fn known_before(
    tx: &mut Tx,
    incoming: &Incoming,
    known: Stored,
) -> Result<Tried, EngineError> {
    // A version that this build does not know was written by a newer one: doubt is a conflict.
    let asked = incoming.fingerprint(known.hash_version);
    if asked.as_ref().is_none_or(|asked| asked.hash != known.hash) {
        let hash = asked.map(|asked| asked.hash).unwrap_or_default();
        inbox_conflict::record(tx, incoming.tenant, known.id, &hash, &incoming.payload).await?;
        return Ok(Tried::Reused);
    }
    inbox::count_delivery(tx, incoming.tenant, known.id).await?;
    let received = Received {
        id: known.id,
        first: false,
        state: known.state,
        operation_id: known.operation_id,
        workflow_id: known.workflow_id,
        error: None,
    };
    Ok(Tried::Taken(Taken { received, done: None }))
}

impl Done {
    /// For the timeline: what was done, in words that hold nothing of the payload.
    pub(super) fn detail(&self) -> Option<serde_json::Value> {
        if let Some(taken) = self.webhook {
            return Some(json!({ "taken": taken.as_str() }));
        }
        self.known.map(|status| json!({ "known_before": status }))
    }
}
