//! The providers' controls: rules and ledger, for the story, the services and tests.

use std::{collections::BTreeMap, time::Duration};

use serde_json::{Map, Value};

use super::{ClientError, http_client};
use crate::{
    Provider,
    providers::{Modes, Rule},
};

const DEADLINE: Duration = Duration::from_secs(5);

/// A control call failed.
#[derive(Debug, thiserror::Error)]
pub enum ControlError {
    /// The sandbox did not answer.
    #[error("the sandbox does not answer")]
    Unreachable(#[from] reqwest::Error),
    /// The sandbox refused.
    #[error("the sandbox answered {status}: {body}")]
    Refused {
        /// HTTP status.
        status: u16,
        /// Its words.
        body: String,
    },
    /// A ledger line is not a JSON object.
    #[error("a ledger line is not JSON")]
    Line(#[from] serde_json::Error),
}

/// Sets rules and reads the ledger of the providers at one address.
#[derive(Clone, Debug)]
pub struct ProviderControl {
    client: reqwest::Client,
    url: String,
}

impl ProviderControl {
    /// Controls for the providers at `url`.
    ///
    /// # Errors
    /// [`ClientError`] when no HTTP client can be made.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        Ok(Self { client: http_client()?, url: url.trim_end_matches('/').to_owned() })
    }

    /// The address of the providers.
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Replaces the rules of the providers that `modes` names.
    ///
    /// # Errors
    /// [`ControlError`] when the sandbox is away or refuses.
    pub async fn replace(&self, modes: &Modes) -> Result<(), ControlError> {
        self.send(self.client.put(format!("{}/modes", self.url)).json(modes)).await.map(drop)
    }

    /// Puts one rule in front of the others.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub async fn add(&self, provider: Provider, rule: Rule) -> Result<(), ControlError> {
        let modes = Modes::one(provider, rule);
        self.send(self.client.post(format!("{}/modes", self.url)).json(&modes)).await.map(drop)
    }

    /// Where the mail provider takes messages by SMTP, such as `smtp://127.0.0.1:2525`.
    ///
    /// # Errors
    /// As [`Self::replace`], or an answer that is not JSON.
    pub async fn smtp_url(&self) -> Result<String, ControlError> {
        Ok(self.addresses().await?.remove("smtp").unwrap_or_default())
    }

    /// Where the consumer of events answers, such as `http://127.0.0.1:4000`; none: there is none.
    ///
    /// # Errors
    /// As [`Self::smtp_url`].
    pub async fn consumer_url(&self) -> Result<Option<String>, ControlError> {
        Ok(self.addresses().await?.remove("consumer"))
    }

    async fn addresses(&self) -> Result<BTreeMap<String, String>, ControlError> {
        let text = self.send(self.client.get(format!("{}/addresses", self.url))).await?;
        Ok(serde_json::from_str(&text)?)
    }

    /// The rules in force. One that held once is gone from here as soon as a request has met it.
    ///
    /// # Errors
    /// As [`Self::replace`], or an answer that is not JSON.
    pub async fn modes(&self) -> Result<Modes, ControlError> {
        let text = self.send(self.client.get(format!("{}/modes", self.url))).await?;
        serde_json::from_str(&text).map_err(Into::into)
    }

    /// Forgets every rule.
    ///
    /// # Errors
    /// As [`Self::replace`].
    pub async fn clear(&self) -> Result<(), ControlError> {
        self.send(self.client.delete(format!("{}/modes", self.url))).await.map(drop)
    }

    /// The ledger lines that meet every term, such as `("invoice_id", "INV-2026-0042")`.
    ///
    /// # Errors
    /// As [`Self::replace`], or a line that is not JSON.
    pub async fn ledger(
        &self,
        terms: &[(&str, &str)],
    ) -> Result<Vec<Map<String, Value>>, ControlError> {
        let text = self.send(self.client.get(format!("{}/ledger", self.url)).query(terms)).await?;
        text.lines().map(|line| serde_json::from_str(line).map_err(Into::into)).collect()
    }

    async fn send(&self, request: reqwest::RequestBuilder) -> Result<String, ControlError> {
        send(request).await
    }
}

/// Sends a control call and reads its answer.
pub(super) async fn send(request: reqwest::RequestBuilder) -> Result<String, ControlError> {
    let response = request.timeout(DEADLINE).send().await?;
    let status = response.status();
    let body = response.text().await?;
    if status.is_success() {
        Ok(body)
    } else {
        Err(ControlError::Refused { status: status.as_u16(), body })
    }
}
