//! Providers that speak JSON over HTTP: the effect by POST under an `Idempotency-Key`, the lookup
//! by GET with `reference` or `key`.
//!
//! Guards against the client library that repeats an effect on its own: retries are off, redirects
//! are not followed, and an error after the first byte may have been written is `Ambiguous` (D43).

use std::time::Duration;

use domain::{
    json::Json,
    money::{Money, parse_currency},
    reconciliation::ProviderAnswer,
};
use reqwest::{Client, Response, StatusCode, Url};

use super::{Call, CallResult, Question, target::is_about};
use crate::{
    error::EngineError, operations::FinishOutcome, settings::ProviderEndpoint,
    store::answer::StoredAnswer,
};

/// The most of an answer that is read to understand it; what is stored of it is less.
const MAX_READ_BYTES: usize = 8 * 1024 * 1024;

/// One resource of a provider.
pub(crate) struct HttpProvider {
    client: Client,
    url: Url,
    lookup_url: Url,
}

/// A client that sends each request once.
pub(crate) fn client() -> Result<Client, EngineError> {
    // A second process-wide provider is refused and does no harm.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .retry(reqwest::retry::never())
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(Duration::from_secs(3))
        // A pooled connection that the provider has just closed fails after the request was
        // written: not known whether it was read. A fresh one per effect has no such moment.
        .pool_max_idle_per_host(0)
        .no_proxy()
        .build()
        .map_err(|error| EngineError::Provider("any".into(), error.to_string()))
}

impl HttpProvider {
    pub(crate) fn new(client: Client, endpoint: &ProviderEndpoint) -> Result<Self, EngineError> {
        let parse = |url: &str| {
            Url::parse(url)
                .map_err(|error| EngineError::Provider(endpoint.name.clone(), error.to_string()))
        };
        let url = parse(&endpoint.url)?;
        let lookup_url = endpoint.lookup_url.as_deref().map(parse).transpose()?;
        Ok(Self { client, lookup_url: lookup_url.unwrap_or_else(|| url.clone()), url })
    }

    /// Does the effect, once.
    pub(crate) async fn call(&self, call: &Call<'_>) -> CallResult {
        let sent = self
            .client
            .post(self.url.clone())
            .header("idempotency-key", call.provider_key)
            .header("content-type", "application/json")
            .timeout(call.deadline)
            .body(body(call))
            .send();
        #[cfg(feature = "crash-points")]
        let sent = crate::crash::while_pending("P2", sent);
        let sent = sent.await;
        let response = match sent {
            Ok(response) => response,
            // Refused before anything could be written: the provider has stored nothing.
            Err(error) if error.is_connect() => return CallResult::of(FinishOutcome::NotDone),
            Err(_) => return CallResult::of(FinishOutcome::Ambiguous),
        };
        let status = response.status();
        let Some(answer) = read(response).await else {
            return CallResult::of(FinishOutcome::Ambiguous);
        };
        interpret(status, answer, |body| is_about(call.provider_key, Some(call.payload), body))
    }

    /// Asks what became of an effect.
    pub(crate) async fn ask(&self, question: &Question<'_>) -> ProviderAnswer {
        let query = match question.external_reference {
            Some(reference) => ("reference", reference),
            None => ("key", question.provider_key),
        };
        let sent = self
            .client
            .get(self.lookup_url.clone())
            .query(&[query])
            .timeout(question.deadline)
            .send()
            .await;
        let Ok(response) = sent else {
            return ProviderAnswer::Unreachable;
        };
        let status = response.status();
        let Some(answer) = read(response).await else {
            return ProviderAnswer::Unreachable;
        };
        match status {
            StatusCode::NOT_FOUND => {
                // A 404 of a proxy or a wrong path proves nothing: the provider's own word counts.
                match Json::parse(&answer.body)
                    .ok()
                    .as_ref()
                    .and_then(|body| body.pointer("/found"))
                {
                    Some(Json::Bool(false)) => ProviderAnswer::Absent,
                    _ => ProviderAnswer::Unreachable,
                }
            }
            StatusCode::NOT_IMPLEMENTED => ProviderAnswer::NoLookup,
            status if status.is_success() => {
                found(&answer, |body| is_about(question.provider_key, question.payload, body))
            }
            _ => ProviderAnswer::Unreachable,
        }
    }
}

impl CallResult {
    /// No byte was written.
    pub(crate) const fn not_sent() -> Self {
        Self::of(FinishOutcome::NotDone)
    }

    /// Nobody waited for the answer: it may have happened.
    pub(crate) const fn given_up() -> Self {
        Self::of(FinishOutcome::Ambiguous)
    }

    pub(super) const fn of(outcome: FinishOutcome) -> Self {
        Self {
            outcome,
            other_target: false,
            external_reference: None,
            amount: None,
            response: None,
        }
    }
}

/// The payload as it was sent to us, with the amount of record added where it is not named.
fn body(call: &Call<'_>) -> Vec<u8> {
    let Ok(Json::Object(mut members)) = Json::parse(call.payload) else {
        return call.payload.to_vec();
    };
    let named = members.iter().any(|(name, _)| name == "amount_minor");
    match call.amount {
        Some(amount) if !named => {
            members.push(("amount_minor".into(), Json::Number(amount.amount_minor.to_string())));
            members.push(("currency".into(), Json::String(amount.currency.clone())));
            Json::Object(members).pretty().into_bytes()
        }
        _ => call.payload.to_vec(),
    }
}

