//! The consumer's troubles, as `PUT /modes` words them: whom a rule meets (`match`), what
//! happens (`mode`) and how often (`times`).
//!
//! Parsing refuses an unknown mode or a missing number: a typo that silently means *no
//! trouble* would make a fault test pass without its fault. The rules are kept beside the
//! ledger by rename, so that an event that is refused today is refused tomorrow.

use std::{
    io,
    path::PathBuf,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde::{Deserialize, Serialize};

use super::event::Event;

/// Most rules; beyond, adding is refused.
const MAX_RULES: usize = 1_000;

/// What the consumer does instead of taking an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// Answer 503, as a service that is down: about no single event.
    Down,
    /// Answer 500, take nothing.
    Fail500,
    /// Take it after `ms`, even when the sender has left, then answer.
    Slow {
        /// Delay before it is taken, milliseconds.
        ms: u64,
    },
    /// Take it, then reset the TCP connection: no byte of a reply.
    TakeDrop,
    /// Answer 422 with this error code, take nothing.
    Reject {
        /// For example `unknown_customer`.
        code: String,
    },
}

/// Whom a rule meets. Every field that is set must agree; none set: every event.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct EventMatch {
    /// Exactly this event.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// Events of this tenant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tenant: Option<String>,
    /// Events of this topic.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub topic: Option<String>,
    /// Events about this aggregate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub aggregate: Option<String>,
}

impl EventMatch {
    fn meets(&self, event: &Event) -> bool {
        let agrees =
            |asked: &Option<String>, own: &str| asked.as_deref().is_none_or(|it| it == own);
        agrees(&self.id, &event.id)
            && agrees(&self.tenant, &event.tenant)
            && agrees(&self.topic, &event.topic)
            && agrees(&self.aggregate, &event.aggregate)
    }
}

/// One rule.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "RuleWire", into = "RuleWire")]
pub struct EventRule {
    /// Whom it meets.
    pub matches: EventMatch,
    /// What happens.
    pub trouble: Trouble,
    /// How many deliveries it meets before it is gone; none: for ever.
    pub times: Option<u32>,
}

impl EventRule {
    /// `trouble` for every event, for ever.
    pub fn always(trouble: Trouble) -> Self {
        Self { matches: EventMatch::default(), trouble, times: None }
    }

    /// `trouble` for the next `times` deliveries.
    pub fn times(times: u32, trouble: Trouble) -> Self {
        Self { times: Some(times), ..Self::always(trouble) }
    }

    /// The same rule, for events of one topic about one aggregate of a tenant.
    #[must_use]
    pub fn about(mut self, tenant: &str, aggregate: &str, topic: &str) -> Self {
        self.matches = EventMatch {
            id: None,
            tenant: Some(tenant.to_owned()),
            topic: Some(topic.to_owned()),
            aggregate: Some(aggregate.to_owned()),
        };
        self
    }
}

/// The JSON form; flat, for exact decimals lose integers in tagged enums.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct RuleWire {
    #[serde(default, rename = "match", skip_serializing_if = "is_everyone")]
    matches: EventMatch,
    mode: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    code: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    times: Option<u32>,
}

fn is_everyone(matches: &EventMatch) -> bool {
    *matches == EventMatch::default()
}

impl TryFrom<RuleWire> for EventRule {
    type Error = String;

    fn try_from(wire: RuleWire) -> Result<Self, String> {
        let RuleWire { matches, mode, ms, code, times } = wire;
        let trouble = match (mode.as_str(), ms, code) {
            ("down", None, None) => Trouble::Down,
            ("fail_500", None, None) => Trouble::Fail500,
            ("slow", Some(ms), None) => Trouble::Slow { ms },
            ("take_drop", None, None) => Trouble::TakeDrop,
            ("reject", None, code) => {
                Trouble::Reject { code: code.unwrap_or_else(|| "unprocessable".into()) }
            }
            ("slow", None, None) => return Err("mode slow needs ms".into()),
            ("down" | "fail_500" | "slow" | "take_drop", ..) => {
                return Err(format!("mode {mode} takes no such field"));
            }
            _ => return Err(format!("unknown mode {mode:?}")),
        };
        if times == Some(0) {
            return Err("times must be at least 1".into());
        }
        Ok(Self { matches, trouble, times })
    }
}

