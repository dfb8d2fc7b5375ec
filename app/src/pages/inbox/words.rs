//! What the pages about messages say: the verdict, the story's sentences, the decisions.

use domain::{
    action::Verb,
    inbox::InboxState,
    told,
    view::{MessageDetail, MoveView},
};

use crate::{components::verdict_band::Standing, pages::record::Words};

/// Where a message stands.
#[must_use]
pub fn standing(detail: &MessageDetail) -> Standing {
    let row = &detail.row;
    let repeats = match row.deliveries {
        ..=1 => "It came once.".to_owned(),
        many => {
            format!("It came {many} times; every time after its effect it was only recognised.")
        }
    };
    match row.status {
        InboxState::Processed if row.operation_id.is_some() || row.workflow_id.is_some() => {
            Standing::over("Taken in once: what it asked for stands on its own record.").grounds([repeats])
        }
        InboxState::Processed => {
            Standing::over("Taken in once; it asked for nothing to be started.").grounds([repeats])
        }
        InboxState::Dropped => {
            Standing::over("Left out for good, by a person\u{2019}s decision: it had no effect here.")
        }
        InboxState::Processing => Standing::wait("It is being taken in."),
        InboxState::Quarantined => Standing::person(
            "Not taken in: it came after its window, and whether it was taken in before is not known.",
        )
        .grounds(before(detail)),
        InboxState::Dead => Standing::person(format!(
            "Not taken in: its effect failed {} times and was rolled back whole each time.",
            row.failures
        ))
        .grounds(detail.last_error.iter().map(|error| format!("Last said: {error}")).chain(before(detail))),
    }
}

/// What speaks for an effect that was there before, and what a decision takes.
fn before(detail: &MessageDetail) -> Vec<String> {
    let related = match detail.related.len() {
        0 => "No operation that shares an id, key, reference or search term with it was found."
            .to_owned(),
        1 => "One operation shares an id, key, reference or search term with it: look there first."
            .to_owned(),
        many => format!(
            "{many} operations share an id, key, reference or search term with it: look there first."
        ),
    };
    let second = detail
        .needs_second_person
        .then(|| "Running or dropping it takes a second person.".to_owned());
    [related].into_iter().chain(second).collect()
}

/// A move in a sentence.
#[must_use]
pub fn sentence(step: &MoveView) -> String {
    told::message(&step.rule, &step.to).to_owned()
}

/// What the way to an action says: of what was set apart nobody knows whether it was done before.
#[must_use]
pub const fn offer(verb: Verb, state: InboxState) -> &'static str {
    match (verb, state) {
        (Verb::Run, InboxState::Quarantined) => "Run: it may be done a second time",
        (Verb::Run, _) => "Run: its effect is done once",
        _ => "Drop: it has no effect, ever",
    }
}

/// Whether a verb is one of a message's decisions.
#[must_use]
pub const fn decides(verb: Verb) -> bool {
    matches!(verb, Verb::Run | Verb::Drop)
}

/// The words of a decision about this message. Where it takes a second person, sending the form only
/// asks.
#[must_use]
pub fn decision(detail: &MessageDetail, verb: Verb) -> Option<Words> {
    let (title, does, follows) = match verb {
        Verb::Run => ("Run the message", "run it", run(detail)),
        Verb::Drop => (
            "Drop the message",
            "drop it",
            "It has no effect, and no later delivery of it will have one. If it was never taken in before, \
             what it asked for never happens here. This cannot be taken back."
                .to_owned(),
        ),
        _ => return None,
    };
    Some(if detail.needs_second_person {
        let asks =
            "A second person is asked first, and nothing is done until somebody else agrees.";
        let button = format!("Ask for a second person to {does}");
        Words::new(title, &button, &format!("{asks} {follows}"))
    } else {
        Words::new(title, offer(verb, detail.row.status), &follows)
    })
}

/// What running this message does.
fn run(detail: &MessageDetail) -> String {
    if detail.row.status != InboxState::Quarantined {
        return "Its effect is done in one transaction; what failed before was rolled back whole."
            .to_owned();
    }
    let look = match detail.related.is_empty() {
        true => ".",
        false => ": look at the operations beside it first.",
    };
    format!(
        "Its effect is done in one transaction. If it was done before and forgotten, it is done a second \
         time{look}"
    )
}
