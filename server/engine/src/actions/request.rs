//! A decision as it comes from a form or the JSON API, and the checks that need no record.

use domain::{
    access::Role,
    action::{MAX_REASON_CHARS, Outcome, Subject, TargetType, Verb},
    ids::EvidenceId,
    money::{Money, parse_currency},
    problem::Code,
    record::RecordName,
};
use serde::{Deserialize, Serialize};
use uuid::Uuid;

use super::NewToken;
use crate::{error::EngineError, store::kind::KindPolicy};

/// The longest evidence, in characters; the page says the same.
const MAX_EVIDENCE: usize = 4_000;
/// Files that one decision may name.
const MAX_FILES: usize = 10;
/// The longest reference, in characters.
const MAX_REFERENCE: usize = 512;

/// A person's decision on one record. Serialised whole into a request for a second person, so that
/// what is approved is what is carried out.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ActionRequest {
    /// On which record.
    pub target: Subject,
    /// What.
    pub verb: Verb,
    /// The version that the page showed.
    pub version: i64,
    /// Why; required.
    pub reason: String,
    /// For a confirmation or a correction: what was found out.
    pub outcome: Option<Outcome>,
    /// For *it happened*: the provider's reference.
    pub external_reference: Option<String>,
    /// The amount in the evidence, or to be given back, in minor units.
    pub amount_minor: Option<i64>,
    /// Its currency.
    pub currency: Option<String>,
    /// Text or link.
    pub evidence: Option<String>,
    /// Files that were attached to the operation before, as evidence of this decision.
    #[serde(default)]
    pub evidence_files: Vec<EvidenceId>,
    /// Release although the lease is live.
    pub force: bool,
    /// Confirm against the word of the provider or of the record.
    #[serde(rename = "override")]
    pub overrides: bool,
    /// For a kind: its new policy.
    pub policy: Option<Box<KindPolicy>>,
    /// For a person: the new role.
    pub role: Option<Role>,
    /// For a token that is made: what it covers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<Box<NewToken>>,
    /// For an incident that is opened: its title.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub summary: Option<String>,
    /// For an incident: what is gathered into it, or taken out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub records: Vec<RecordName>,
}

impl ActionRequest {
    /// A decision with nothing but its reason.
    pub fn new(
        target: impl Into<Subject>,
        verb: Verb,
        version: i64,
        reason: impl Into<String>,
    ) -> Self {
        Self {
            target: target.into(),
            verb,
            version,
            reason: reason.into(),
            outcome: None,
            external_reference: None,
            amount_minor: None,
            currency: None,
            evidence: None,
            evidence_files: Vec::new(),
            force: false,
            overrides: false,
            policy: None,
            role: None,
            token: None,
            summary: None,
            records: Vec::new(),
        }
    }

    /// The amount in the evidence.
    #[must_use]
    pub fn amount(&self) -> Option<Money> {
        Some(Money { amount_minor: self.amount_minor?, currency: self.currency.clone()? })
    }

    /// The decision itself: what must be the same for two requests to be one decision. Reason and
    /// evidence are not part of it (D41).
    pub(super) fn decision(&self) -> serde_json::Value {
        let mut decision = serde_json::json!({
            "verb": self.verb,
            "outcome": self.outcome,
            "external_reference": self.external_reference,
            "amount_minor": self.amount_minor,
            "currency": self.currency,
        });
        if let Some(policy) = &self.policy {
            decision["policy"] = serde_json::json!(policy);
        }
        if let Some(role) = self.role {
            decision["role"] = serde_json::json!(role);
        }
        if let Some(token) = &self.token {
            decision["token"] = serde_json::json!(token);
        }
        if let Some(summary) = &self.summary {
            decision["summary"] = serde_json::json!(summary);
        }
        if !self.records.is_empty() {
            decision["records"] = serde_json::json!(self.records);
        }
        decision
    }

