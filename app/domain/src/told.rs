//! What machines other than the operation's did, and what people wanted, in words: the same on a record's
//! own page, in the story of an operation and in that of an incident.

use crate::{action::Verb, problem::Code};

/// A move of an event, in a sentence.
#[must_use]
pub fn event(rule: &str, to: &str) -> &'static str {
    match rule {
        "X1" => "Written with the change that it tells of.",
        "X2" => "A publisher took it.",
        "X3" => "Told.",
        "X4" => "Its destination was not reached; no attempt was counted.",
        "X5" => "Its destination refused it; it is tried again.",
        "X6" => "Its destination refused it for the last time: dead.",
        "X7" => "Its publisher was lost; another may take it.",
        "X7b" => "It was the end of too many publishers in a row: dead.",
        "X8" if to == "skipped" => "Skipped: its aggregate goes on without it.",
        "X8" => "Requeued: it is told again.",
        _ => "It moved.",
    }
}

/// How a delivery of an event ended.
#[must_use]
pub fn delivery(outcome: &str) -> &'static str {
    match outcome {
        "published" => "told",
        "duplicate" => "known there already: a repeat",
        "refused" => "refused",
        "transport_down" => "not reached; no attempt was counted",
        "lease_lost" => "the publisher was lost; whether it was told is not known",
        _ => "ended",
    }
}

/// A move of a message, in a sentence.
#[must_use]
pub fn message(rule: &str, to: &str) -> &'static str {
    match (rule, to) {
        ("N1", _) => "Taken in, with its effect in the same transaction.",
        ("N4", _) | (_, "quarantined") => {
            "Kept apart: it came after its window and was not on record."
        }
        (_, "dead") => "Its effect failed as often as its consumer allows.",
        ("N5", "dropped") => "Dropped: it has no effect.",
        ("N5", _) => "Run by a person\u{2019}s decision: its effect was done once.",
        ("N6", _) => "Its contents were removed: its window has passed.",
        (_, "processed") => "Its effect is done.",
        _ => "It moved.",
    }
}

/// A move of a step, in a sentence that names it.
#[must_use]
pub fn step(name: &str, rule: &str, to: &str) -> String {
    match rule {
        "S1" => format!("{name}: started."),
        "S2" => format!("{name}: succeeded."),
        "S3" => format!("{name}: failed this time; it is tried again."),
        "S4" => format!("{name}: tried again."),
        _ if to == "blocked_unknown" => format!("{name}: its outcome is unknown."),
        _ => format!("{name}: {}.", to.replace('_', " ")),
    }
}

/// How a request for a second person ended, as the end of a sentence.
#[must_use]
pub fn settled(status: &str) -> &'static str {
    match status {
        "approved" => "approved, and carried out once",
        "rejected" => "rejected; nothing was done",
        "withdrawn" => "taken back; nothing was done",
        "stale" => "void: the record moved on; nothing was done",
        _ => "expired: nobody decided in time; nothing was done",
    }
}

/// Why something was refused, as the end of a sentence.
#[must_use]
pub fn refusal(code: Code) -> String {
    let mut letters = code.title().trim_end_matches('.').chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// What a person did to a record, or wanted to do and was refused, without who.
#[must_use]
pub fn act(action: &str, done: bool) -> String {
    let (asked, word) = match action.strip_prefix("request.") {
        Some(verb) => (true, verb),
        None => (false, action),
    };
    let words = match word {
        "take" => Some(("took it on", "take it on")),
        "put_back" => Some(("let it go", "let it go")),
        "note" => Some(("wrote a note", "write a note")),
        "evidence" => Some(("attached a file", "attach a file")),
        "reveal" => Some(("looked at masked fields", "look at masked fields")),
        _ => word.parse().ok().and_then(decided),
    };
    match (words, asked, done) {
        (Some((_, wish)), true, _) => format!("asked for a second person to {wish}"),
        (Some((past, _)), false, true) => past.to_owned(),
        (Some((_, wish)), false, false) => format!("wanted to {wish}"),
        (None, true, _) => format!("asked for a second person: {}", word.replace('_', " ")),
        (None, false, _) => action.replace(['_', '.'], " "),
    }
}

fn decided(verb: Verb) -> Option<(&'static str, &'static str)> {
    Some(match verb {
        Verb::Confirm => ("confirmed the outcome", "confirm the outcome"),
        Verb::Release => ("released the lease", "release the lease"),
        Verb::Reconcile => ("asked for reconciliation", "ask for reconciliation"),
        Verb::Retry => ("granted another attempt", "grant another attempt"),
        Verb::Cancel => ("cancelled it", "cancel it"),
        Verb::Correct => ("corrected the outcome", "correct the outcome"),
        // The undo has its own outcome, which nobody knows yet.
        Verb::Compensate => ("asked for its undo", "have it undone"),
        Verb::Resume => ("resumed it", "resume it"),
        Verb::Approve => ("approved it", "approve it"),
        Verb::Reject => ("rejected it", "reject it"),
        Verb::Withdraw => ("withdrew it", "withdraw it"),
        Verb::Close => ("closed it", "close it"),
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_refused_is_never_told_as_done() {
        assert_eq!(act("confirm", true), "confirmed the outcome");
        assert_eq!(act("confirm", false), "wanted to confirm the outcome");
        assert_eq!(act("take", true), "took it on");
        assert_eq!(act("take", false), "wanted to take it on");
        assert_eq!(
            act("request.correct", true),
            "asked for a second person to correct the outcome"
        );
        assert_eq!(act("request.put_kind", true), "asked for a second person: put kind");
        assert_eq!(act("compensate", true), "asked for its undo");
        assert_eq!(act("put_kind", true), "put kind");
        assert_eq!(act("share_view", true), "share view");
    }

    #[test]
    fn a_step_is_told_by_its_name_and_what_is_not_known_is_never_told_as_over() {
        assert_eq!(step("charge", "S2", "succeeded"), "charge: succeeded.");
        for rule in ["S5", "S6"] {
            assert_eq!(step("charge", rule, "blocked_unknown"), "charge: its outcome is unknown.");
        }
        assert_eq!(step("charge", "S9", "cancelled"), "charge: cancelled.");
    }
}
