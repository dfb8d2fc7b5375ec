//! The engine's JSON API as a service sees it: reserve, start, beat, finish, claim.
//!
//! Reads answers by their stable `code`, never by their words. A 5xx, a lost
//! reply and a refused connection are one thing to a service: the engine is
//! away, ask again later with the same key or the same fence.

use std::{collections::BTreeMap, time::Duration};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use serde_json::{Map, Value, json};

use super::{
    Call, ClientError, Outcome, http_client,
    types::{ApiError, Claimed, Finished, Lease, Reserve, Reserved},
};
use crate::job::Told;

/// How long one API call may take; the bounded wait of D03 is 2 s.
const DEADLINE: Duration = Duration::from_secs(10);

/// The engine at one address, with a service token per tenant.
#[derive(Clone, Debug)]
pub struct Api {
    client: reqwest::Client,
    base: String,
    tokens: BTreeMap<String, String>,
}

impl Api {
    /// The engine whose first page is at `url`, with service tokens by tenant.
    ///
    /// # Errors
    /// [`ClientError`] when no HTTP client can be made.
    pub fn new(url: &str, tokens: BTreeMap<String, String>) -> Result<Self, ClientError> {
        let base = format!("{}/api/v1", url.trim_end_matches('/'));
        Ok(Self { client: http_client()?, base, tokens })
    }

    /// The API as one tenant's service.
    ///
    /// # Errors
    /// [`ApiError::NoToken`].
    pub fn tenant(&self, tenant: &str) -> Result<TenantApi, ApiError> {
        let token = self.tokens.get(tenant).ok_or_else(|| ApiError::NoToken(tenant.to_owned()))?;
        Ok(TenantApi { client: self.client.clone(), base: self.base.clone(), token: token.clone() })
    }

    /// The tenants that have a token.
    pub fn tenants(&self) -> impl Iterator<Item = &str> {
        self.tokens.keys().map(String::as_str)
    }
}

/// The API as one tenant's service.
#[derive(Clone, Debug)]
pub struct TenantApi {
    client: reqwest::Client,
    base: String,
    token: String,
}

impl TenantApi {
    /// `POST /operations`.
    ///
    /// # Errors
    /// [`ApiError`]; every refusal of the interface is a [`Reserved::Refused`].
    pub async fn reserve(&self, request: &Reserve<'_>) -> Result<Reserved, ApiError> {
        let mut body = Map::new();
        body.insert("operation".into(), request.operation.into());
        body.insert("payload".into(), request.payload.clone());
        body.insert("mode".into(), if request.queued { "queued" } else { "inline" }.into());
        if let Some(amount) = request.amount_minor {
            body.insert("amount_minor".into(), amount.into());
        }
        if let Some(currency) = request.currency {
            body.insert("currency".into(), currency.into());
        }
        // A header carries visible ASCII only, and loses a pair of quotes around it.
        let fits_header = request.key.bytes().all(|byte| byte.is_ascii_graphic())
            && !request.key.starts_with('"');
        let mut call = self.client.post(format!("{}/operations", self.base));
        if fits_header {
            call = call.header("idempotency-key", request.key);
        } else {
            body.insert("key".into(), request.key.into());
        }
        let reply = self.send(call.json(&Value::Object(body))).await?;
        match reply.status {
            // First: a stored answer comes back with its own status, 201 and 202 among them (D06).
            status if reply.replayed => Ok(Reserved::Replayed { status }),
            201 => Ok(Reserved::Won(reply.lease()?)),
            202 => Ok(Reserved::Queued { id: reply.text("id").ok_or_else(|| reply.unexpected())? }),
            200 => Ok(Reserved::Replayed { status: 200 }),
            status => Ok(Reserved::Refused { status, code: reply.code()? }),
        }
    }

    /// `POST /operations/{id}/start`: `Err` in the inner result is the refusal's code.
    ///
    /// # Errors
    /// [`ApiError`] when the engine is away.
    pub async fn start(&self, lease: &Lease) -> Result<Result<(), String>, ApiError> {
        self.fenced(lease, "start").await
    }

    /// `POST /operations/{id}/heartbeat`, as [`Self::start`].
    ///
    /// # Errors
    /// [`ApiError`] when the engine is away.
    pub async fn heartbeat(&self, lease: &Lease) -> Result<Result<(), String>, ApiError> {
        self.fenced(lease, "heartbeat").await
    }

