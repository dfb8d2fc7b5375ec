//! What people do to an operation. Every form posts the fields of its JSON call under the same
//! names; all of them are texts here, so that a slip in one is refused beside it. All of them answer by
//! leading to another page: the receipt, or the page that explains the refusal.

#![allow(clippy::too_many_arguments, reason = "one argument per field of the form")]

use domain::{
    action::{Subject, TargetType, Verb},
    ids::OperationId,
    problem::Code,
};
use engine::EngineError;
use leptos::prelude::*;

use super::{
    context::refuse,
    decision::{Posted, decide},
    desk::beside,
    incidents,
    refused::Kept,
    written::written,
};
use crate::error::ConsoleError;

/// Where the form of a verb of an operation is posted to.
#[must_use]
pub fn posted_to(verb: Verb) -> String {
    format!("/act/operations/{verb}")
}

/// Where the forms of all other records are posted to.
pub const RECORDS: &str = "/act/records/decide";

/// Decides about a record that is no operation: an event, a message, a workflow, an undo, an incident,
/// a request or a person's role. Which and what are fields of the form.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "records/decide")]
pub async fn decide_record(
    #[server(default)] target_type: String,
    #[server(default)] id: String,
    #[server(default)] verb: String,
    #[server(default)] version: String,
    #[server(default)] amount_minor: String,
    #[server(default)] currency: String,
    #[server(default)] role: String,
    #[server(default)] records: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    let posted =
        Posted { version, amount_minor, currency, role, records, reason, ..Posted::default() };
    let named = target_type.parse::<TargetType>().ok().zip(verb.parse::<Verb>().ok());
    // What opens an incident, gathers into one or makes a token has a form of its own.
    let fits = |(target_type, verb): &(TargetType, Verb)| {
        Verb::on(*target_type).contains(verb)
            && !matches!(verb, Verb::Open | Verb::Add | Verb::Issue)
    };
    let Some((target_type, verb)) = named.filter(fits) else {
        return Err(refuse(ConsoleError::code_only(Code::RequestInvalid)));
    };
    decide(Subject::new(target_type, id.trim()), verb, posted).await
}

fn operation(id: &str) -> Subject {
    Subject::new(TargetType::Operation, id.trim())
}

/// Says what became of an unknown outcome (O21 to O23).
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
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
    #[server(default)] evidence_files: String,
    #[server(default)] file: String,
    #[server(default)] r#override: String,
) -> Result<(), ConsoleError> {
    let posted = Posted {
        version,
        outcome,
        external_reference,
        amount_minor,
        currency,
        reason,
        evidence: written(&evidence_kept, &evidence),
        evidence_files,
        file,
        role: String::new(),
        records: String::new(),
        force: String::new(),
        overrides: r#override,
    };
    decide(operation(&id), Verb::Confirm, posted).await
}

/// Takes a lease away from a worker that is gone (O12, O31).
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/release")]
pub async fn release(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
    #[server(default)] force: String,
) -> Result<(), ConsoleError> {
    decide(operation(&id), Verb::Release, Posted { version, reason, force, ..Posted::default() })
        .await
}

/// Has the provider asked again now (O32).
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/reconcile")]
pub async fn reconcile(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    decide(operation(&id), Verb::Reconcile, Posted { version, reason, ..Posted::default() }).await
}

/// Grants another attempt (O33).
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/retry")]
pub async fn retry(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    decide(operation(&id), Verb::Retry, Posted { version, reason, ..Posted::default() }).await
}

/// Stops what has not begun, gives up what would retry (O3, O14).
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/cancel")]
pub async fn cancel(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    decide(operation(&id), Verb::Cancel, Posted { version, reason, ..Posted::default() }).await
}

/// Undoes what happened (C1): an operation of its own.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/compensate")]
pub async fn compensate(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] amount_minor: String,
    #[server(default)] currency: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    let posted = Posted { version, amount_minor, currency, reason, ..Posted::default() };
    decide(operation(&id), Verb::Compensate, posted).await
}

/// Puts a wrong confirmation right; always with a second person.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "operations/correct")]
pub async fn correct(
    #[server(default)] id: String,
    #[server(default)] version: String,
    #[server(default)] outcome: String,
    #[server(default)] external_reference: String,
    #[server(default)] reason: String,
    #[server(default)] evidence_kept: String,
    #[server(default)] evidence: String,
    #[server(default)] evidence_files: String,
    #[server(default)] file: String,
) -> Result<(), ConsoleError> {
    let evidence = written(&evidence_kept, &evidence);
    let posted = Posted {
        version,
        outcome,
        external_reference,
        reason,
        evidence,
        evidence_files,
        file,
        ..Posted::default()
    };
    decide(operation(&id), Verb::Correct, posted).await
}

/// Writes a note on a record. The key was minted into the form, so that a repeat adds nothing; other
/// words under the same key are another note, and both stay.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the notes.
#[server(endpoint = "records/note")]
pub async fn add_note(
    #[server(default)] target_type: String,
    #[server(default)] id: String,
    #[server(default)] form_key: String,
    #[server(default)] text_kept: String,
    #[server(default)] text: String,
) -> Result<(), ConsoleError> {
    let kind = match target_type.trim() {
        "" => TargetType::Operation,
        word => word.parse().map_err(|_| refuse(ConsoleError::code_only(Code::RequestInvalid)))?,
    };
    let text = written(&text_kept, &text);
    let kept = Kept { text: text.clone(), form_key: form_key.clone(), ..Kept::default() };
    beside(kind, &id, kept, async move |engine, by, about| {
        engine.add_note(&by, about, &form_key, &text).await
    })
    .await
}

/// Says who looks at it, so that two people do not ring the same provider.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the notes.
#[server(endpoint = "operations/take")]
pub async fn take(
    #[server(default)] id: String,
    #[server(default)] taken: String,
) -> Result<(), ConsoleError> {
    beside(TargetType::Operation, &id, Kept::default(), async move |engine, by, about| {
        let id = OperationId::new(about.id);
        match taken.as_str() {
            "true" => engine.take(&by, id, true).await,
            "false" => engine.take(&by, id, false).await,
            _ => Err(EngineError::field(Code::Unprocessable, "taken", "true or false")),
        }
    })
    .await
}

/// Gathers records into an incident: a new one under the id that the form carries, or one that is
/// open, named with the version that the page showed.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "incidents/gather")]
pub async fn gather(
    #[server(default)] records: String,
    #[server(default)] incident: String,
    #[server(default)] id: String,
    #[server(default)] summary: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    incidents::gather(incidents::Picked { records, incident, id, summary, reason }).await
}
