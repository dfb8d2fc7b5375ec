//! What is said about a bulk: what it does, where it stands, what starting it means.

use domain::{
    action::{TargetType, Verb},
    bulk::{BulkList, BulkState},
    view::{BulkDetail, BulkRow},
};

use crate::{
    components::{selection::verb_word, verdict_band::Standing},
    pages::record::Words,
};

/// What is done to what: *release 12 operations*.
pub fn what(verb: Verb, target: TargetType, count: i64) -> String {
    let noun = target.label();
    let plural = if count == 1 { "" } else { "s" };
    let verb = match verb {
        // The word for one row grants an attempt to something.
        Verb::Retry => "Grant another attempt to",
        verb => verb_word(target, verb),
    };
    format!("{verb} {} {noun}{plural}", grouped(count))
}

/// A count with its thousands apart.
pub fn grouped(count: i64) -> String {
    let digits = count.unsigned_abs().to_string();
    let mut words = String::with_capacity(digits.len() + digits.len() / 3);
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            words.push(',');
        }
        words.push(digit);
    }
    words
}

/// What a list is called.
pub const fn list_word(list: BulkList) -> &'static str {
    match list {
        BulkList::Operations => "Operations",
        BulkList::Leases => "Leases",
        BulkList::Outbox => "Outbox",
        BulkList::Inbox => "Inbox",
        BulkList::Workflows => "Workflows",
    }
}

/// The address of the list as it was when the set was frozen.
pub fn list_href(row: &BulkRow) -> String {
    let parts = row.filter.iter().flatten().map(|(name, value)| (name.as_str(), value.as_str()));
    crate::location::href(row.list.path(), parts)
}

/// What is said of a set that nobody started.
const EXPIRED: &str = "Nobody started it in time: it expired, and nothing was done.";

/// Where it stands, in a sentence with its grounds.
pub fn standing(detail: &BulkDetail) -> Standing {
    let row = &detail.row;
    let so_far = progress(row);
    match row.status {
        BulkState::Freezing => Standing::wait("The records that match are being written down.")
            .grounds([format!("{} so far. Nothing is done to any of them.", grouped(row.total))]),
        BulkState::Checking => {
            Standing::wait("Each record is being looked at.").grounds([format!(
                "{} of {} so far. Nothing is done to any of them.",
                grouped(row.eligible + row.ineligible),
                grouped(row.total)
            )])
        }
        BulkState::Expired => Standing::over(EXPIRED),
        BulkState::Ready if row.has_expired(detail.as_of) => Standing::over(EXPIRED),
        BulkState::Ready if row.eligible == 0 => {
            Standing::over("None of these records can be decided; each row says why.")
        }
        BulkState::Ready => {
            let asked = detail.approvals.first().map(|asked| {
                format!("{} asked for it; it waits for a second person.", asked.requester)
            });
            Standing::person(format!(
                "{} of {} records can be decided. Nothing has been done yet.",
                grouped(row.eligible),
                grouped(row.total)
            ))
            .grounds(detail.second.clone().into_iter().chain(asked))
        }
        BulkState::Running => Standing::wait("The records are decided one after the other.")
            .grounds([so_far, "Leaving this page changes nothing.".to_owned()]),
        BulkState::Paused => {
            let why = detail.cause.clone();
            let why = why.unwrap_or_else(|| "Somebody paused it between two records.".to_owned());
            Standing::person(why).grounds([so_far])
        }
        BulkState::Over => Standing::over(over(row.verb)).grounds([so_far]),
        BulkState::Abandoned => {
            let why = detail.cause.clone();
            let why = why.unwrap_or_else(|| "Given up by a person.".to_owned());
            Standing::over(why).grounds([so_far])
        }
    }
}

/// What a bulk that is over may say: a result that only sets something going is no outcome.
const fn over(verb: Verb) -> &'static str {
    match verb {
        Verb::Reconcile => {
            "Every record that could be was taken up again; whether an outcome was found stands on each \
             record."
        }
        Verb::Retry => {
            "Every record that could be was granted another attempt; how it ends stands on each record."
        }
        _ => "Every record that could be decided has its result.",
    }
}

/// How far the rows got.
pub fn progress(row: &BulkRow) -> String {
    format!(
        "{} of {}: {} done, {} refused.",
        grouped(row.done + row.refused),
        grouped(row.eligible),
        grouped(row.done),
        grouped(row.refused)
    )
}

/// The words of starting this one.
pub fn start(detail: &BulkDetail) -> Words {
    let row = &detail.row;
    let act = what(row.verb, row.target_type, row.eligible);
    let consequence = match &detail.second {
        Some(_) => "A second person is asked first, and nothing is done until somebody else agrees. Then each \
             record is decided by itself, with a receipt of its own; one that has changed since is refused."
            .to_owned(),
        None => "Each record is decided by itself, with a receipt of its own. One that has changed since it was \
             frozen is refused and stays as it is. It can be paused between two records; what was decided \
             stays decided."
            .to_owned(),
    };
    let button = if detail.second.is_some() { format!("Ask to {}", lowered(&act)) } else { act };
    Words { title: "Start it".to_owned(), consequence, button }
}

fn lowered(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// The words of a decision about any bulk.
pub fn words(verb: Verb) -> Option<Words> {
    match verb {
        Verb::Run => Some(Words::new(
            "Start the bulk",
            "Start: decide each eligible record",
            "Each record is decided by itself, with a receipt of its own. One that has changed since it was \
             frozen is refused and stays as it is. Where the set reaches a threshold, a second person is \
             asked first.",
        )),
        Verb::Pause => Some(Words::new(
            "Pause the bulk",
            "Pause before the next record",
            "What was decided stays decided. The rest waits until somebody goes on or gives it up.",
        )),
        Verb::Resume => Some(Words::new(
            "Go on with the bulk",
            "Go on with the next record",
            "It goes on in the name of whoever started it, who must still have the right.",
        )),
        Verb::Abandon => Some(Words::new(
            "Give the bulk up",
            "Give it up: the rest stays as it is",
            "Records without a result get none. What was decided stays decided. It cannot be taken up again; \
             the rest can be frozen anew.",
        )),
        _ => None,
    }
}

/// What the button of a decision says in the head of the page.
pub const fn label(verb: Verb) -> &'static str {
    match verb {
        Verb::Run => "Start it",
        Verb::Pause => "Pause it",
        Verb::Resume => "Go on",
        _ => "Give it up",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_only_set_going_is_not_told_as_an_outcome() {
        for (verb, elsewhere) in [(Verb::Reconcile, "outcome was found"), (Verb::Retry, "it ends")]
        {
            assert!(!over(verb).contains("has its result"), "{verb}");
            assert!(
                over(verb).contains(elsewhere) && over(verb).contains("on each record"),
                "{verb}"
            );
        }
        assert_eq!(over(Verb::Release), "Every record that could be decided has its result.");
    }

    #[test]
    fn a_button_names_what_happens_to_how_many() {
        let of = |verb, target, count| what(verb, target, count);
        assert_eq!(of(Verb::Release, TargetType::Operation, 1), "Release 1 operation");
        assert_eq!(of(Verb::Requeue, TargetType::Outbox, 50_000), "Requeue 50,000 events");
        assert_eq!(
            of(Verb::Retry, TargetType::Operation, 2),
            "Grant another attempt to 2 operations"
        );
    }
}