    /// `POST /operations/{id}/finish` with what the call taught; a success tells `events`.
    ///
    /// # Errors
    /// [`ApiError`] when the engine is away: the same finish may be sent again.
    pub async fn finish(
        &self,
        lease: &Lease,
        call: &Call,
        events: &[Told],
    ) -> Result<Finished, ApiError> {
        let mut body = Map::new();
        if call.outcome == Outcome::Done && !events.is_empty() {
            let events = events.iter().map(|told| {
                json!({ "aggregate": told.aggregate, "topic": told.topic, "payload": told.payload })
            });
            body.insert("events".into(), events.collect());
        }
        body.insert("fence".into(), lease.fence.into());
        body.insert("outcome".into(), call.outcome.name().into());
        let parts = [
            ("external_reference", call.reference.clone().map(Value::from)),
            ("amount_minor", call.amount_minor.map(Value::from)),
            ("currency", call.currency.clone().map(Value::from)),
            ("response", response_of(call)),
        ];
        body.extend(parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
        let url = format!("{}/operations/{}/finish", self.base, lease.id);
        let reply = self.send(self.client.post(url).json(&Value::Object(body))).await?;
        match reply.status {
            200 => Ok(Finished::Recorded),
            202 => Ok(Finished::LateEvidenceKept),
            _ => Ok(Finished::Refused(reply.code()?)),
        }
    }

    /// `POST /operations/claim`: at most `max` operations of these kinds.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn claim(
        &self,
        kinds: &[&str],
        max: u32,
        lease_ms: u64,
    ) -> Result<Vec<Claimed>, ApiError> {
        let body = json!({ "kinds": kinds, "max": max, "lease_ms": lease_ms });
        let reply = self
            .send(self.client.post(format!("{}/operations/claim", self.base)).json(&body))
            .await?;
        let items = match (reply.status, reply.fields.get("items")) {
            (200, Some(Value::Array(items))) => items,
            _ => return Err(reply.unexpected()),
        };
        items
            .iter()
            .map(|item| {
                let fields = item.as_object().cloned().ok_or_else(|| reply.unexpected())?;
                let item = Reply { status: 200, replayed: false, fields };
                Ok(Claimed {
                    lease: item.lease()?,
                    operation: item.text("operation").ok_or_else(|| item.unexpected())?,
                    payload: item
                        .fields
                        .get("payload")
                        .cloned()
                        .ok_or_else(|| item.unexpected())?,
                    amount_minor: item.fields.get("amount_minor").and_then(Value::as_i64),
                    currency: item.text("currency"),
                })
            })
            .collect()
    }

    async fn fenced(&self, lease: &Lease, verb: &str) -> Result<Result<(), String>, ApiError> {
        let url = format!("{}/operations/{}/{verb}", self.base, lease.id);
        let reply = self.send(self.client.post(url).json(&json!({ "fence": lease.fence }))).await?;
        if reply.status == 200 { Ok(Ok(())) } else { Ok(Err(reply.code()?)) }
    }

    pub(super) fn get(&self, path: &str) -> reqwest::RequestBuilder {
        self.client.get(format!("{}{path}", self.base))
    }

    pub(super) fn post(&self, path: &str, body: &Value) -> reqwest::RequestBuilder {
        self.client.post(format!("{}{path}", self.base)).json(body)
    }

    pub(super) async fn send(&self, request: reqwest::RequestBuilder) -> Result<Reply, ApiError> {
        let away = |error| ApiError::Away(Some(error));
        let response =
            request.bearer_auth(&self.token).timeout(DEADLINE).send().await.map_err(away)?;
        let status = response.status();
        if status.is_server_error() {
            return Err(ApiError::Away(None));
        }
        let replayed =
            response.headers().get("idempotent-replayed").is_some_and(|value| value == "true");
        let body = response.bytes().await.map_err(away)?;
        // A stored answer may be anything; the interface's own answers are objects.
        let fields = serde_json::from_slice(&body).unwrap_or_default();
        Ok(Reply { status: status.as_u16(), replayed, fields })
    }
}

pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) replayed: bool,
    pub(super) fields: Map<String, Value>,
}

impl Reply {
    pub(super) fn text(&self, name: &str) -> Option<String> {
        self.fields.get(name).and_then(Value::as_str).map(str::to_owned)
    }

    pub(super) fn code(&self) -> Result<String, ApiError> {
        self.text("code").ok_or_else(|| self.unexpected())
    }

    fn lease(&self) -> Result<Lease, ApiError> {
        let parts = (
            self.text("id"),
            self.fields.get("fence").and_then(Value::as_i64),
            self.text("provider_key"),
        );
        match parts {
            (Some(id), Some(fence), Some(provider_key)) => Ok(Lease { id, fence, provider_key }),
            _ => Err(self.unexpected()),
        }
    }

    pub(super) fn unexpected(&self) -> ApiError {
        let body: String =
            Value::Object(self.fields.clone()).to_string().chars().take(300).collect();
        ApiError::Unexpected { status: self.status, body }
    }
}

fn response_of(call: &Call) -> Option<Value> {
    let answer = call.answer.as_ref()?;
    // What is done is told to clients as 200: a repeat that got 201 would think that it had won.
    let status = if (200..300).contains(&answer.status) { 200 } else { answer.status };
    let mut response = json!({ "status": status, "content_type": answer.content_type });
    match std::str::from_utf8(&answer.body) {
        Ok(text) => response["body"] = text.into(),
        Err(_) => response["body_base64"] = STANDARD.encode(&answer.body).into(),
    }
    Some(response)
}
