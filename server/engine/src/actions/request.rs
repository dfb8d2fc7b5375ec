//! A decision as it comes from a form or the JSON API, and the checks that need no record.

use domain::{
    action::{MAX_REASON_CHARS, Outcome, Verb},
    ids::OperationId,
    money::{Money, parse_currency},
    problem::Code,
};

use crate::error::EngineError;

/// The longest evidence, in characters; the page says the same.
const MAX_EVIDENCE: usize = 4_000;
/// The longest reference, in characters.
const MAX_REFERENCE: usize = 512;

/// A person's decision on one operation.
#[derive(Clone, Debug)]
pub struct ActionRequest {
    /// On which operation.
    pub target: OperationId,
    /// What.
    pub verb: Verb,
    /// The version that the page showed.
    pub version: i64,
    /// Why; required.
    pub reason: String,
    /// For a confirmation: what was found out.
    pub outcome: Option<Outcome>,
    /// For *it happened*: the provider's reference.
    pub external_reference: Option<String>,
    /// The amount in the evidence, in minor units.
    pub amount_minor: Option<i64>,
    /// Its currency.
    pub currency: Option<String>,
    /// Text or link.
    pub evidence: Option<String>,
    /// Release although the lease is live.
    pub force: bool,
}

impl ActionRequest {
    /// The amount in the evidence.
    #[must_use]
    pub fn amount(&self) -> Option<Money> {
        Some(Money { amount_minor: self.amount_minor?, currency: self.currency.clone()? })
    }

    /// The decision itself: what must be the same for two requests to be one decision. Reason and
    /// evidence are not part of it (D41).
    pub(super) fn decision(&self) -> serde_json::Value {
        serde_json::json!({
            "verb": self.verb,
            "outcome": self.outcome,
            "external_reference": self.external_reference,
            "amount_minor": self.amount_minor,
            "currency": self.currency,
        })
    }

    /// The request with its texts trimmed, and what is missing named.
    pub(super) fn checked(&self) -> Result<Self, EngineError> {
        let mut request = self.clone();
        request.reason = request.reason.trim().to_owned();
        request.external_reference = trimmed(request.external_reference);
        request.evidence = trimmed(request.evidence);
        request.currency = trimmed(request.currency);
        check_text("reason", Some(&request.reason), MAX_REASON_CHARS)?;
        check_text("evidence", request.evidence.as_deref(), MAX_EVIDENCE)?;
        check_text("external_reference", request.external_reference.as_deref(), MAX_REFERENCE)?;
        if request.reason.is_empty() {
            return Err(unfit(
                "reason",
                "say why: the reason stands on the receipt and in the audit log",
            ));
        }
        if let Some(currency) = &request.currency {
            parse_currency(currency).map_err(|error| unfit("currency", &error.to_string()))?;
        }
        if request.amount_minor.is_some() != request.currency.is_some() {
            return Err(unfit("amount_minor", "an amount and its currency go together"));
        }
        match (request.verb, request.outcome) {
            (Verb::Confirm, None) => {
                return Err(unfit(
                    "outcome",
                    "choose what you found out: it happened, or it did not",
                ));
            }
            (Verb::Confirm, Some(Outcome::Happened)) if request.external_reference.is_none() => {
                return Err(unfit(
                    "external_reference",
                    "name the provider's reference of the effect",
                ));
            }
            (Verb::Confirm, Some(Outcome::NotHappenedRetry | Outcome::NotHappenedStop))
                if request.external_reference.is_some() =>
            {
                return Err(unfit("external_reference", "what did not happen has no reference"));
            }
            (Verb::Confirm, _) => {}
            // What other verbs do not use must not make two decisions out of one.
            _ => {
                request.outcome = None;
                request.external_reference = None;
                request.amount_minor = None;
                request.currency = None;
            }
        }
        Ok(request)
    }
}

fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn unfit(field: &str, detail: &str) -> EngineError {
    EngineError::field(Code::Unprocessable, field, detail)
}

fn check_text(field: &str, text: Option<&str>, max: usize) -> Result<(), EngineError> {
    let Some(text) = text else { return Ok(()) };
    if text.chars().count() > max {
        return Err(unfit(field, &format!("{field} has more than {max} characters")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(unfit(field, &format!("{field} holds a control character")));
    }
    Ok(())
}
