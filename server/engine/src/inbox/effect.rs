//! What a message starts, read from the bytes in which it was asked for, and carried out in the
//! transaction that takes the message in (or, later, in that of a person's decision).
//!
//! One message is one operation: its key is the one that the message names, or one derived from the
//! message's own address, so neither a second delivery nor a second person makes another.

use domain::{
    idempotency::{IdempotencyKey, InvalidKey},
    ids::{OperationId, WorkflowId},
    inbox::derived_key,
    json::Json,
    machine::Machine as _,
    money::Money,
    problem::Code,
};
use serde::Deserialize;
use serde_json::value::RawValue;
use sqlx::PgConnection;

use super::webhook::{self, WebhookTaken};
use crate::{
    Engine, ServiceCaller,
    actor::Actor,
    error::EngineError,
    operations::{Enqueued, OwnRequest, amount_of, enqueue},
    settings::{Limits, Settings},
    store::{inbox::Address, kind::KindPolicy},
    workflows::{Begun, StartRequest, start_in},
};

/// What a message asks to start.
#[derive(Debug)]
pub(crate) enum Effect<'a> {
    /// An operation, queued for a worker.
    Operation(OperationEffect<'a>),
    /// A workflow.
    Workflow(WorkflowEffect<'a>),
    /// A provider's word about an operation.
    Webhook(WebhookEffect<'a>),
}

/// An operation to queue.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OperationEffect<'a> {
    /// The kind's name.
    pub(crate) operation: String,
    /// The key; derived from the message's address where it names none.
    pub(crate) key: Option<String>,
    /// The payload; the message's own where it names none.
    #[serde(borrow)]
    pub(crate) payload: Option<&'a RawValue>,
    amount_minor: Option<i64>,
    currency: Option<String>,
    mode: Option<String>,
}

/// A workflow to start.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WorkflowEffect<'a> {
    /// The definition's name.
    pub(crate) kind: String,
    /// The key; derived from the message's address where it names none.
    pub(crate) key: Option<String>,
    /// The input; the message's own payload where it names none.
    #[serde(borrow)]
    pub(crate) input: Option<&'a RawValue>,
}

/// A provider's signed message, whose signature was checked when it came.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WebhookEffect<'a> {
    /// The provider's name.
    pub(crate) provider: &'a str,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Asked<'a> {
    #[serde(borrow)]
    operation: Option<&'a RawValue>,
    #[serde(borrow)]
    workflow: Option<&'a RawValue>,
    #[serde(borrow)]
    webhook: Option<&'a RawValue>,
}

/// Where an effect comes from.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) address: Address<'a>,
    pub(crate) payload: &'a [u8],
    /// In whose name.
    pub(crate) actor: &'a Actor,
}

/// What was done.
#[derive(Debug, Default)]
pub(crate) struct Done {
    pub(crate) operation_id: Option<OperationId>,
    pub(crate) workflow_id: Option<WorkflowId>,
    /// Where the operation or workflow stood, where it was there before.
    pub(crate) known: Option<&'static str>,
    /// What a provider's word did.
    pub(crate) webhook: Option<WebhookTaken>,
}

fn unfit(detail: impl Into<String>) -> EngineError {
    EngineError::field(Code::Unprocessable, "then", detail)
}

fn read<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, EngineError> {
    serde_json::from_str(text).map_err(|error| {
        let words = error.to_string();
        unfit(format!("{what}: {}", words.split(" at line ").next().unwrap_or_default()))
    })
}

