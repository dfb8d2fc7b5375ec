//! Signed webhooks of providers: proof about unknown outcomes, evidence about all others (O16,
//! O17, O24 to O26, O30).
//!
//! A message proves something only when it is signed, fresh, and about the same key, amount and
//! target. A forged or stale one leaves no trace. A true one is taken in like any other message: its
//! consumer is `provider:<name>`, its id the provider's event id, its effect the evidence.

use chrono::DateTime;
use domain::{
    inbox::{InboxState, MAX_MESSAGE_ID_CHARS, PROVIDER_PREFIX},
    json::Json,
    money::Money,
    operation::Status,
    problem::Code,
};
use serde_json::json;
use sqlx::PgConnection;

use super::{
    effect::{Done, Origin},
    message::{Incoming, named},
    signature::signed_at,
};
use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    operations::{FinishOutcome, Moves, Said, keep_evidence, lock_with_kind},
    provider::same_target,
    store::{Target, answer, evidence, lease, tenant},
};

/// How far a message's own time may lie from the database's clock.
const TOLERANCE_S: i64 = 300;

/// What became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WebhookTaken {
    /// It settled an unknown outcome.
    Proved,
    /// It was kept as evidence.
    Kept,
    /// It came before.
    Repeated,
    /// No operation of the tenant has that key: somebody else's effect.
    Unmatched,
}

/// A message that has been read.
struct Message {
    event: String,
    outcome: FinishOutcome,
    provider_key: String,
    reference: Option<String>,
    amount: Option<Money>,
    body: Json,
}

impl WebhookTaken {
    /// The word on the wire.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Kept => "kept",
            Self::Repeated => "repeated",
            Self::Unmatched => "unmatched",
        }
    }
}

impl Engine {
    /// Takes a provider's message in, through the inbox. `signature` is the header
    /// `t=<unix seconds>,v1=<hex>`, an HMAC-SHA-256 over `<t>.<body>`.
    ///
    /// # Errors
    /// Refused: `unauthenticated` for a wrong signature, a stale time, or a tenant or provider
    /// without a secret; `request_invalid` for a body that is not JSON, `unprocessable` with the
    /// field for one that is missing or does not fit; all with nothing stored. `message_reused` for
    /// another body under an event's id, with the conflict kept; `dead` for one that failed as
    /// often as its consumer allows.
    pub async fn provider_webhook(
        &self,
        tenant_slug: &str,
        provider: &str,
        signature: &str,
        body: &[u8],
    ) -> Result<WebhookTaken, EngineError> {
        let refused = || EngineError::refused(Code::Unauthenticated);
        let secret = self
            .settings
            .webhook_secrets
            .iter()
            .find(|(name, _)| name == provider)
            .map(|(_, secret)| secret.clone())
            .ok_or_else(refused)?;
        let signed_at = signed_at(&secret, signature, body).ok_or_else(refused)?;
        let mut db = self.pools.engine().acquire().await?;
        let now = lease::clock(&mut db).await?;
        if (now.timestamp() - signed_at).abs() > TOLERANCE_S {
            return Err(refused());
        }
        let tenant = tenant::find(&mut db, tenant_slug).await?.ok_or_else(refused)?;
        drop(db);
        let message = read(body)?;
        let effect = json!({ "webhook": { "provider": provider } }).to_string().into_bytes();
        let asked = Json::parse(&effect)
            .map_err(|error| EngineError::Unreadable(format!("own effect: {error}")))?;
        let taken = self
            .take_in(Incoming {
                tenant,
                consumer: format!("{PROVIDER_PREFIX}{provider}"),
                source: provider.to_owned(),
                message_id: message.event,
                // Each delivery is signed anew, so what the signature proves is this delivery's age.
                produced_at: DateTime::from_timestamp(signed_at, 0).unwrap_or(now),
                payload: body.to_vec(),
                content: Some(message.body),
                effect: Some((effect, asked)),
                actor: Actor::new("webhook", provider),
            })
            .await?;
        let received = taken.received;
        match received.state {
            InboxState::Dead | InboxState::Quarantined => {
                let code = match received.state {
                    InboxState::Dead => Code::Dead,
                    _ => Code::Quarantined,
                };
                Err(EngineError::refused_with(code, |refusal| refusal.detail = received.error))
            }
            _ => Ok(taken.done.and_then(|done| done.webhook).unwrap_or(WebhookTaken::Repeated)),
        }
    }
}

