//! Workflows and messages as a service sees them: started once under a key, looked at, cancelled;
//! handed in once under an id.

use serde_json::{Value, json};

use super::{api::TenantApi, types::ApiError};

/// What became of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Started {
    /// The workflow.
    pub id: String,
    /// Whether this call started it.
    pub fresh: bool,
}

/// A message from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Whom it is for.
    pub consumer: &'static str,
    /// Whom it is from.
    pub source: &'static str,
    /// Its id there.
    pub message_id: &'static str,
    /// When it was made there; RFC 3339.
    pub produced_at: String,
    /// What it says.
    pub payload: Value,
    /// The operation or workflow that it starts.
    pub then: Value,
}

impl TenantApi {
    /// `POST /workflows`.
    ///
    /// # Errors
    /// [`ApiError`]; a refusal is unexpected here.
    pub async fn start_workflow(
        &self,
        kind: &str,
        key: &str,
        input: &Value,
    ) -> Result<Started, ApiError> {
        let body = json!({ "kind": kind, "key": key, "input": input });
        let reply = self.send(self.post("/workflows", &body)).await?;
        match (reply.status, reply.text("id")) {
            (200 | 201, Some(id)) => Ok(Started { id, fresh: reply.status == 201 }),
            _ => Err(reply.unexpected()),
        }
    }

    /// Where a workflow stands, in one word.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn workflow_status(&self, id: &str) -> Result<String, ApiError> {
        let reply = self.send(self.get(&format!("/workflows/{id}"))).await?;
        reply.text("status").ok_or_else(|| reply.unexpected())
    }

    /// `POST /workflows/{id}/cancel`, as its owner.
    ///
    /// # Errors
    /// [`ApiError`].
    pub async fn cancel_workflow(&self, id: &str, reason: &str) -> Result<(), ApiError> {
        let path = format!("/workflows/{id}/cancel");
        let reply = self.send(self.post(&path, &json!({ "reason": reason }))).await?;
        if reply.status == 200 { Ok(()) } else { Err(reply.unexpected()) }
    }

    /// `POST /inbox`: `first` or `again`, or a refusal's code.
    ///
    /// # Errors
    /// [`ApiError`] when the engine is away.
    pub async fn hand_in(&self, message: &Message) -> Result<String, ApiError> {
        let body = json!({
            "consumer": message.consumer,
            "source": message.source,
            "message_id": message.message_id,
            "produced_at": message.produced_at,
            "payload": message.payload,
            "then": message.then,
        });
        let reply = self.send(self.post("/inbox", &body)).await?;
        match reply.status {
            201 => Ok("first".into()),
            200 => Ok("again".into()),
            _ => reply.code(),
        }
    }
}
