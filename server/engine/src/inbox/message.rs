//! A message as it is handed in: what must be there, how long it may be, and who may name which
//! consumer. All of it is looked at before anything is stored.

use chrono::{DateTime, Utc};
use domain::{
    idempotency::Fingerprint,
    ids::{MessageId, OperationId, TenantId, WorkflowId},
    inbox::{
        self, Content, InboxState, MAX_CONSUMER_CHARS, MAX_MESSAGE_ID_CHARS, MAX_SOURCE_CHARS,
        PROVIDER_PREFIX,
    },
    json::Json,
    problem::Code,
};

use super::effect::Effect;
use crate::{
    Engine, ServiceCaller, actor::Actor, error::EngineError, operations::parse_payload,
    store::inbox::Address,
};

/// A service's message.
#[derive(Clone, Debug)]
pub struct ReceiveMessage {
    /// Who acts on it.
    pub consumer: String,
    /// Where it comes from.
    pub source: String,
    /// Its id there.
    pub message_id: String,
    /// When its producer made it.
    pub produced_at: DateTime<Utc>,
    /// Bytes of the payload value as sent.
    pub payload: Vec<u8>,
    /// Bytes of what to start in the same transaction, as sent: `{"operation": …}` or
    /// `{"workflow": …}`.
    pub then: Option<Vec<u8>>,
}

/// What became of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Received {
    /// Its id here.
    pub id: MessageId,
    /// Whether this delivery is the one that did it.
    pub first: bool,
    /// Where it stands.
    pub state: InboxState,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// The workflow that it started.
    pub workflow_id: Option<WorkflowId>,
    /// Why it is dead, where this delivery was its last.
    pub error: Option<String>,
}

/// A message that passed every check which needs no row.
pub(super) struct Incoming {
    pub(super) tenant: TenantId,
    pub(super) consumer: String,
    pub(super) source: String,
    pub(super) message_id: String,
    pub(super) produced_at: DateTime<Utc>,
    pub(super) payload: Vec<u8>,
    /// `None` where the payload is no JSON: a broker brings what it has.
    pub(super) content: Option<Json>,
    /// What to start, as asked for.
    pub(super) effect: Option<(Vec<u8>, Json)>,
    pub(super) actor: Actor,
}

impl Incoming {
    pub(super) fn address(&self) -> Address<'_> {
        Address {
            tenant: self.tenant,
            consumer: &self.consumer,
            source: &self.source,
            message_id: &self.message_id,
        }
    }

    pub(super) fn fingerprint(&self, version: i16) -> Option<Fingerprint> {
        let content = self.content.as_ref().map_or(Content::Bytes(&self.payload), Content::Json);
        inbox::fingerprint(
            version,
            &self.tenant.to_string(),
            &self.consumer,
            &self.source,
            content,
            self.effect.as_ref().map(|(_, asked)| asked),
        )
    }

    pub(super) fn effect_bytes(&self) -> Option<&[u8]> {
        self.effect.as_ref().map(|(bytes, _)| bytes.as_slice())
    }
}

/// Checks a name for its length and for what no column can hold.
pub(super) fn named(field: &str, text: &str, max: usize) -> Result<(), EngineError> {
    let length = text.chars().count();
    let fault = if length == 0 {
        format!("{field} is empty")
    } else if length > max {
        format!("{field} has {length} characters; the limit is {max}")
    } else if text.chars().any(char::is_control) {
        format!("{field} holds a control character")
    } else {
        return Ok(());
    };
    Err(EngineError::field(Code::Unprocessable, field, fault))
}

impl Engine {
    /// Takes a service's message in, with what it asks to start, once.
    ///
    /// # Errors
    /// Refused, with nothing stored: `unprocessable`, `request_invalid` for an instant in the
    /// future, `payload_invalid`, `token_scope`,
    /// `key_reserved`, `key_invalid`; `message_reused`, with the conflict kept. What the effect
    /// refuses (`kind_unknown`, `payload_invalid`, `amount_mismatch`, `key_reused`) leaves a count
    /// alone, until the message is dead.
    pub async fn receive_message(
        &self,
        by: &ServiceCaller,
        message: ReceiveMessage,
    ) -> Result<Received, EngineError> {
        named("consumer", &message.consumer, MAX_CONSUMER_CHARS)?;
        named("source", &message.source, MAX_SOURCE_CHARS)?;
        named("message_id", &message.message_id, MAX_MESSAGE_ID_CHARS)?;
        if message.consumer.starts_with(PROVIDER_PREFIX) {
            return Err(EngineError::field(
                Code::Unprocessable,
                "consumer",
                format!("consumers that begin with {PROVIDER_PREFIX} belong to the engine"),
            ));
        }
        let effect = match message.then {
            None => None,
            Some(bytes) => {
                let effect = Effect::parse(&bytes)?;
                effect.check_asked_by(by, self)?;
                let asked = Json::parse(&bytes).map_err(|error| {
                    EngineError::field(Code::Unprocessable, "then", format!("then: {error}"))
                })?;
                Some((bytes, asked))
            }
        };
        self.take_in(Incoming {
            tenant: by.tenant_id(),
            content: Some(parse_payload(&message.payload, &self.settings.limits)?),
            consumer: message.consumer,
            source: message.source,
            message_id: message.message_id,
            produced_at: message.produced_at,
            payload: message.payload,
            effect,
            actor: by.actor(),
        })
        .await
        .map(|taken| taken.received)
    }
}