impl<'a> Effect<'a> {
    /// Reads an effect.
    ///
    /// # Errors
    /// `unprocessable` naming what does not fit.
    pub(crate) fn parse(bytes: &'a [u8]) -> Result<Self, EngineError> {
        let text = std::str::from_utf8(bytes).map_err(|_| unfit("then is not UTF-8"))?;
        let asked: Asked<'a> = read(text, "then")?;
        match (asked.operation, asked.workflow, asked.webhook) {
            (Some(operation), None, None) => {
                let effect: OperationEffect<'a> = read(operation.get(), "then.operation")?;
                if effect.mode.as_deref().is_some_and(|mode| mode != "queued") {
                    return Err(unfit(
                        "then.operation.mode: what a message starts is queued; nobody waits for it",
                    ));
                }
                Ok(Self::Operation(effect))
            }
            (None, Some(workflow), None) => {
                Ok(Self::Workflow(read(workflow.get(), "then.workflow")?))
            }
            (None, None, Some(webhook)) => Ok(Self::Webhook(read(webhook.get(), "then.webhook")?)),
            _ => Err(unfit("then names one of operation, workflow")),
        }
    }

    /// What a service may ask for: the kinds of its token, under keys that are not the engine's.
    pub(super) fn check_asked_by(
        &self,
        by: &ServiceCaller,
        engine: &Engine,
    ) -> Result<(), EngineError> {
        match self {
            Self::Webhook(_) => Err(unfit("then: unknown field `webhook`")),
            Self::Operation(effect) => {
                effect.check_names(&engine.settings.limits)?;
                by.require(&effect.operation)
            }
            Self::Workflow(effect) => {
                check_key("then.workflow.key", effect.key.as_deref(), &engine.settings.limits)?;
                match engine.workflows.newest(&effect.kind) {
                    Some(definition) => {
                        definition.operations().try_for_each(|operation| by.require(operation))
                    }
                    // Which operations it would do is not known here: a token that is bound to
                    // kinds cannot be shown to cover them.
                    None if !by.kinds.is_empty() => Err(EngineError::refused(Code::KindUnknown)),
                    None => Ok(()),
                }
            }
        }
    }

    /// Does it. Nothing of it stays where this fails: the caller rolls back.
    pub(crate) async fn carry_out(
        &self,
        db: &mut PgConnection,
        engine: &Engine,
        origin: Origin<'_>,
    ) -> Result<Done, EngineError> {
        match self {
            Self::Operation(effect) => effect.queue(db, &engine.settings, origin).await,
            Self::Workflow(effect) => effect.start(db, engine, origin).await,
            Self::Webhook(effect) => webhook::take(db, effect.provider, origin).await,
        }
    }
}

impl OperationEffect<'_> {
    pub(super) fn check_names(&self, limits: &Limits) -> Result<(), EngineError> {
        if self.operation.starts_with("console.") {
            return Err(EngineError::refused(Code::KeyReserved));
        }
        check_key("then.operation.key", self.key.as_deref(), limits)
    }

    /// The key under which the operation stands.
    pub(crate) fn key_at(&self, address: Address<'_>) -> String {
        key_at(self.key.as_deref(), address)
    }

    /// The amount that the operation gets, where it could be reserved with one.
    pub(crate) fn amount_in(&self, kind: &KindPolicy, payload: &Json) -> Option<Money> {
        amount_of(kind, payload, self.amount_minor, self.currency.as_deref()).ok().flatten()
    }

    /// The payload that the operation gets.
    pub(crate) fn payload_or<'a>(&'a self, own: &'a [u8]) -> &'a [u8] {
        self.payload.map_or(own, |payload| payload.get().as_bytes())
    }

    async fn queue(
        &self,
        db: &mut PgConnection,
        settings: &Settings,
        origin: Origin<'_>,
    ) -> Result<Done, EngineError> {
        let ask = OwnRequest {
            tenant: origin.address.tenant,
            operation: &self.operation,
            key: &self.key_at(origin.address),
            payload: self.payload_or(origin.payload),
            amount_minor: self.amount_minor,
            currency: self.currency.as_deref(),
            workflow_id: None,
            step_key: None,
        };
        let (id, known) = match enqueue(db, origin.actor, settings, &ask).await? {
            Enqueued::Fresh(id) => (id, None),
            Enqueued::Known(id, status) => (id, Some(status.as_str())),
            Enqueued::Reused(id) => {
                return Err(EngineError::field(
                    Code::KeyReused,
                    "then.operation.key",
                    format!("operation {id} stands under this key with another payload"),
                ));
            }
        };
        Ok(Done { operation_id: Some(id), known, ..Done::default() })
    }
}