    /// The request with its texts trimmed, and what is missing named.
    pub(super) fn checked(&self) -> Result<Self, EngineError> {
        let mut request = self.clone();
        if request.target.kind != TargetType::OperationKind {
            // One record, one spelling: the key is made of it.
            let id = Uuid::try_parse(&request.target.id)
                .map_err(|_| EngineError::refused(Code::NotFound))?;
            request.target.id = id.to_string();
        }
        request.reason = checked_reason(
            &request.reason,
            "say why: the reason stands on the receipt and in the audit log",
        )?;
        request.external_reference = trimmed(request.external_reference);
        request.evidence = trimmed(request.evidence);
        request.currency = trimmed(request.currency);
        check_text("summary", request.summary.as_deref(), MAX_REASON_CHARS)?;
        check_text("evidence", request.evidence.as_deref(), MAX_EVIDENCE)?;
        check_text("external_reference", request.external_reference.as_deref(), MAX_REFERENCE)?;
        if let Some(currency) = &request.currency {
            parse_currency(currency).map_err(|error| unfit("currency", &error.to_string()))?;
        }
        if request.amount_minor.is_some() != request.currency.is_some() {
            return Err(unfit("amount_minor", "an amount and its currency go together"));
        }
        request.force &= request.verb == Verb::Release;
        request.overrides &= request.verb == Verb::Confirm;
        // What a verb does not use must not make two decisions out of one.
        if !matches!(request.verb, Verb::Confirm | Verb::Correct) {
            request.outcome = None;
            request.external_reference = None;
            request.evidence_files.clear();
        }
        request.evidence_files.sort_unstable();
        request.evidence_files.dedup();
        if request.evidence_files.len() > MAX_FILES {
            return Err(unfit(
                "evidence_files",
                &format!("a decision names at most {MAX_FILES} files"),
            ));
        }
        if !matches!(request.verb, Verb::Confirm | Verb::Compensate) {
            request.amount_minor = None;
            request.currency = None;
        }
        if request.verb != Verb::PutKind {
            request.policy = None;
        }
        if request.verb != Verb::Grant {
            request.role = None;
        }
        request.token = match request.token {
            Some(token) if request.verb == Verb::Issue => Some(Box::new(token.checked()?)),
            _ => None,
        };
        request.summary = trimmed(request.summary).filter(|_| request.verb == Verb::Open);
        if !matches!(request.verb, Verb::Open | Verb::Add | Verb::Remove) {
            request.records.clear();
        }
        // In which order they were picked makes no other decision.
        request.records.sort_unstable();
        request.records.dedup();
        request.check_terms()?;
        Ok(request)
    }

    /// What the verb cannot do without.
    fn check_terms(&self) -> Result<(), EngineError> {
        match (self.verb, self.outcome) {
            (Verb::Confirm | Verb::Correct, None) => {
                Err(unfit("outcome", "choose what you found out: it happened, or it did not"))
            }
            (Verb::Correct, Some(Outcome::NotHappenedRetry)) => Err(unfit(
                "outcome",
                "a correction says that it happened, or that it did not; it starts no attempt",
            )),
            (_, Some(Outcome::Happened)) if self.external_reference.is_none() => {
                Err(unfit("external_reference", "name the provider's reference of the effect"))
            }
            (_, Some(Outcome::NotHappenedRetry | Outcome::NotHappenedStop))
                if self.external_reference.is_some() =>
            {
                Err(unfit("external_reference", "what did not happen has no reference"))
            }
            (Verb::PutKind, _) => match &self.policy {
                Some(policy) if policy.name == self.target.id => Ok(()),
                Some(_) => Err(unfit("policy", "the policy names another kind")),
                None => Err(unfit("policy", "the kind's new policy is missing")),
            },
            (Verb::Issue, _) if self.token.is_none() => {
                Err(unfit("token_name", "what the token is called is missing"))
            }
            (Verb::Grant, _) if self.role.is_none() => Err(unfit("role", "the role is missing")),
            _ => Ok(()),
        }
    }
}

fn trimmed(text: Option<String>) -> Option<String> {
    text.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
}

pub(super) fn unfit(field: &str, detail: &str) -> EngineError {
    EngineError::field(Code::Unprocessable, field, detail)
}

/// A reason that must be there, trimmed.
pub(crate) fn checked_reason(reason: &str, missing: &str) -> Result<String, EngineError> {
    let reason = reason.trim();
    check_reason(reason)?;
    if reason.is_empty() { Err(unfit("reason", missing)) } else { Ok(reason.to_owned()) }
}

/// Checks a reason that is no part of a decision.
pub(super) fn check_reason(reason: &str) -> Result<(), EngineError> {
    check_text("reason", Some(reason), MAX_REASON_CHARS)
}

pub(super) fn check_text(field: &str, text: Option<&str>, max: usize) -> Result<(), EngineError> {
    let Some(text) = text else { return Ok(()) };
    if text.chars().count() > max {
        return Err(unfit(field, &format!("{field} has more than {max} characters")));
    }
    if text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\r' | '\t')) {
        return Err(unfit(field, &format!("{field} holds a control character")));
    }
    Ok(())
}
