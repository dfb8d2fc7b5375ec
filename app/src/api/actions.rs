//! What people do to an operation. Every form posts the fields of its JSON call under the same
//! names; all of them are texts here, so that a slip in one is refused beside it.

#![allow(clippy::too_many_arguments, reason = "one argument per field of the form")]

use domain::ids::{ApprovalId, OperationId};
#[cfg(feature = "ssr")]
use domain::{action::Verb, problem::Code};
#[cfg(feature = "ssr")]
use engine::EngineError;
use leptos::prelude::*;
use serde::{Deserialize, Serialize};

use crate::error::{ConsoleError, RefusalView};

/// What became of a decision. With WASM it is shown in place; a plain form is redirected.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ActionReply {
    /// It was carried out, now or before.
    Done {
        /// Its receipt.
        receipt: OperationId,
        /// Whether the same decision had been taken already.
        replayed: bool,
    },
    /// It waits for a second person; nothing else was done.
    Asked {
        /// The request.
        approval: ApprovalId,
        /// Whether the same person had asked for the same before.
        replayed: bool,
    },
    /// It was not.
    Refused(RefusalView),
}

/// Says what became of an unknown outcome (O21 to O23).
///
/// # Errors
/// What stops it before the engine is reached; a refusal is a reply.
#[server(endpoint = "operations/confirm")]
pub async fn confirm(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] outcome: String,
    #[server(default)] external_reference: String,
    #[server(default)] amount_minor: String,
    #[server(default)] currency: String,
    #[server(default)] reason: String,
    #[server(default)] evidence_kept: String,
    #[server(default)] evidence: String,
    #[server(default)] r#override: String,
) -> Result<ActionReply, ConsoleError> {
    use super::{
        decision::{Posted, decide},
        written::written,
    };

    let posted = Posted {
        id,
        version,
        outcome,
        external_reference,
        amount_minor,
        currency,
        reason,
        evidence: written(&evidence_kept, &evidence),
        force: String::new(),
        overrides: r#override,
    };
    decide(Verb::Confirm, posted).await
}

/// Takes a lease away from a worker that is gone (O12, O31).
///
/// # Errors
/// What stops it before the engine is reached; a refusal is a reply.
#[server(endpoint = "operations/release")]
pub async fn release(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
    #[server(default)] force: String,
) -> Result<ActionReply, ConsoleError> {
    use super::decision::{Posted, decide};

    decide(Verb::Release, Posted { id, version, reason, force, ..Posted::default() }).await
}

/// Has the provider asked again now (O32).
///
/// # Errors
/// What stops it before the engine is reached; a refusal is a reply.
#[server(endpoint = "operations/reconcile")]
pub async fn reconcile(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<ActionReply, ConsoleError> {
    use super::decision::{Posted, decide};

    decide(Verb::Reconcile, Posted { id, version, reason, ..Posted::default() }).await
}

/// Grants another attempt (O33).
///
/// # Errors
/// What stops it before the engine is reached; a refusal is a reply.
#[server(endpoint = "operations/retry")]
pub async fn retry(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<ActionReply, ConsoleError> {
    use super::decision::{Posted, decide};

    decide(Verb::Retry, Posted { id, version, reason, ..Posted::default() }).await
}

/// Stops what has not begun, gives up what would retry (O3, O14).
///
/// # Errors
/// What stops it before the engine is reached; a refusal is a reply.
#[server(endpoint = "operations/cancel")]
pub async fn cancel(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<ActionReply, ConsoleError> {
    use super::decision::{Posted, decide};

    decide(Verb::Cancel, Posted { id, version, reason, ..Posted::default() }).await
}

/// Writes a note. The key was minted into the form, so that a repeat adds nothing; other words
/// under the same key are another note, and both stay.
///
/// # Errors
/// The engine's refusal.
#[server(endpoint = "operations/note")]
pub async fn add_note(
    #[server(default)] id: String,
    #[server(default)] form_key: String,
    #[server(default)] text_kept: String,
    #[server(default)] text: String,
) -> Result<(), ConsoleError> {
    use super::{desk::beside, refused::Kept, written::written};

    let text = written(&text_kept, &text);
    let kept = Kept { text: text.clone(), form_key: form_key.clone(), ..Kept::default() };
    beside(&id, kept, async move |engine, by, id| engine.add_note(&by, id, &form_key, &text).await)
        .await
}

/// Says who looks at it, so that two people do not ring the same provider.
///
/// # Errors
/// The engine's refusal.
#[server(endpoint = "operations/take")]
pub async fn take(
    #[server(default)] id: String,
    #[server(default)] taken: String,
) -> Result<(), ConsoleError> {
    use super::{desk::beside, refused::Kept};

    beside(&id, Kept::default(), async move |engine, by, id| match taken.as_str() {
        "true" => engine.take(&by, id, true).await,
        "false" => engine.take(&by, id, false).await,
        _ => Err(EngineError::field(Code::Unprocessable, "taken", "true or false")),
    })
    .await
}
