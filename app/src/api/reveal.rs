//! Revealing masked fields: what could be, the form that asks for it, and what it shows.
//!
//! The form's answer is a redirect to a page that only its sender can read, and only for a few minutes:
//! no value stands in an address, and loading the page again shows the same grant and no new one.

use domain::{
    action::{Subject, TargetType},
    ids::{OperationId, RevealId},
    problem::Code,
    view::{ArtifactName, MaskedFields, RevealView},
};
use engine::console::AskReveal;
use leptos::prelude::*;

use super::{
    context::{caller, carry_out, engine, read, refuse},
    found::{Found, find},
    redirect::{Target, go, hold},
    refused::{Kept, RefusedForm},
};
use crate::{error::ConsoleError, location::href};

/// Where the form is posted to.
pub const POSTED_TO: &str = "/act/records/reveal";

/// Asks to see one record's masked fields.
///
/// # Errors
/// What stops it before the engine is reached; a refusal leads back to the form.
#[server(endpoint = "records/reveal")]
pub async fn reveal(
    #[server(default)] target_type: String,
    #[server(default)] id: String,
    #[server(default)] step: String,
    #[server(default)] artifact: String,
    #[server(default)] form_key: String,
    #[server(default)] reason: String,
) -> Result<(), ConsoleError> {
    let Ok(kind) = target_type.parse::<TargetType>() else {
        return Err(refuse(ConsoleError::code_only(Code::RequestInvalid)));
    };
    let Ok(id) = id.trim().parse::<OperationId>() else {
        go(&Target::missing(kind));
        return Ok(());
    };
    let target = Subject::new(kind, id.to_string());
    let artifact = (!artifact.is_empty()).then_some(ArtifactName { step, name: artifact });
    let form = form(&target, artifact.as_ref());
    let kept = Kept { reason: reason.clone(), form_key: form_key.clone(), ..Kept::default() };
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    let ask = AskReveal { target, artifact, form_key, reason };
    match carry_out(&caller, async move { engine.reveal(&by, ask).await }).await {
        Ok(granted) => go(&Target::revealed(granted.id)),
        Err(ConsoleError(refusal)) if refusal.code == Code::StepUpRequired => {
            hold(&Target::reveal_form(&form));
        }
        Err(ConsoleError(refusal)) => {
            go(&Target::reveal(&form, &RefusedForm { refusal, kept }));
        }
    }
    Ok(())
}

/// The address of the form.
#[must_use]
pub fn form(target: &Subject, artifact: Option<&ArtifactName>) -> String {
    let path = format!("{}/{}/reveal", target.kind.pages(), target.id);
    let parts = artifact
        .map(|artifact| [("step", artifact.step.as_str()), ("artifact", artifact.name.as_str())]);
    href(&path, parts.into_iter().flatten())
}

/// What of a record is masked, by name; or which other tenant of the person has it.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn masked_fields(
    target: &Subject,
    artifact: Option<&ArtifactName>,
) -> Result<Found<MaskedFields>, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let id = target.id.parse().map_err(|_| refuse(ConsoleError::code_only(Code::NotFound)))?;
    find(&engine, &caller, id, engine.masked_fields(&caller, target, artifact)).await
}

/// What a reveal shows, to whom it was granted.
///
/// # Errors
/// `not_found` for another person's; `permission_missing` without the right.
pub async fn revealed(id: RevealId) -> Result<RevealView, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    read(&caller, engine.revealed(&caller, id)).await
}
