//! The consumer's controls: its rules and its ledger, for the story and for tests.

use serde_json::{Map, Value};

use super::{ClientError, ControlError, control::send, http_client};
use crate::consumer::EventRule;

/// Sets rules and reads the ledger of the consumer at one address.
#[derive(Clone, Debug)]
pub struct ConsumerControl {
    client: reqwest::Client,
    url: String,
}

impl ConsumerControl {
    /// Controls for the consumer at `url`.
    ///
    /// # Errors
    /// [`ClientError`] when no HTTP client can be made.
    pub fn new(url: &str) -> Result<Self, ClientError> {
        Ok(Self { client: http_client()?, url: url.trim_end_matches('/').to_owned() })
    }

    /// Where events are posted.
    pub fn events_url(&self) -> String {
        format!("{}/events", self.url)
    }

    /// Puts one rule in front of the others.
    ///
    /// # Errors
    /// [`ControlError`] when the consumer is away or refuses.
    pub async fn add(&self, rule: EventRule) -> Result<(), ControlError> {
        send(self.client.post(self.modes_url()).json(&[rule])).await.map(drop)
    }

    /// The rules in force.
    ///
    /// # Errors
    /// As [`Self::add`], or an answer that is not JSON.
    pub async fn modes(&self) -> Result<Vec<EventRule>, ControlError> {
        Ok(serde_json::from_str(&send(self.client.get(self.modes_url())).await?)?)
    }

    /// Forgets every rule.
    ///
    /// # Errors
    /// As [`Self::add`].
    pub async fn clear(&self) -> Result<(), ControlError> {
        send(self.client.delete(self.modes_url())).await.map(drop)
    }

    /// What was taken and meets every term, such as `("aggregate", "INV-1")`, in that order.
    ///
    /// # Errors
    /// As [`Self::add`], or a line that is not JSON.
    pub async fn ledger(
        &self,
        terms: &[(&str, &str)],
    ) -> Result<Vec<Map<String, Value>>, ControlError> {
        let text = send(self.client.get(format!("{}/ledger", self.url)).query(terms)).await?;
        text.lines().map(|line| serde_json::from_str(line).map_err(Into::into)).collect()
    }

    fn modes_url(&self) -> String {
        format!("{}/modes", self.url)
    }
}
