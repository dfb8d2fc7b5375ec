//! What each action is called and what it will do, so that a link, a button and a menu say the same.

use domain::{
    action::Verb,
    lease::LeaseState,
    operation::Status,
    problem::Code,
    view::{ActionOffer, OperationDetail},
};

/// Whether a verb has a form of its own.
#[must_use]
pub const fn has_form(verb: Verb) -> bool {
    matches!(
        verb,
        Verb::Confirm
            | Verb::Release
            | Verb::Reconcile
            | Verb::Retry
            | Verb::Cancel
            | Verb::Correct
            | Verb::Compensate
    )
}

/// The form's heading.
#[must_use]
pub const fn title(verb: Verb, status: Status) -> &'static str {
    match (verb, status) {
        (Verb::Confirm, _) => "Confirm the outcome",
        (Verb::Release, _) => "Release the lease",
        (Verb::Reconcile, _) => "Reconcile now",
        (Verb::Retry, _) => "Grant another attempt",
        (Verb::Cancel, Status::FailedRetryable) => "Give it up",
        (Verb::Cancel, _) => "Cancel it",
        (Verb::Correct, _) => "Correct the outcome",
        (Verb::Compensate, _) => "Undo the operation",
        _ => "Decide",
    }
}

/// The link on the operation's page: what the action does, dangerous ones with their consequence.
#[must_use]
pub const fn offer(verb: Verb, status: Status) -> &'static str {
    match (verb, status) {
        (Verb::Release, Status::Executing) => "Release: becomes unknown",
        (Verb::Release, _) => "Release: can be claimed again",
        (Verb::Reconcile, _) => "Reconcile now",
        (Verb::Retry, _) => "Retry: one more attempt",
        (Verb::Cancel, Status::FailedRetryable) => "Give up: no further attempt",
        (Verb::Cancel, _) => "Cancel: it will never run",
        (Verb::Compensate, _) => "Undo it: an operation of its own",
        (Verb::Correct, _) => "Correct what was confirmed",
        (verb, status) => title(verb, status),
    }
}

/// Whether the provider of an operation can be asked about it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// Its kind says so, and nothing says otherwise.
    Offered,
    /// Its kind says so; the provider last said that it offers none for this effect.
    InVain,
    /// Its kind says that it offers none.
    Missing,
}

impl Lookup {
    /// That of an operation.
    #[must_use]
    pub const fn of(detail: &OperationDetail) -> Self {
        match (detail.kind.lookup, detail.asked_in_vain) {
            (false, _) => Self::Missing,
            (true, true) => Self::InVain,
            (true, false) => Self::Offered,
        }
    }
}

/// Whether an action can be asked for by force alone: the lease of a worker that beats, by whoever may
/// release one that ended.
#[must_use]
pub fn by_force(offer: &ActionOffer, detail: &OperationDetail) -> bool {
    offer.verb == Verb::Release
        && offer.missing.is_none()
        && offer.refusal == Some(Code::NotAllowedInState)
        && detail.row.lease.state == LeaseState::Live
}

/// What follows, in a sentence or two above the button.
#[must_use]
pub const fn consequence(verb: Verb, status: Status, lookup: Lookup) -> &'static str {
    match (verb, status, lookup) {
        (Verb::Confirm, _, Lookup::Missing) => {
            "Your decision ends the uncertainty on the record, once, under your name. The provider offers no lookup and is not asked first: nothing but your evidence stands behind it."
        }
        (Verb::Confirm, _, Lookup::InVain) => {
            "Your decision ends the uncertainty on the record, once, under your name. The provider offered no lookup for this effect. Where it can be asked, it is asked once more; unless it answers then, nothing but your evidence stands behind it."
        }
        (Verb::Confirm, _, Lookup::Offered) => {
            "Your decision ends the uncertainty on the record, once, under your name. Where the provider can be asked, it is asked again first; if it says the contrary, nothing is decided."
        }
        (Verb::Release, Status::Executing, _) => {
            "The operation becomes unknown and is reconciled; it does not run again by being released. The old holder can write nothing more, but a late answer of it is kept as evidence and shown."
        }
        (Verb::Release, _, _) => {
            "The call has not begun, so nothing can have happened. The next worker may claim it; the old holder can write nothing more."
        }
        (Verb::Reconcile, _, Lookup::Missing) => {
            "Reconciliation takes it up at once, but the provider offers no lookup. Where it does not remember the key either, nothing can be asked: it stays unknown until a person decides, unless its kind states that a repeat does no harm."
        }
        (Verb::Reconcile, _, Lookup::InVain) => {
            "The provider offered no lookup for this effect. Where it can be asked, it is asked again at once, all the same. The operation stays unknown until there is proof, unless its kind states that a repeat does no harm."
        }
        (Verb::Reconcile, _, Lookup::Offered) => {
            "Where the provider can be asked, it is asked again at once. The operation stays unknown until there is proof, unless its kind states that a repeat does no harm."
        }
        (Verb::Retry, _, _) => {
            "The same operation is tried again, with the same key at the provider, and gets one attempt more."
        }
        (Verb::Cancel, Status::FailedRetryable, _) => {
            "No further attempt is made. The key stays closed: the same request gets the stored failure."
        }
        (Verb::Cancel, _, _) => {
            "The call has not begun and will not. The key stays closed: the same request gets the stored failure."
        }
        (Verb::Correct, _, _) => {
            "A second person decides about it. A correcting record is written beside the confirmation; the operation keeps its state, and both stay visible."
        }
        (Verb::Compensate, _, _) => {
            "The undo is an operation of its own, with its own key and its own outcome, which can fail or stay unknown. Where money moves, a second person decides about it."
        }
        _ => "Your decision stands on the record under your name.",
    }
}

