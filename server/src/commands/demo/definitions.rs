//! The demo's own workflows, beside the engine's worked example: one whose steps can all be undone,
//! one that waits for a service outside, and one with the mistake that drift guards against.

use engine::workflows::{Context, Definition, Step};
use sandbox::{
    EffectKind, PREVIEW,
    story::{LETTER_REVIEW, LETTER_STAMPED, RELEASE},
};
use serde_json::{Value, json};

/// All of them.
pub(super) fn all() -> Vec<Definition> {
    let built = [
        Definition::of(RELEASE, 1)
            .step("charge", Step::operation(EffectKind::Charge.operation(), charge))
            .step(
                "publish",
                Step::operation(EffectKind::Publication.operation(), publish).after(&["charge"]),
            )
            .build(),
        Definition::of(LETTER_REVIEW, 1)
            .step("draft", Step::operation(PREVIEW, draft))
            .step("mail", Step::operation(EffectKind::Mail.operation(), mail).after(&["draft"]))
            .build(),
        Definition::of(LETTER_STAMPED, 1)
            .step("draft", Step::operation(EffectKind::Draft.operation(), stamped_draft))
            .step("mail", Step::operation(EffectKind::Mail.operation(), mail).after(&["draft"]))
            .build(),
    ];
    built.into_iter().map(|definition| definition.expect("a test builds them")).collect()
}

fn charge(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "invoice_id": context.required("/invoice_id")?,
        "amount_minor": context.required("/amount_minor")?,
        "currency": context.required("/currency")?,
    }))
}

fn publish(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "document_id": context.required("/document_id")?,
        "version": context.required("/version")?,
    }))
}

fn draft(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "draft_id": context.required("/draft_id")?,
        "topic": context.required("/topic")?,
    }))
}

/// The mistake: an input that says when it was made is another one when it is made again.
fn stamped_draft(context: &Context<'_>) -> Result<Value, String> {
    let mut payload = draft(context)?;
    payload["stamp"] = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_err(|error| error.to_string())?
        .as_nanos()
        .to_string()
        .into();
    Ok(payload)
}

fn mail(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "campaign_id": context.required("/campaign_id")?,
        "recipient_id": context.required("/recipient_id")?,
        "text": context.response("draft")?.get("text"),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_definition_can_be_built() {
        assert_eq!(all().len(), 3);
    }
}