impl From<EventRule> for RuleWire {
    fn from(rule: EventRule) -> Self {
        let (mode, ms, code) = match rule.trouble {
            Trouble::Down => ("down", None, None),
            Trouble::Fail500 => ("fail_500", None, None),
            Trouble::Slow { ms } => ("slow", Some(ms), None),
            Trouble::TakeDrop => ("take_drop", None, None),
            Trouble::Reject { code } => ("reject", None, Some(code)),
        };
        Self { matches: rule.matches, mode: mode.to_owned(), ms, code, times: rule.times }
    }
}

/// The rules in force; the first that meets an event wins.
pub(super) struct RuleTable {
    path: PathBuf,
    rules: Mutex<Vec<EventRule>>,
}

impl RuleTable {
    /// Reads the rules kept by the last run.
    pub(super) fn open(path: PathBuf) -> io::Result<Self> {
        let rules = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        Ok(Self { path, rules: Mutex::new(rules) })
    }

    /// A copy of the rules in force.
    pub(super) fn current(&self) -> Vec<EventRule> {
        self.lock().clone()
    }

    /// Replaces the rules by what `next` makes of them.
    pub(super) fn change(
        &self,
        next: impl FnOnce(Vec<EventRule>) -> Vec<EventRule>,
    ) -> io::Result<Vec<EventRule>> {
        let mut rules = self.lock();
        let next = next(rules.clone());
        if next.len() > MAX_RULES {
            let words = format!("there would be more than {MAX_RULES} rules");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, words));
        }
        self.keep(&next)?;
        rules.clone_from(&next);
        Ok(next)
    }

    /// The trouble that an event meets; counts it down.
    pub(super) fn pick(&self, event: &Event) -> io::Result<Option<Trouble>> {
        let mut rules = self.lock();
        let Some(place) = rules.iter().position(|rule| rule.matches.meets(event)) else {
            return Ok(None);
        };
        let Some(rule) = rules.get_mut(place) else { return Ok(None) };
        let trouble = rule.trouble.clone();
        if let Some(times) = rule.times {
            rule.times = Some(times.saturating_sub(1));
            rules.retain(|rule| rule.times != Some(0));
            self.keep(&rules)?;
        }
        Ok(Some(trouble))
    }

    fn keep(&self, rules: &[EventRule]) -> io::Result<()> {
        let next = self.path.with_extension("json.next");
        std::fs::write(&next, serde_json::to_vec_pretty(rules)?)?;
        std::fs::rename(&next, &self.path)
    }

    fn lock(&self) -> MutexGuard<'_, Vec<EventRule>> {
        // The rules are replaced whole, so a panic elsewhere cannot leave them torn.
        self.rules.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_survives_its_json_form_and_a_typo_never_means_no_trouble() {
        let text = r#"[{"match":{"aggregate":"INV-1"},"mode":"reject","code":"unknown_customer"},
            {"mode":"slow","ms":50,"times":2},{"mode":"down"},{"mode":"take_drop"},{"mode":"fail_500"}]"#;
        let rules: Vec<EventRule> = serde_json::from_str(text).expect("the rules are valid");
        let again = serde_json::to_string(&rules).expect("serialises");
        assert_eq!(serde_json::from_str::<Vec<EventRule>>(&again).expect("parses"), rules);
        for bad in [
            r#"[{"mode":"dwon"}]"#,
            r#"[{"mode":"slow"}]"#,
            r#"[{"mode":"down","ms":5}]"#,
            r#"[{"mode":"slow","ms":5,"code":"x"}]"#,
            r#"[{"mode":"down","times":0}]"#,
            r#"[{"match":{"aggregat":"x"},"mode":"down"}]"#,
            r#"[{}]"#,
        ] {
            assert!(serde_json::from_str::<Vec<EventRule>>(bad).is_err(), "{bad}");
        }
    }
}
