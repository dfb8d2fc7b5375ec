//! The rules that make a provider misbehave, as `PUT /modes` words them.
//!
//! A rule says *whom* it meets (`match`), *what* happens (`mode`), *how often*
//! (`times`) and whether a webhook follows (`webhook`). Parsing refuses an
//! unknown mode or a missing number: a typo that silently means "normal" would
//! make a fault test pass without its fault.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use super::mode::Mode;
use crate::{EffectKind, Provider};

/// Rules per provider; the first rule that matches wins, per family of modes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Modes(pub BTreeMap<Provider, Vec<Rule>>);

impl Modes {
    /// One rule for one provider.
    pub fn one(provider: Provider, rule: Rule) -> Self {
        Self(BTreeMap::from([(provider, vec![rule])]))
    }
}

/// Whom a rule meets. Every field that is set must agree; none set: everyone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// Only this sort of effect.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<EffectKind>,
    /// Exactly this idempotency key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// Exactly this name: the merchant's `reference`, or `invoice_id`,
    /// `campaign_id`, `recipient_id`, `document_id` of the payload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// One of the names above begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reference_prefix: Option<String>,
}

/// A webhook that follows the effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WebhookPlan {
    /// Delay after the effect, milliseconds.
    pub after_ms: u64,
    /// Deliver the same event twice.
    pub twice: bool,
}

/// One rule. See `PUT /modes` in [`crate::providers`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleWire", into = "RuleWire")]
pub struct Rule {
    /// Whom it meets.
    pub matches: Match,
    /// What happens; none: only the webhook.
    pub mode: Option<Mode>,
    /// How many requests it meets before it is gone; none: for ever.
    pub times: Option<u32>,
    /// The webhook that follows a new effect.
    pub webhook: Option<WebhookPlan>,
}

impl Rule {
    /// `mode` for everyone, for ever.
    pub fn always(mode: Mode) -> Self {
        Self { matches: Match::default(), mode: Some(mode), times: None, webhook: None }
    }

    /// `mode` for everyone, once.
    pub fn once(mode: Mode) -> Self {
        Self { times: Some(1), ..Self::always(mode) }
    }

    /// The same rule, for one idempotency key only.
    #[must_use]
    pub fn for_key(mut self, kind: EffectKind, key: &str) -> Self {
        self.matches = Match { kind: Some(kind), key: Some(key.to_owned()), ..Match::default() };
        self
    }

    /// The same rule, for one invoice, recipient or document only.
    #[must_use]
    pub fn for_reference(mut self, kind: EffectKind, reference: &str) -> Self {
        self.matches =
            Match { kind: Some(kind), reference: Some(reference.to_owned()), ..Match::default() };
        self
    }

    /// The same rule, with a webhook after the effect.
    #[must_use]
    pub fn with_webhook(mut self, after_ms: u64, twice: bool) -> Self {
        self.webhook = Some(WebhookPlan { after_ms, twice });
        self
    }
}

/// The JSON form. No tagged or flattened enum: with exact decimals switched on
/// in the JSON library their buffering loses integers.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleWire {
    #[serde(default, rename = "match", skip_serializing_if = "is_everyone")]
    matches: Match,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    mode: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<u32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    webhook: Option<Value>,
}

fn is_everyone(matches: &Match) -> bool {
    *matches == Match::default()
}

impl TryFrom<RuleWire> for Rule {
    type Error = String;

    fn try_from(wire: RuleWire) -> Result<Self, String> {
        let mode = match &wire.mode {
            Some(name) => Some(Mode::parse(name, wire.ms, wire.code.as_deref())?),
            None if wire.ms.is_some() || wire.code.is_some() => {
                return Err("ms and code need a mode".into());
            }
            None => None,
        };
        let webhook = wire.webhook.as_ref().map(parse_webhook).transpose()?.flatten();
        if mode.is_none() && webhook.is_none() {
            return Err("a rule needs a mode or a webhook".into());
        }
        if wire.times == Some(0) {
            return Err("times must be at least 1".into());
        }
        Ok(Self { matches: wire.matches, mode, times: wire.times, webhook })
    }
}

fn parse_webhook(value: &Value) -> Result<Option<WebhookPlan>, String> {
    match value {
        Value::Null | Value::Bool(false) => Ok(None),
        Value::Bool(true) => Ok(Some(WebhookPlan { after_ms: 0, twice: false })),
        Value::Object(fields) => {
            let mut plan = WebhookPlan { after_ms: 0, twice: false };
            for (name, value) in fields {
                match (name.as_str(), value.as_u64(), value.as_bool()) {
                    ("after_ms", Some(ms), _) => plan.after_ms = ms,
                    ("twice", _, Some(twice)) => plan.twice = twice,
                    _ => {
                        return Err(format!(
                            "webhook: {name} is not after_ms (integer) or twice (boolean)"
                        ));
                    }
                }
            }
            Ok(Some(plan))
        }
        _ => Err("webhook is true or {after_ms, twice}".into()),
    }
}

impl From<Rule> for RuleWire {
    fn from(rule: Rule) -> Self {
        let (mode, ms, code) = match &rule.mode {
            Some(mode) => {
                let (name, ms, code) = mode.parts();
                (Some(name.to_owned()), ms, code)
            }
            None => (None, None, None),
        };
        let webhook = rule
            .webhook
            .map(|plan| serde_json::json!({ "after_ms": plan.after_ms, "twice": plan.twice }));
        Self { matches: rule.matches, mode, ms, code, times: rule.times, webhook }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_its_json_form() {
        let text = r#"{"payments":[{"match":{"kind":"charge","reference_prefix":"INV-"},"mode":"slow","ms":1500,"times":2,
            "webhook":{"after_ms":50,"twice":true}},{"mode":"reject","code":"card_declined"},{"webhook":true}]}"#;
        let modes: Modes = serde_json::from_str(text).expect("the rule is valid");
        let again: Modes =
            serde_json::from_str(&serde_json::to_string(&modes).expect("serialises"))
                .expect("parses again");
        assert_eq!(modes, again);
        assert_eq!(modes.0.get(&Provider::Payments).map(Vec::len), Some(3));
    }

    #[test]
    fn a_typo_never_means_normal() {
        for bad in [
            r#"{"payments":[{"mode":"aply_drop"}]}"#,
            r#"{"payments":[{"mode":"slow"}]}"#,
            r#"{"payments":[{"mode":"hang","ms":5}]}"#,
            r#"{"payments":[{"mode":"hang","tmes":5}]}"#,
            r#"{"payments":[{"mode":"hang","times":0}]}"#,
            r#"{"payments":[{"mode":"hang","webhook":{"after":5}}]}"#,
            r#"{"payments":[{}]}"#,
            r#"{"payment":[]}"#,
        ] {
            assert!(serde_json::from_str::<Modes>(bad).is_err(), "{bad}");
        }
    }
}