/// Keeps a provider's word about an operation, and moves the operation as far as it proves
/// something (O16, O17, O24 to O26, O30).
pub(super) async fn take(
    db: &mut PgConnection,
    provider: &str,
    origin: Origin<'_>,
) -> Result<Done, EngineError> {
    let unmatched = || Done { webhook: Some(WebhookTaken::Unmatched), ..Done::default() };
    let message = read(origin.payload)?;
    let Some(id) = evidence::target_of(&message.provider_key) else {
        return Ok(unmatched());
    };
    let target = Target { tenant: origin.address.tenant, id };
    let (mut row, kind) = match lock_with_kind(db, target).await {
        Ok(found) => found,
        Err(EngineError::Refused(_)) => return Ok(unmatched()),
        Err(error) => return Err(error),
    };
    // A mail provider's secret must not settle a payment.
    let speaks_for = |name: &str| {
        name == provider || name.strip_prefix(provider).is_some_and(|rest| rest.starts_with('.'))
    };
    if !kind.provider.as_deref().is_some_and(speaks_for) {
        return Ok(unmatched());
    }
    let payload = answer::payload(db, target).await?;
    let was = row.status;
    let said = Said {
        source: "webhook",
        outcome: message.outcome,
        external_reference: message.reference.as_deref(),
        amount: message.amount.as_ref(),
        fence: None,
        provider_event: Some(&message.event),
        target_matches: payload.is_none_or(|payload| same_target(&payload, &message.body)),
    };
    let mut moves = Moves::new(db, origin.actor.clone());
    let kept = keep_evidence(&mut moves, &mut row, &kind, said).await?;
    moves.finish().await?;
    let taken = match (kept, was) {
        (false, _) => WebhookTaken::Repeated,
        (true, Status::Unknown) if row.status.is_final() => WebhookTaken::Proved,
        (true, _) => WebhookTaken::Kept,
    };
    Ok(Done { operation_id: Some(id), webhook: Some(taken), ..Done::default() })
}

fn read(body: &[u8]) -> Result<Message, EngineError> {
    let unfit = |field: &str, expected: &str| {
        EngineError::field(Code::Unprocessable, field, format!("{field} must be {expected}"))
    };
    let body = Json::parse(body).map_err(|error| {
        EngineError::refused_with(Code::RequestInvalid, |refusal| {
            refusal.detail = Some(format!("The body cannot be read as JSON: {error}"));
        })
    })?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Json::scalar_text).map(str::to_owned);
    let event = text("/id")
        .filter(|id| named("id", id, MAX_MESSAGE_ID_CHARS).is_ok())
        .ok_or_else(|| unfit("id", "a text of 1 to 512 characters"))?;
    let kind = text("/type").ok_or_else(|| unfit("type", "a text, such as charge.succeeded"))?;
    let outcome = match kind.rsplit('.').next() {
        Some("succeeded" | "sent" | "published") => FinishOutcome::Done,
        Some("rejected" | "failed") => FinishOutcome::Rejected,
        _ => FinishOutcome::Ambiguous,
    };
    let provider_key = text("/provider_key")
        .ok_or_else(|| unfit("provider_key", "the key that the provider was called with"))?;
    let reference = text("/reference").filter(|reference| reference.chars().count() <= 512);
    let amount = match (text("/amount_minor"), text("/currency")) {
        (Some(amount), Some(currency)) => Some(Money {
            amount_minor: amount.parse().map_err(|_| {
                unfit("amount_minor", "a whole number of the currency's smallest unit")
            })?,
            currency: domain::money::parse_currency(&currency)
                .map_err(|_| unfit("currency", "three capital letters, such as EUR"))?,
        }),
        _ => None,
    };
    Ok(Message { event, outcome, provider_key, reference, amount, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_that_cannot_be_taken_names_its_field_in_plain_words() {
        let refused = |body: &str| {
            let refusal = read(body.as_bytes()).err().expect("refused").refusal();
            (refusal.code, refusal.field, refusal.detail.unwrap_or_default())
        };
        let (code, field, detail) = refused("{");
        assert_eq!((code, field), (Code::RequestInvalid, None));
        assert!(detail.contains("not valid JSON"), "{detail}");
        for (field, body) in [
            ("id", r#"{"type":"charge.succeeded","provider_key":"k"}"#),
            ("type", r#"{"id":"e","provider_key":"k"}"#),
            ("provider_key", r#"{"id":"e","type":"charge.succeeded"}"#),
            (
                "amount_minor",
                r#"{"id":"e","type":"x","provider_key":"k","amount_minor":1.5,"currency":"EUR"}"#,
            ),
            (
                "currency",
                r#"{"id":"e","type":"x","provider_key":"k","amount_minor":1,"currency":"euro"}"#,
            ),
        ] {
            let (code, named, detail) = refused(body);
            assert_eq!((code, named.as_deref()), (Code::Unprocessable, Some(field)), "{body}");
            assert!(detail.starts_with(&format!("{field} must be ")), "{detail}");
        }
    }
}
