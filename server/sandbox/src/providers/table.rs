//! The rules in force: picks them for a request, counts `times` down, keeps them over a restart.
//!
//! Kept in `modes.json` beside the ledgers, so that an invoice whose provider
//! has no lookup still has none tomorrow. The file is replaced by rename: a
//! crash leaves the old rules or the new ones, never half.

use std::{
    io,
    path::PathBuf,
    sync::{Mutex, PoisonError},
};

use super::{
    mode::{Family, Mode},
    modes::{Match, Modes, Rule, WebhookPlan},
};
use crate::{EffectKind, Provider};

/// Most rules a provider may hold; beyond, adding is refused.
pub(crate) const MAX_RULES: usize = 1_000;

/// What a request is about, as far as rules can see.
pub(crate) struct Subject<'a> {
    pub kind: EffectKind,
    pub key: &'a str,
    /// The merchant's reference and the names in the payload.
    pub names: &'a [String],
}

/// How one effect request is to be treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct EffectPlan {
    pub mode: Mode,
    pub honours_keys: bool,
    pub key_ttl_ms: Option<u64>,
    pub webhook: Option<WebhookPlan>,
}

/// The rules in force.
pub(crate) struct ModeTable {
    path: PathBuf,
    modes: Mutex<Modes>,
}

impl ModeTable {
    /// Reads the rules kept by the last run, else starts with `defaults`.
    pub(crate) fn open(path: PathBuf, defaults: Modes) -> io::Result<Self> {
        let modes = match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => defaults,
            Err(error) => return Err(error),
        };
        Ok(Self { path, modes: Mutex::new(modes) })
    }

    /// A copy of the rules in force.
    pub(crate) fn current(&self) -> Modes {
        self.lock().clone()
    }

    /// Replaces the lists of the providers that `new` names.
    pub(crate) fn replace(&self, new: Modes) -> io::Result<Modes> {
        self.change(new, |old, new| *old = new)
    }

    /// Puts rules in front of those in force: the newest wins.
    pub(crate) fn add(&self, new: Modes) -> io::Result<Modes> {
        self.change(new, |old, mut new| {
            new.append(old);
            *old = new;
        })
    }

    /// Forgets every rule.
    pub(crate) fn clear(&self) -> io::Result<Modes> {
        let mut modes = self.lock();
        modes.0.clear();
        self.keep(&modes)?;
        Ok(modes.clone())
    }

    /// Picks the rules for an effect request and counts them down.
    pub(crate) fn for_effect(&self, subject: &Subject<'_>) -> io::Result<EffectPlan> {
        let mut plan =
            EffectPlan { mode: Mode::Normal, honours_keys: true, key_ttl_ms: None, webhook: None };
        let mut mode_found = false;
        self.pick(subject, |rule| {
            let mut used = false;
            match &rule.mode {
                Some(Mode::NoKeys) if plan.honours_keys => {
                    plan.honours_keys = false;
                    used = true;
                }
                Some(Mode::KeyTtl { ms }) if plan.key_ttl_ms.is_none() => {
                    plan.key_ttl_ms = Some(*ms);
                    used = true;
                }
                Some(mode) if mode.family() == Family::Effect && !mode_found => {
                    plan.mode = mode.clone();
                    mode_found = true;
                    used = true;
                }
                _ => {}
            }
            if let Some(webhook) = rule.webhook
                && plan.webhook.is_none()
                && (used || rule.mode.is_none())
            {
                plan.webhook = Some(webhook);
                used = true;
            }
            used
        })?;
        Ok(plan)
    }

    /// Picks a rule that refuses an effect before it is asked for in full, and counts it down; any
    /// other rule that would meet the effect first is left for [`Self::for_effect`].
    pub(crate) fn refusal(&self, subject: &Subject<'_>) -> io::Result<Option<Mode>> {
        let mut first = None;
        self.pick(subject, |rule| match &rule.mode {
            Some(mode) if mode.family() == Family::Effect && first.is_none() => {
                first = Some(mode.clone());
                matches!(mode, Mode::Throttle | Mode::Reject { .. })
            }
            _ => false,
        })?;
        Ok(first.filter(|mode| matches!(mode, Mode::Throttle | Mode::Reject { .. })))
    }

    /// Picks the rule for a lookup and counts it down.
    pub(crate) fn for_lookup(&self, subject: &Subject<'_>) -> io::Result<Option<Mode>> {
        let mut found = None;
        self.pick(subject, |rule| match &rule.mode {
            Some(mode) if mode.family() == Family::Lookup && found.is_none() => {
                found = Some(mode.clone());
                true
            }
            _ => false,
        })?;
        Ok(found)
    }

    fn pick(&self, subject: &Subject<'_>, mut uses: impl FnMut(&Rule) -> bool) -> io::Result<()> {
        let mut modes = self.lock();
        let Some(rules) = modes.0.get_mut(&subject.kind.provider()) else {
            return Ok(());
        };
        let mut counted = false;
        for rule in rules.iter_mut().filter(|rule| meets(&rule.matches, subject)) {
            if uses(rule)
                && let Some(times) = rule.times
            {
                rule.times = Some(times.saturating_sub(1));
                counted = true;
            }
        }
        if counted {
            rules.retain(|rule| rule.times != Some(0));
            self.keep(&modes)?;
        }
        Ok(())
    }

    fn change(&self, new: Modes, merge: impl Fn(&mut Vec<Rule>, Vec<Rule>)) -> io::Result<Modes> {
        let mut modes = self.lock();
        let mut next = modes.clone();
        for (provider, rules) in new.0 {
            let list = next.0.entry(provider).or_default();
            merge(list, rules);
            if list.len() > MAX_RULES {
                return Err(too_many(provider));
            }
        }
        self.keep(&next)?;
        *modes = next;
        Ok(modes.clone())
    }

    fn keep(&self, modes: &Modes) -> io::Result<()> {
        let next = self.path.with_extension("json.next");
        std::fs::write(&next, serde_json::to_vec_pretty(modes)?)?;
        std::fs::rename(&next, &self.path)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Modes> {
        // The rules are replaced whole, so a panic elsewhere cannot leave them torn.
        self.modes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn too_many(provider: Provider) -> io::Error {
    io::Error::new(
        io::ErrorKind::InvalidInput,
        format!("{} would hold more than {MAX_RULES} rules", provider.name()),
    )
}

fn meets(rule: &Match, subject: &Subject<'_>) -> bool {
    rule.kind.is_none_or(|kind| kind == subject.kind)
        && rule.key.as_deref().is_none_or(|key| key == subject.key)
        && rule.reference.as_deref().is_none_or(|name| subject.names.iter().any(|own| own == name))
        && rule
            .reference_prefix
            .as_deref()
            .is_none_or(|prefix| subject.names.iter().any(|own| own.starts_with(prefix)))
}
