//! Calls a provider once and says which of four things is known afterwards (D10).
//!
//! The default is [`Outcome::Ambiguous`]: only what proves the effect, the
//! refusal or its absence leaves it.

use std::time::Duration;

use serde_json::{Map, Value};

use super::{ClientError, http_client};
use crate::EffectKind;

/// Most bytes of an answer that are read; a longer one cannot be judged.
const ANSWER_LIMIT: usize = 7 * 1024 * 1024;

/// What is known after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The provider says it happened.
    Done,
    /// The provider refused for good.
    Rejected,
    /// It surely did not happen; another try may succeed.
    NotDone,
    /// Nobody knows.
    Ambiguous,
}

impl Outcome {
    /// Its name in `finish`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Rejected => "rejected",
            Self::NotDone => "not_done",
            Self::Ambiguous => "ambiguous",
        }
    }
}

/// What the provider answered, bytes as they came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// `Content-Type`, where there was one.
    pub content_type: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

/// One call and what it taught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What is known.
    pub outcome: Outcome,
    /// The provider's id of the effect; only with [`Outcome::Done`].
    pub reference: Option<String>,
    /// The amount the provider names, minor units.
    pub amount_minor: Option<i64>,
    /// The currency the provider names.
    pub currency: Option<String>,
    /// The answer, where a whole one arrived.
    pub answer: Option<Answer>,
}

impl Call {
    fn without_answer(outcome: Outcome) -> Self {
        Self { outcome, reference: None, amount_minor: None, currency: None, answer: None }
    }
}

/// Calls the providers at one address.
#[derive(Clone, Debug)]
pub struct ProviderClient {
    client: reqwest::Client,
    url: String,
}

impl ProviderClient {
    /// A client for the providers at `url`.
    ///
    /// # Errors
    /// [`ClientError`] when no HTTP client can be made.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        Ok(Self { client: http_client()?, url: url.trim_end_matches('/').to_owned() })
    }

    /// Sends one effect under `key`, once, and waits no longer than `deadline`.
    /// Never an error: whatever goes wrong is an outcome.
    pub async fn call(
        &self,
        kind: EffectKind,
        key: &str,
        body: &Value,
        deadline: Duration,
    ) -> Call {
        let request = self
            .client
            .post(format!("{}{}", self.url, kind.path()))
            .timeout(deadline)
            .header("idempotency-key", key)
            .json(body);
        let answer = match request.send().await {
            Ok(response) => read(response).await,
            Err(error) => Err(error),
        };
        match answer {
            Ok(answer) => judge(kind, body, answer),
            // No connection, so no byte of the request left this process.
            Err(error) if error.is_connect() => Call::without_answer(Outcome::NotDone),
            Err(error) => {
                tracing::debug!(%error, "the reply is lost");
                Call::without_answer(Outcome::Ambiguous)
            }
        }
    }
}

/// The request body for an operation's payload: its fields, and for money the
/// amount and currency of record and the invoice as the merchant's reference.
pub fn provider_body(
    kind: EffectKind,
    payload: &Value,
    amount_minor: Option<i64>,
    currency: Option<&str>,
) -> Value {
    let mut body = payload.as_object().cloned().unwrap_or_default();
    if kind.moves_money() {
        if let Some(amount) = amount_minor {
            body.insert("amount_minor".into(), amount.into());
        }
        if let Some(currency) = currency {
            body.insert("currency".into(), currency.into());
        }
        if let Some(invoice) = body.get("invoice_id").cloned() {
            body.insert("reference".into(), invoice);
        }
    }
    Value::Object(body)
}

async fn read(mut response: reqwest::Response) -> Result<Answer, reqwest::Error> {
    let status = response.status().as_u16();
    let content_type = response
        .headers()
        .get(reqwest::header::CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .map(str::to_owned);
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_LIMIT {
            body.truncate(ANSWER_LIMIT);
            break;
        }
    }
    Ok(Answer { status, content_type, body })
}

fn judge(kind: EffectKind, request: &Value, answer: Answer) -> Call {
    let fields: Option<Map<String, Value>> = serde_json::from_slice(&answer.body).ok();
    let mut call = Call::without_answer(Outcome::Ambiguous);
    match (answer.status, &fields) {
        (200 | 201, Some(fields)) => {
            let text = |name: &str| fields.get(name).and_then(Value::as_str).map(str::to_owned);
            call.amount_minor = fields.get("amount_minor").and_then(Value::as_i64);
            call.currency = text("currency");
            let id = text("id").filter(|id| !id.is_empty());
            // An answer about somebody else's effect proves nothing about ours.
            // Another amount is for the engine to judge: it gets what was named.
            let echoes_target =
                kind.target_fields().iter().all(|name| fields.get(*name) == request.get(*name));
            if text("status").as_deref() == Some("succeeded") && id.is_some() && echoes_target {
                call.outcome = Outcome::Done;
                call.reference = id;
            }
        }
        (402, Some(_)) => call.outcome = Outcome::Rejected,
        (429, _) => call.outcome = Outcome::NotDone,
        _ => {}
    }
    call.answer = Some(answer);
    call
}
