//! What of a finish is refused before anything is read: it cannot be stored as it is.

use domain::{
    ids::OperationId,
    money::{Money, parse_currency},
    problem::Code,
};

use super::Finish;
use crate::error::EngineError;

/// The longest reference of a provider, in characters.
const MAX_REFERENCE_CHARS: usize = 512;
/// Events that one finish may bring.
const MAX_EVENTS: usize = 100;

/// The amount that it names, where all of it can be stored.
pub(super) fn check(finish: &Finish) -> Result<Option<Money>, EngineError> {
    let unfit =
        |field: &str, detail: &str| Err(EngineError::field(Code::Unprocessable, field, detail));
    if let Some(reference) = &finish.external_reference
        && (reference.is_empty()
            || reference.chars().count() > MAX_REFERENCE_CHARS
            || reference.chars().any(char::is_control))
    {
        return unfit(
            "external_reference",
            "a reference has 1 to 512 characters and no control characters",
        );
    }
    if let Some(response) = &finish.response
        && (!(100..600).contains(&response.status)
            || response.content_type.len() > 255
            || !response.content_type.bytes().all(|b| (b' '..=b'~').contains(&b)))
    {
        return unfit(
            "response",
            "the status is 100 to 599 and the content type at most 255 visible ASCII characters",
        );
    }
    if finish.events.len() > MAX_EVENTS {
        return unfit("events", "at most 100 events");
    }
    for event in &finish.events {
        // An operation's own events are told by the engine alone.
        if event.aggregate.parse::<OperationId>().is_ok()
            || ["operation.", "workflow.", "compensation.", "incident."]
                .iter()
                .any(|own| event.topic.starts_with(own))
        {
            return unfit(
                "events",
                "aggregates that are ids and topics that begin with operation., workflow., compensation. or incident. are the engine's own",
            );
        }
        let fits = |text: &str, max| {
            !text.is_empty() && text.chars().count() <= max && !text.contains('\0')
        };
        if !fits(&event.aggregate, 512) || !fits(&event.topic, 200) {
            return unfit(
                "events",
                "an event has an aggregate of 1 to 512 and a topic of 1 to 200 characters",
            );
        }
    }
    match (finish.amount_minor, &finish.currency) {
        (None, None) => Ok(None),
        (Some(amount_minor), Some(currency)) => {
            let currency = parse_currency(currency).map_err(|error| {
                EngineError::field(Code::Unprocessable, "currency", error.to_string())
            })?;
            Ok(Some(Money { amount_minor, currency }))
        }
        _ => unfit("amount_minor", "an amount and its currency go together"),
    }
}
