//! The actions of a form page, and what the last one answered.
//!
//! An answer counts only once this page has sent something: Leptos also fills an action from
//! `__err` in the address, which anybody can write, and that is never shown.

use domain::action::Verb;
use leptos::{prelude::*, server_fn::ServerFn};

use crate::{
    api::actions::{ActionReply, Cancel, Confirm, Reconcile, Release, Retry},
    error::ConsoleError,
};

/// Whether a verb has a form of its own.
#[must_use]
pub const fn has_form(verb: Verb) -> bool {
    matches!(verb, Verb::Confirm | Verb::Release | Verb::Reconcile | Verb::Retry | Verb::Cancel)
}

/// One action for each verb that has a form.
#[derive(Clone, Copy)]
pub struct Actions {
    /// O21 to O23.
    pub confirm: ServerAction<Confirm>,
    /// O12, O31.
    pub release: ServerAction<Release>,
    /// O32.
    pub reconcile: ServerAction<Reconcile>,
    /// O33.
    pub retry: ServerAction<Retry>,
    /// O3, O14.
    pub cancel: ServerAction<Cancel>,
}

impl Default for Actions {
    fn default() -> Self {
        Self {
            confirm: ServerAction::new(),
            release: ServerAction::new(),
            reconcile: ServerAction::new(),
            retry: ServerAction::new(),
            cancel: ServerAction::new(),
        }
    }
}

impl Actions {
    /// How often this page has sent the verb's form.
    #[must_use]
    pub fn sent(self, verb: Verb) -> u64 {
        let version = match verb {
            Verb::Confirm => self.confirm.version(),
            Verb::Release => self.release.version(),
            Verb::Reconcile => self.reconcile.version(),
            Verb::Retry => self.retry.version(),
            Verb::Cancel => self.cancel.version(),
            _ => return 0,
        };
        u64::try_from(version.get()).unwrap_or(u64::MAX)
    }

    /// Why the verb's last form was refused, where it was.
    #[must_use]
    pub fn refusal(self, verb: Verb) -> Option<ConsoleError> {
        if self.sent(verb) == 0 {
            return None;
        }
        match verb {
            Verb::Confirm => refusal(self.confirm),
            Verb::Release => refusal(self.release),
            Verb::Reconcile => refusal(self.reconcile),
            Verb::Retry => refusal(self.retry),
            Verb::Cancel => refusal(self.cancel),
            _ => None,
        }
    }

    /// Whether the verb's form is on its way.
    #[must_use]
    pub fn pending(self, verb: Verb) -> bool {
        match verb {
            Verb::Confirm => self.confirm.pending().get(),
            Verb::Release => self.release.pending().get(),
            Verb::Reconcile => self.reconcile.pending().get(),
            Verb::Retry => self.retry.pending().get(),
            Verb::Cancel => self.cancel.pending().get(),
            _ => false,
        }
    }
}

fn refusal<S>(action: ServerAction<S>) -> Option<ConsoleError>
where
    S: ServerFn<Output = ActionReply, Error = ConsoleError> + Clone + Send + Sync + 'static,
{
    match action.value().get()? {
        Ok(ActionReply::Done { .. } | ActionReply::Asked { .. }) => None,
        Ok(ActionReply::Refused(refusal)) => Some(ConsoleError::Refused(refusal)),
        Err(error) => Some(error),
    }
}