impl WorkflowEffect<'_> {
    /// The input that the workflow gets.
    pub(crate) fn input_or<'a>(&'a self, own: &'a [u8]) -> &'a [u8] {
        self.input.map_or(own, |input| input.get().as_bytes())
    }

    async fn start(
        &self,
        db: &mut PgConnection,
        engine: &Engine,
        origin: Origin<'_>,
    ) -> Result<Done, EngineError> {
        let ask = StartRequest {
            tenant: origin.address.tenant,
            kind: &self.kind,
            key: &key_at(self.key.as_deref(), origin.address),
            input: self.input_or(origin.payload),
        };
        let begun = start_in(db, &engine.workflows, &engine.settings, origin.actor, &ask).await?;
        let (id, known) = match begun {
            Begun::Fresh(id) => (id, None),
            Begun::Known(id, state) => (id, Some(state.as_str())),
            Begun::Reused(id) => {
                return Err(EngineError::field(
                    Code::KeyReused,
                    "then.workflow.key",
                    format!("workflow {id} stands under this key with another input"),
                ));
            }
        };
        Ok(Done { workflow_id: Some(id), known, ..Done::default() })
    }
}

/// The key that a message names, or the one derived from its address.
fn key_at(named: Option<&str>, address: Address<'_>) -> String {
    named.map_or_else(
        || derived_key(address.consumer, address.source, address.message_id),
        str::to_owned,
    )
}

fn check_key(field: &str, key: Option<&str>, limits: &Limits) -> Result<(), EngineError> {
    let Some(key) = key else { return Ok(()) };
    IdempotencyKey::from_service(key, limits.key_chars).map(drop).map_err(|error| {
        let code = match error {
            InvalidKey::Missing => Code::KeyMissing,
            InvalidKey::Reserved => Code::KeyReserved,
            InvalidKey::TooLong { .. } | InvalidKey::ControlCharacter => Code::KeyInvalid,
        };
        EngineError::field(code, field, error.to_string())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(text: &str) -> String {
        match Effect::parse(text.as_bytes()) {
            Err(EngineError::Refused(refusal)) => refusal.detail.unwrap_or_default(),
            other => panic!("not refused: {other:?}"),
        }
    }

    #[test]
    fn an_effect_is_one_thing_and_names_nothing_that_it_does_not_have() {
        for (text, word) in [
            ("{}", "one of"),
            (r#"{"operation":{"operation":"a"},"webhook":{"provider":"p"}}"#, "one of"),
            (r#"{"operation":{"operation":"a","ammount":1}}"#, "ammount"),
            (r#"{"operation":{"operation":"a","mode":"inline"}}"#, "queued"),
            (r#"{"operation":{"operation":"a","operation":"b"}}"#, "operation"),
            (r#"{"operation":{}}"#, "operation"),
            (r#"{"workflow":{"key":"k"}}"#, "kind"),
            ("[]", "then"),
        ] {
            assert!(refusal(text).contains(word), "{text}: {}", refusal(text));
        }
    }

    #[test]
    fn a_payload_reaches_the_operation_in_the_bytes_that_were_sent() {
        let text = r#"{"operation":{"operation":"a","payload":{ "n":1.10 }}}"#;
        let Ok(Effect::Operation(effect)) = Effect::parse(text.as_bytes()) else { panic!() };
        assert_eq!(effect.payload_or(b"own"), br#"{ "n":1.10 }"#);
        let text = r#"{"operation":{"operation":"a"}}"#;
        let Ok(Effect::Operation(effect)) = Effect::parse(text.as_bytes()) else { panic!() };
        assert_eq!(effect.payload_or(b"own"), b"own");
    }
}