/// Reads an answer up to a bound; `None` where the connection broke before its
/// end.
async fn read(mut response: Response) -> Option<StoredAnswer> {
    let status = response.status().as_u16();
    let content_type = response
        .headers()
        .get("content-type")
        .and_then(|value| value.to_str().ok())
        .filter(|value| value.len() <= 255 && value.bytes().all(|b| (b' '..=b'~').contains(&b)))
        .unwrap_or("application/octet-stream")
        .to_owned();
    let mut body = Vec::new();
    let mut cut = false;
    while let Some(chunk) = response.chunk().await.ok()? {
        let room = MAX_READ_BYTES - body.len();
        if chunk.len() > room {
            body.extend_from_slice(&chunk[..room]);
            cut = true;
            break;
        }
        body.extend_from_slice(&chunk);
    }
    Some(StoredAnswer { status, content_type, body, cut })
}

/// What an answer to a call means. 2xx with a readable body that names an effect is done; 402, 409
/// and 422 are the provider's definite no; 429 and 503 are its promise that nothing was taken.
fn interpret(
    status: StatusCode,
    answer: StoredAnswer,
    about: impl Fn(&Json) -> bool,
) -> CallResult {
    if status.is_success() {
        let outcome = said(&answer);
        let effect = if outcome == FinishOutcome::Done { effect(&answer) } else { None };
        let other_target = Json::parse(&answer.body).is_ok_and(|body| !about(&body));
        let Some((reference, amount)) = effect else {
            let outcome = if outcome == FinishOutcome::Done || other_target {
                FinishOutcome::Ambiguous
            } else {
                outcome
            };
            return CallResult { response: Some(answer), ..CallResult::of(outcome) };
        };
        return CallResult {
            outcome: FinishOutcome::Done,
            other_target,
            external_reference: Some(reference),
            amount,
            // Clients get 200 for what is done: 201 would tell a repeat that it had won.
            response: Some(StoredAnswer { status: 200, ..answer }),
        };
    }
    let outcome = match status {
        StatusCode::PAYMENT_REQUIRED | StatusCode::UNPROCESSABLE_ENTITY => FinishOutcome::Rejected,
        StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE => FinishOutcome::NotDone,
        _ => FinishOutcome::Ambiguous,
    };
    CallResult { response: Some(answer), ..CallResult::of(outcome) }
}

/// What the body's own `status` says, where it has one: a 2xx may carry a no, or a not yet.
fn said(answer: &StoredAnswer) -> FinishOutcome {
    let body = Json::parse(&answer.body).ok();
    match body.as_ref().and_then(|body| body.pointer("/status")).map(Json::scalar_text) {
        None | Some(Some("succeeded" | "sent" | "published" | "done")) => FinishOutcome::Done,
        Some(Some("rejected" | "failed")) => FinishOutcome::Rejected,
        Some(_) => FinishOutcome::Ambiguous,
    }
}

fn found(answer: &StoredAnswer, about: impl Fn(&Json) -> bool) -> ProviderAnswer {
    if Json::parse(&answer.body).is_ok_and(|body| !about(&body)) {
        return ProviderAnswer::SomethingElse;
    }
    match (said(answer), effect(answer)) {
        (FinishOutcome::Rejected, _) => ProviderAnswer::Rejected,
        (FinishOutcome::Done, Some((external_reference, amount))) => {
            ProviderAnswer::Done { external_reference, amount }
        }
        _ => ProviderAnswer::Unreachable,
    }
}

/// The effect that an answer names: its reference and amount. `None` where it cannot be read.
fn effect(answer: &StoredAnswer) -> Option<(String, Option<Money>)> {
    if answer.cut {
        return None;
    }
    let body = Json::parse(&answer.body).ok()?;
    let text = |pointer: &str| body.pointer(pointer).and_then(Json::scalar_text);
    let reference =
        text("/id").filter(|id| !id.is_empty() && id.chars().count() <= 512)?.to_owned();
    let amount = match (text("/amount_minor"), text("/currency")) {
        (Some(amount), Some(currency)) => Some(Money {
            amount_minor: amount.parse().ok()?,
            currency: parse_currency(currency).ok()?,
        }),
        _ => None,
    };
    Some((reference, amount))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &[u8]) -> CallResult {
        let status = StatusCode::from_u16(status).unwrap();
        interpret(
            status,
            StoredAnswer {
                status: status.as_u16(),
                content_type: "application/json".into(),
                body: body.to_vec(),
                cut: false,
            },
            |_| true,
        )
    }

    #[test]
    fn whatever_is_not_plain_is_ambiguous() {
        assert_eq!(answer(201, br#"{"id":"ch_1"}"#).outcome, FinishOutcome::Done);
        assert_eq!(answer(402, b"{}").outcome, FinishOutcome::Rejected);
        assert_eq!(
            answer(200, br#"{"id":"ch_1","status":"failed"}"#).outcome,
            FinishOutcome::Rejected
        );
        assert_eq!(answer(503, b"").outcome, FinishOutcome::NotDone);
        for (status, body) in [
            (200, &b"<html>"[..]),
            (200, b"{}"),
            (200, br#"{"id":""}"#),
            (200, br#"{"id":"ch_1\u0000"}"#),
            (200, b"\xff\xfe"),
            (302, b""),
            (400, b"{}"),
            (404, b"{}"),
            (201, br#"{"id":"ch_1","status":"pending"}"#),
            (201, br#"{"id":"ch_1","amount_minor":1,"currency":"eur"}"#),
            (500, b"{}"),
            (502, b""),
        ] {
            assert_eq!(answer(status, body).outcome, FinishOutcome::Ambiguous, "{status} {body:?}");
        }
    }

    #[test]
    fn an_answer_that_was_cut_proves_nothing() {
        let cut = StoredAnswer {
            status: 200,
            content_type: "application/json".into(),
            body: br#"{"id":"ch_1"}"#.to_vec(),
            cut: true,
        };
        assert_eq!(interpret(StatusCode::OK, cut, |_| true).outcome, FinishOutcome::Ambiguous);
    }
}