/// The button that carries it out.
#[must_use]
pub const fn button(verb: Verb, status: Status) -> &'static str {
    match verb {
        Verb::Confirm => "Confirm the chosen outcome",
        Verb::Correct => "Ask for the chosen correction",
        _ => offer(verb, status),
    }
}

/// The one action that the page puts first, and those of the menu. What the table of moves does
/// not know from this state is left out; what only a right is missing for stays.
#[must_use]
pub fn arrange(
    actions: &[ActionOffer],
    status: Status,
    needs_manual: bool,
) -> (Option<ActionOffer>, Vec<ActionOffer>) {
    let first = match status {
        Status::Unknown if needs_manual => Some(Verb::Confirm),
        Status::Unknown => Some(Verb::Reconcile),
        Status::Executing | Status::Reserved => Some(Verb::Release),
        Status::FailedRetryable => Some(Verb::Retry),
        Status::Succeeded | Status::FailedTerminal => None,
    };
    let (main, rest): (Vec<_>, Vec<_>) = actions
        .iter()
        .filter(|offer| offer.verb.fits(status))
        .cloned()
        .partition(|offer| Some(offer.verb) == first);
    (main.into_iter().next(), rest)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers() -> Vec<ActionOffer> {
        [Verb::Confirm, Verb::Release, Verb::Reconcile, Verb::Retry, Verb::Cancel, Verb::Correct]
            .into_iter()
            .map(|verb| ActionOffer { verb, refusal: None, missing: None })
            .collect()
    }

    #[test]
    fn the_first_action_follows_from_the_state() {
        for (status, needs_manual, first) in [
            (Status::Unknown, true, Some(Verb::Confirm)),
            (Status::Unknown, false, Some(Verb::Reconcile)),
            (Status::Executing, false, Some(Verb::Release)),
            (Status::FailedRetryable, false, Some(Verb::Retry)),
            (Status::Succeeded, false, None),
        ] {
            let (main, rest) = arrange(&offers(), status, needs_manual);
            assert_eq!(main.map(|offer| offer.verb), first, "{status}");
            assert!(rest.iter().all(|offer| offer.verb.fits(status)));
        }
    }

    #[test]
    fn an_unknown_outcome_can_always_be_confirmed_from_its_page() {
        let (main, rest) = arrange(&offers(), Status::Unknown, false);
        let verbs: Vec<_> = main.iter().chain(&rest).map(|offer| offer.verb).collect();
        assert_eq!(verbs, [Verb::Reconcile, Verb::Confirm]);
    }

    #[test]
    fn a_dangerous_release_names_its_consequence() {
        assert_eq!(button(Verb::Release, Status::Executing), "Release: becomes unknown");
        let release = consequence(Verb::Release, Status::Executing, Lookup::Offered);
        assert!(release.contains("does not run again"));
    }

    #[test]
    fn nobody_is_told_that_a_provider_without_a_lookup_is_asked() {
        for verb in [Verb::Confirm, Verb::Reconcile] {
            let words = |lookup| consequence(verb, Status::Unknown, lookup);
            assert!(words(Lookup::Offered).contains("it is asked again"), "{verb}");
            assert!(words(Lookup::InVain).contains("no lookup for this effect"), "{verb}");
            assert!(!words(Lookup::Missing).contains("asked again"), "{verb}");
            assert!(words(Lookup::Missing).contains("offers no lookup"), "{verb}");
        }
    }
}
