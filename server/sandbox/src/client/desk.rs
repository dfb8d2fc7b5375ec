//! People's programs: what is read and decided at the console, by a person's token.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::{Api, ClientError, TenantApi, types::ApiError};

/// The console at one address, with a token per person.
#[derive(Clone, Debug)]
pub struct Desk(Api);

/// How a decision was answered.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// 200: carried out, or the receipt of the same decision; 202: it waits for a second person.
    pub status: u16,
    /// The receipt, the request or the refusal.
    pub said: Map<String, Value>,
}

impl Desk {
    /// The console whose first page is at `url`, with tokens by email.
    ///
    /// # Errors
    /// [`ClientError`] when no HTTP client can be made.
    pub fn new(url: &str, tokens: BTreeMap<String, String>) -> Result<Self, ClientError> {
        Api::new(url, tokens).map(Self)
    }

    /// Reads a record or a list, below `/api/v1`.
    ///
    /// # Errors
    /// [`ApiError`]; anything but 200 is unexpected.
    pub async fn read(&self, person: &str, path: &str) -> Result<Value, ApiError> {
        let as_person: TenantApi = self.0.tenant(person)?;
        let reply = as_person.send(as_person.get(path)).await?;
        if reply.status == 200 { Ok(Value::Object(reply.fields)) } else { Err(reply.unexpected()) }
    }

    /// Decides: posts a verb's fields below `/api/v1`.
    ///
    /// # Errors
    /// [`ApiError`] when the engine is away.
    pub async fn decide(
        &self,
        person: &str,
        path: &str,
        fields: &Value,
    ) -> Result<Decision, ApiError> {
        let as_person: TenantApi = self.0.tenant(person)?;
        let reply = as_person.send(as_person.post(path, fields)).await?;
        Ok(Decision { status: reply.status, said: reply.fields })
    }
}
