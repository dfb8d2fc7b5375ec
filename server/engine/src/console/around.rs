//! What stands in an operation's timeline beside its own moves: its step, its events and their deliveries,
//! its messages, requests for a second person, and what people did or were refused that moved nothing.
//!
//! Guards against the story of which a reader must open five pages: whoever may see the operation may see
//! each of these on a page of its own, and each item leads there.

use domain::{
    action::Verb,
    record::RecordType,
    told,
    view::{AuditView, TimelineItem, TimelineOf},
};
use serde_json::Value;
use sqlx::PgConnection;

use super::timeline::understood;
use crate::{
    error::EngineError,
    store::{
        Target,
        operation_story::{self, Around, Happened},
    },
};

/// Details of other machines' moves that a reader understands.
const SHOWN: [(&str, &str); 7] = [
    ("destination", "Destination"),
    ("error", "Error"),
    ("cause", "Cause"),
    ("says", "Says"),
    ("decision", "Decision"),
    ("fence", "Fence"),
    ("took_ms", "Took (ms)"),
];

/// What happened around an operation, oldest first.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub(super) async fn around(
    db: &mut PgConnection,
    target: Target,
) -> Result<Vec<TimelineItem>, EngineError> {
    Ok(operation_story::around(db, target).await?.into_iter().map(item).collect())
}

fn item(happened: Happened) -> TimelineItem {
    let Happened { what, record, name, key, place, at, rule, from, to, by_person, actor, detail } =
        happened;
    let detail = detail.unwrap_or(Value::Null);
    let (letter, of, sentence) = match what {
        Around::Step => {
            ('s', RecordType::Workflow, format!("Step {}", told::step(&name, &rule, &to)))
        }
        Around::Written | Around::Event => {
            let letter = if what == Around::Written { 'x' } else { 'm' };
            (letter, RecordType::Event, format!("Event {name}: {}", told::event(&rule, &to)))
        }
        Around::Delivery => {
            let how = told::delivery(&to);
            ('d', RecordType::Event, format!("Event {name}, a delivery: {how}."))
        }
        Around::Message => {
            let sentence = format!("Message to {name}: {}", told::message(&rule, &to));
            ('m', RecordType::Message, sentence)
        }
        Around::Asked => {
            let sentence = format!("Asked for a second person to decide: {}.", words(&name));
            ('q', RecordType::Approval, sentence)
        }
        Around::Settled => {
            let sentence = format!("The request to {}: {}.", words(&name), told::settled(&to));
            ('r', RecordType::Approval, sentence)
        }
    };
    let (mut shown, receipt) = understood(&detail);
    for (member, label) in SHOWN {
        let known = shown.iter().any(|(known, _)| known == label);
        shown.extend(text(&detail, member).filter(|_| !known).map(|text| (label.to_owned(), text)));
    }
    let states = [from.map(|from| ("State before", from)), Some(("State after", to))];
    shown.extend(states.into_iter().flatten().map(|(name, state)| (name.to_owned(), state)));
    TimelineItem {
        sentence,
        by_person,
        detail: shown,
        receipt,
        of: Some(TimelineOf { record: of, id: record.to_string(), key }),
        ..TimelineItem::new(format!("{letter}{place}"), &rule, &actor, at)
    }
}

fn words(verb: &str) -> String {
    verb.replace('_', " ")
}

fn text(detail: &Value, member: &str) -> Option<String> {
    match detail.get(member)? {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// What people did that no move tells, and what they were refused, of the entries of the audit log that
/// the page shows. Notes, evidence and requests stand in the timeline themselves.
pub(super) fn actions(audit: &[AuditView]) -> Vec<TimelineItem> {
    audit.iter().filter(|entry| is_no_move(entry)).map(action).collect()
}

fn is_no_move(entry: &AuditView) -> bool {
    if entry.result != "done" {
        return true;
    }
    let told = ["note", "evidence"].contains(&entry.action.as_str());
    let moves = matches!(
        entry.action.parse(),
        Ok(Verb::Confirm | Verb::Release | Verb::Reconcile | Verb::Retry | Verb::Cancel)
    );
    !told && !moves && !entry.action.starts_with("request.")
}

fn action(entry: &AuditView) -> TimelineItem {
    let done = entry.result == "done";
    let act = told::act(&entry.action, done);
    let refused = match entry.code {
        _ if done => String::new(),
        Some(code) => format!(", refused: {}", told::refusal(code)),
        None => ", refused".to_owned(),
    };
    let mut letters = act.chars();
    let act: String =
        letters.next().into_iter().flat_map(char::to_uppercase).chain(letters).collect();
    let reason = entry.reason.iter().map(|reason| ("Reason".to_owned(), reason.clone()));
    let bulk = entry.bulk.iter().map(|bulk| ("Bulk".to_owned(), bulk.to_string()));
    TimelineItem {
        sentence: format!("{act}{refused}."),
        by_person: true,
        detail: reason.chain(bulk).collect(),
        receipt: entry.receipt,
        ..TimelineItem::new(format!("a{}", entry.seq), "audit", &entry.actor, entry.at)
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use domain::problem::Code;

    use super::*;

    fn entry(action: &str, code: Option<Code>) -> AuditView {
        AuditView {
            seq: 7,
            at: DateTime::UNIX_EPOCH,
            actor: "Olga (olga@acme.test)".into(),
            action: action.into(),
            result: if code.is_some() { "denied" } else { "done" }.into(),
            code,
            reason: Some("why".into()),
            receipt: None,
            bulk: None,
        }
    }

    #[test]
    fn what_a_move_or_another_item_tells_is_not_told_again_and_a_refusal_always_is() {
        for action in ["confirm", "release", "reconcile", "retry", "cancel"] {
            assert!(actions(&[entry(action, None)]).is_empty(), "{action}: its move tells it");
            let refused = actions(&[entry(action, Some(Code::Stale))]).remove(0);
            assert!(refused.sentence.starts_with("Wanted to "), "{}", refused.sentence);
            assert!(refused.sentence.contains(", refused: "), "{}", refused.sentence);
        }
        for action in ["note", "evidence", "request.confirm"] {
            assert!(actions(&[entry(action, None)]).is_empty(), "{action}: an item of its own");
        }
        let told = |action| actions(&[entry(action, None)]).remove(0);
        assert_eq!(told("take").sentence, "Took it on.");
        assert_eq!(told("put_back").sentence, "Let it go.");
        assert_eq!(told("correct").sentence, "Corrected the outcome.");
        assert_eq!(
            (told("take").anchor.as_str(), told("take").says("Reason")),
            ("a7", Some("why"))
        );
    }
}
