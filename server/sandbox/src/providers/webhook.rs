//! Sends the signed webhooks of new effects.
//!
//! Delivery is at least once and in no order, as from a real provider: up to
//! [`TRIES`] times with growing pauses, each try signed anew with its own
//! instant. Pending deliveries are forgotten when the sandbox stops.

use std::{sync::Arc, time::Duration};

use serde_json::{Map, Value, json};
use tokio::sync::watch;

use super::{effect::Effect, modes::WebhookPlan};
use crate::{clock, signature};

/// Most tries per delivery: about half a minute with the pauses between.
const TRIES: u32 = 6;
/// How long one try may take.
const DEADLINE: Duration = Duration::from_secs(5);

/// Where webhooks go.
#[derive(Clone, Debug)]
pub struct WebhookTarget {
    /// The receiver's URL.
    pub url: String,
    /// The shared secret of [`crate::signature::sign`].
    pub secret: String,
}

/// Sends webhooks to one target.
#[derive(Clone)]
pub(crate) struct WebhookSender {
    target: WebhookTarget,
    client: reqwest::Client,
    stop: watch::Receiver<bool>,
}

impl WebhookSender {
    pub(crate) fn new(
        target: WebhookTarget,
        client: reqwest::Client,
        stop: watch::Receiver<bool>,
    ) -> Self {
        Self { target, client, stop }
    }

    /// Starts the deliveries of `effect`; returns at once.
    pub(crate) fn schedule(&self, effect: &Arc<Effect>, plan: WebhookPlan) {
        let body = event(effect).to_string().into_bytes();
        for _ in 0..(1 + u8::from(plan.twice)) {
            let (mut sender, body) = (self.clone(), body.clone());
            tokio::spawn(async move {
                if sender.pause(Duration::from_millis(plan.after_ms)).await {
                    sender.deliver(&body).await;
                }
            });
        }
    }

    async fn deliver(&mut self, body: &[u8]) {
        for attempt in 1..=TRIES {
            match self.attempt(body).await {
                Ok(status) if status.is_success() => return,
                Ok(status) => tracing::debug!(attempt, %status, "webhook refused"),
                Err(error) => tracing::debug!(attempt, %error, "webhook not delivered"),
            }
            if attempt < TRIES && !self.pause(Duration::from_millis(500 << (attempt - 1))).await {
                return;
            }
        }
        tracing::warn!(url = self.target.url, "webhook given up");
    }

    async fn attempt(&self, body: &[u8]) -> Result<reqwest::StatusCode, reqwest::Error> {
        let signed =
            signature::sign(self.target.secret.as_bytes(), clock::now_ms().div_euclid(1_000), body);
        let answer = self
            .client
            .post(&self.target.url)
            .timeout(DEADLINE)
            .header("content-type", "application/json")
            .header(signature::SIGNATURE_HEADER, signed)
            .body(body.to_vec())
            .send()
            .await?;
        Ok(answer.status())
    }

    /// Waits; false when the sandbox stops meanwhile.
    async fn pause(&mut self, duration: Duration) -> bool {
        tokio::select! {
            () = tokio::time::sleep(duration) => true,
            _ = self.stop.wait_for(|stopped| *stopped) => false,
        }
    }
}

/// The event body: `reference` is the provider's id of the effect, as in the
/// engine's `external_reference`; the merchant's own is `merchant_reference`.
fn event(effect: &Effect) -> Value {
    let request = &effect.request;
    let mut event: Map<String, Value> = request
        .kind
        .target_fields()
        .iter()
        .filter_map(|name| {
            request.fields.get(*name).map(|value| ((*name).to_owned(), value.clone()))
        })
        .collect();
    let head = json!({
        "id": format!("evt_{}", effect.id),
        "type": request.kind.webhook_type(),
        "provider": request.kind.provider().name(),
        "provider_key": request.key,
        "reference": effect.id,
        "merchant_reference": request.reference,
        "amount_minor": request.amount_minor,
        "currency": request.currency,
        "created": effect.at_ms.div_euclid(1_000),
    });
    if let Value::Object(head) = head {
        event.extend(head);
    }
    Value::Object(event)
}
