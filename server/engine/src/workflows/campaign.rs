//! The worked example: an agent of several steps that drafts a text with a model, decides from the
//! draft whether to send it, mails it and charges for it beside each other, and publishes it.
//!
//! The model is asked by the first step alone. What it answered is that step's artifact, and what
//! was decided from it is the second's: neither is ever asked for again (D31, I13).

use serde_json::{Value, json};

use super::{Context, Definition, DefinitionError, Step};

/// The definition's name.
pub const CAMPAIGN_AGENT: &str = "campaign.agent";

/// The agent. Its input: `campaign_id`, `recipient_id`, `topic`, `invoice_id`, `amount_minor`,
/// `currency`, `document_id`, `version`, and optionally `hold_words`, which must not go out.
///
/// # Errors
/// None, as a test sees to.
pub fn campaign_agent() -> Result<Definition, DefinitionError> {
    Definition::of(CAMPAIGN_AGENT, 1)
        .step("draft", Step::operation("draft.generate", draft))
        .step("decide", Step::decision(&["send", "hold"], review, decide).after(&["draft"]))
        .step("mail", Step::operation("campaign.send", mail).when("decide", "send"))
        .step("charge", Step::operation("invoice.charge", charge).when("decide", "send"))
        .step(
            "publish",
            Step::operation("document.publish", publish)
                .after(&["mail", "charge"])
                .when("decide", "send"),
        )
        .build()
}

fn draft(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "draft_id": context.required("/campaign_id")?,
        "topic": context.required("/topic")?,
    }))
}

/// What the decision is taken from.
fn review(context: &Context<'_>) -> Result<Value, String> {
    Ok(json!({
        "text": context.response("draft")?.get("text").cloned().unwrap_or_default(),
        "hold_words": context.input().get("hold_words").cloned().unwrap_or_else(|| json!([])),
    }))
}

/// Holds back a draft that is empty or says what must not go out.
fn decide(review: &Value) -> String {
    let text = review["text"].as_str().unwrap_or_default();
    let mut words = review["hold_words"].as_array().into_iter().flatten();
    let hold = text.trim().is_empty()
        || words.any(|word| word.as_str().is_some_and(|word| text.contains(word)));
    if hold { "hold" } else { "send" }.to_owned()
}

fn mail(context: &Context<'_>) -> Result<Value, String> {
    let draft = context.response("draft")?;
    Ok(json!({
        "campaign_id": context.required("/campaign_id")?,
        "recipient_id": context.required("/recipient_id")?,
        "subject": draft.get("subject"),
        "text": draft.get("text"),
    }))
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
        "text": context.response("draft")?.get("text"),
    }))
}
