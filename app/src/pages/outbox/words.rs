//! What the pages about events say: the verdict, the story's sentences, the decisions.

use chrono::{DateTime, Utc};
use domain::{
    action::Verb,
    outbox::EventStatus,
    told,
    view::{EventDetail, MoveView},
};

use crate::{components::verdict_band::Standing, pages::record::Words, text};

/// Where an event stands and what that means for those behind it.
#[must_use]
pub fn standing(detail: &EventDetail) -> Standing {
    let row = &detail.row;
    let destination = row.destination.as_deref().unwrap_or("its destination");
    match row.status {
        EventStatus::Published => Standing::over(format!("Told: {destination} has it.")).grounds([
            "It may have been told more than once under the same id; consumers keep the ids they \
                 have seen."
                .to_owned(),
        ]),
        EventStatus::Skipped => Standing::over(
            "Not told, by a person\u{2019}s decision: its aggregate went on without it.",
        ),
        EventStatus::Publishing => Standing::wait(format!(
            "It is being told now: whether {destination} has it is not known yet."
        ))
        .grounds(
            row.owner
                .iter()
                .map(|owner| format!("{owner} delivers it; if it dies, another goes on.")),
        ),
        EventStatus::Dead => Standing::person(format!(
            "It is not being told any more, and {} until somebody decides.",
            behind(detail.order.waiting)
        ))
        .grounds(grounds_of_death(detail)),
        EventStatus::Pending if row.behind_dead => Standing::person(
            "It waits behind a dead event of its aggregate: somebody must decide about that one.",
        ),
        EventStatus::Pending if !row.at_head => {
            Standing::wait("It waits for the events before it: its aggregate is told in order.")
        }
        EventStatus::Pending => Standing::wait(pending(row.next_at, detail.as_of))
            .grounds(row.last_error.iter().map(|error| format!("The last delivery: {error}"))),
    }
}

fn pending(next_at: Option<DateTime<Utc>>, as_of: DateTime<Utc>) -> String {
    match next_at.filter(|at| *at > as_of) {
        Some(at) => {
            format!("It is the next of its aggregate and is tried {}.", text::ago(at, as_of))
        }
        None => "It is the next of its aggregate and waits for a publisher.".to_owned(),
    }
}

/// How many wait behind a dead head, of those that wait with it.
#[must_use]
pub(super) fn behind(waiting: i64) -> String {
    match waiting - 1 {
        ..=0 => "nothing waits behind it".to_owned(),
        1 => "one event behind it waits".to_owned(),
        more => format!("{more} events behind it wait"),
    }
}

fn grounds_of_death(detail: &EventDetail) -> Vec<String> {
    let row = &detail.row;
    let refused = (row.attempts > 0).then(|| match row.attempts {
        1 => "Refused once since it was put in line.".to_owned(),
        many => format!("Refused {many} times since it was put in line."),
    });
    let said = row.last_error.as_ref().map(|error| format!("Last said: {error}"));
    let others = "Events of other aggregates go on.".to_owned();
    refused.into_iter().chain(said).chain([others]).collect()
}

/// A move in a sentence.
#[must_use]
pub fn sentence(step: &MoveView) -> String {
    told::event(&step.rule, &step.to).to_owned()
}

/// What the button of an action says.
#[must_use]
pub fn offer(verb: Verb) -> &'static str {
    match verb {
        Verb::Requeue => "Requeue: tell it again",
        _ => "Skip: it is never told",
    }
}

/// The words of a decision.
#[must_use]
pub fn decision(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Requeue => Some(Words::new(
            "Requeue the event",
            offer(verb),
            "It is told again under the same id, at the head of its aggregate, with all its attempts. Where \
             it was told before, its consumers know the id. Mend first what refused it, or it dies again.",
        )),
        Verb::Skip => Some(Words::new(
            "Skip the event",
            offer(verb),
            "Its destination never hears of it; the events behind it go on at once. Whoever relies on it \
             has to be told in another way. This cannot be taken back.",
        )),
        _ => None,
    }
}
