//! One story out of moves, evidence, notes and conflicts.

use domain::{
    ids::OperationId,
    view::{ConflictView, EvidenceView, NoteView, TimelineItem},
};
use serde_json::Value;

use crate::store::event::Moved;

/// Details that a reader understands, in the order they are shown.
const SHOWN: [(&str, &str); 9] = [
    ("reason", "Reason"),
    ("outcome", "Outcome"),
    ("says", "Says"),
    ("external_reference", "Reference"),
    ("response_status", "HTTP status"),
    ("holder", "Holder"),
    ("lease_until", "Lease ended"),
    ("late_fence", "Fence it carried"),
    ("halted", "Halted move"),
];

/// The timeline, oldest first.
pub(super) fn timeline(
    moves: &[Moved],
    evidence: &[EvidenceView],
    notes: &[NoteView],
    conflicts: &[ConflictView],
) -> Vec<TimelineItem> {
    let mut items: Vec<_> = moves.iter().map(moved).collect();
    items.extend(evidence.iter().enumerate().map(|(index, evidence)| {
        let mut item = plain(format!("v{index}"), "evidence", &evidence.actor, evidence.at);
        item.sentence =
            format!("Evidence from {}: {}.", source(&evidence.source), says(&evidence.says));
        item.by_person = evidence.source == "staff";
        item.fence = evidence.fence;
        for (name, value) in [
            ("Reference", evidence.external_reference.clone()),
            ("Amount", evidence.amount.as_ref().map(ToString::to_string)),
            ("Text", evidence.text.clone()),
        ] {
            item.detail.extend(value.map(|value| (name.to_owned(), value)));
        }
        item
    }));
    items.extend(notes.iter().enumerate().map(|(index, note)| {
        let mut item = plain(format!("n{index}"), "note", &note.author, note.at);
        item.sentence = "Wrote a note.".into();
        item.by_person = true;
        item.detail.push(("Note".into(), note.text.clone()));
        item
    }));
    items.extend(conflicts.iter().enumerate().map(|(index, conflict)| {
        let mut item =
            plain(format!("c{index}"), "conflict", &conflict.callers.join(", "), conflict.first_at);
        item.sentence = refused(conflict.count);
        item
    }));
    items.sort_by_key(|item| item.at);
    items
}

/// What a conflict says.
pub(super) fn refused(times: i64) -> String {
    match times {
        1 => "The same key came with another payload; it was refused.".into(),
        n => format!("The same key came with another payload {n} times; it was refused each time."),
    }
}

fn plain(
    anchor: String,
    rule: &str,
    actor: &str,
    at: chrono::DateTime<chrono::Utc>,
) -> TimelineItem {
    TimelineItem {
        anchor,
        at,
        rule: rule.into(),
        sentence: String::new(),
        actor: actor.to_owned(),
        by_person: false,
        from: None,
        to: None,
        version: None,
        fence: None,
        attempt: 0,
        detail: Vec::new(),
        receipt: None,
    }
}

/// What of a move's detail a reader understands, and the receipt in it.
pub(super) fn understood(detail: &Value) -> (Vec<(String, String)>, Option<OperationId>) {
    let mut shown: Vec<_> = SHOWN
        .iter()
        .filter_map(|(key, name)| Some(((*name).to_owned(), text(detail.get(key)?)?)))
        .collect();
    if let Some(answer) = detail.get("answer") {
        let answer =
            serde_json::from_value::<domain::reconciliation::ProviderAnswer>(answer.clone());
        shown.extend(answer.ok().map(|answer| ("Answer".to_owned(), answer.sentence())));
    }
    let receipt = detail.get("receipt").and_then(Value::as_str);
    (shown, receipt.and_then(|receipt| receipt.parse::<OperationId>().ok()))
}

fn moved(moved: &Moved) -> TimelineItem {
    let (detail, receipt) = understood(moved.detail.as_ref().unwrap_or(&Value::Null));
    TimelineItem {
        anchor: format!("e{}", moved.id),
        at: moved.at,
        rule: moved.event.rule().into(),
        sentence: moved.event.sentence().into(),
        actor: moved.actor.clone(),
        by_person: moved.actor_kind == "staff",
        from: moved.from,
        to: Some(moved.to),
        version: Some(moved.version),
        fence: Some(moved.fence),
        attempt: moved.attempt,
        detail,
        receipt,
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

pub(super) fn source(source: &str) -> &str {
    match source {
        "worker" => "a former holder",
        "webhook" => "the provider",
        "lookup" => "a lookup at the provider",
        _ => "a person",
    }
}

pub(super) fn says(says: &str) -> &str {
    match says {
        "done" => "it happened",
        "rejected" => "it was rejected",
        "not_done" => "it did not happen this time",
        "absent" => "the provider knows of no such effect",
        "ambiguous" => "not known whether it happened",
        _ => "a statement",
    }
}
