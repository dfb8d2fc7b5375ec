//! One story out of an operation's moves and what stands beside them, told in pieces where it is long.

use chrono::{DateTime, Utc};
use domain::{
    ids::OperationId,
    operation::Event,
    record::RecordType,
    view::{EvidenceView, NoteView, TimelineItem, TimelineOf},
};
use serde_json::Value;
use sqlx::PgConnection;

use crate::{
    error::EngineError,
    store::{
        Target,
        conflict::StoredConflict,
        event::{self, Moved},
        person,
    },
};

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

/// Moves that are read in full at once; of a longer story only those that are told.
const MAX_AT_ONCE: usize = 250;
/// Moves that a story tells of, the last ones.
const MAX_TOLD: i64 = 10_000;

/// Which piece of a story is asked for.
#[derive(Clone, Copy, Debug)]
pub struct Piece {
    /// One of its items, counted from zero; `None`: the last piece.
    pub from: Option<usize>,
    /// How many items a piece has.
    pub size: usize,
}

impl Piece {
    /// The last items.
    #[must_use]
    pub const fn last(size: usize) -> Self {
        Self { from: None, size }
    }

    /// Where the piece begins of so many items.
    fn start(self, total: usize) -> usize {
        let last = total.saturating_sub(1);
        let size = self.size.max(1);
        self.from.map_or(last, |from| from.min(last)) / size * size
    }

    fn of<T>(self, mut all: Vec<T>) -> (Vec<T>, usize) {
        let from = self.start(all.len());
        let mut piece = all.split_off(from.min(all.len()));
        piece.truncate(self.size.max(1));
        (piece, from)
    }
}

/// A piece of an operation's story, and what the whole of it says for the verdict.
pub(super) struct Story {
    /// The items, oldest first.
    pub(super) items: Vec<TimelineItem>,
    /// How many stand before them.
    pub(super) from: usize,
    /// How many there are.
    pub(super) total: usize,
    /// Whether *it did not happen* ever rested on somebody's word.
    pub(super) guessed: bool,
    /// Whether the provider's last answer was that it offers no lookup for this effect, whatever the
    /// kind says of it in general.
    pub(super) asked_in_vain: bool,
}

/// Reads the piece of a story that is asked for; `beside` is what is told beside the moves. Each person
/// has one name in all of it.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub(super) async fn story(
    db: &mut PgConnection,
    target: Target,
    piece: Piece,
    beside: Vec<TimelineItem>,
) -> Result<Story, EngineError> {
    let mut story = told(db, target, piece, beside).await?;
    name_actors(db, &mut story.items).await?;
    Ok(story)
}

/// Calls the people of these items by their names.
///
/// # Errors
/// The database's.
pub(super) async fn name_actors(
    db: &mut PgConnection,
    items: &mut [TimelineItem],
) -> Result<(), EngineError> {
    let by_email = items.iter_mut().filter(|item| names_an_email(item));
    person::name_all(db, by_email.map(|item| &mut item.actor).collect()).await
}

/// Whether an item names a person by email; a note has its author's name, which may look like one, and an
/// entry of the audit log is read with its person's.
fn names_an_email(item: &TimelineItem) -> bool {
    item.by_person && !["note", "audit"].contains(&item.rule.as_str())
}

/// Calls the people who brought evidence by their names.
///
/// # Errors
/// The database's.
pub(super) async fn name_people(
    db: &mut PgConnection,
    evidence: &mut [EvidenceView],
) -> Result<(), EngineError> {
    let by_people = evidence.iter_mut().filter(|evidence| evidence.source == "staff");
    person::name_all(db, by_people.map(|evidence| &mut evidence.actor).collect()).await
}

async fn told(
    db: &mut PgConnection,
    target: Target,
    piece: Piece,
    beside: Vec<TimelineItem>,
) -> Result<Story, EngineError> {
    let most = i64::try_from(MAX_AT_ONCE + 1).unwrap_or(i64::MAX);
    let moves = event::of(db, target, most).await?;
    if moves.len() > MAX_AT_ONCE {
        return long_story(db, target, piece, beside).await;
    }
    let guess = |moved: &Moved| matches!(moved.event, Event::ConfirmRetry | Event::HarmlessRepeat);
    let says = |moved: &Moved| {
        let says = moved.detail.as_ref()?.get("answer")?.get("says")?;
        says.as_str().map(|says| says == "no_lookup")
    };
    let guessed = moves.iter().any(guess);
    let asked_in_vain = moves.iter().rev().find_map(says).unwrap_or_default();
    let mut items: Vec<_> = moves.iter().map(moved).collect();
    items.extend(beside);
    items.sort_by_key(|item| item.at);
    let total = items.len();
    let (items, from) = piece.of(items);
    Ok(Story { items, from, total, guessed, asked_in_vain })
}

/// The same of a long one: when everything was is read for all of it, what it was for the piece alone.
async fn long_story(
    db: &mut PgConnection,
    target: Target,
    piece: Piece,
    beside: Vec<TimelineItem>,
) -> Result<Story, EngineError> {
    enum Part {
        Move(i64),
        Beside(Box<TimelineItem>),
    }
    let instants = event::instants(db, target, MAX_TOLD).await?;
    let mut parts: Vec<(DateTime<Utc>, Part)> =
        instants.into_iter().map(|(id, at)| (at, Part::Move(id))).collect();
    parts.extend(beside.into_iter().map(|item| (item.at, Part::Beside(Box::new(item)))));
    parts.sort_by_key(|(at, _)| *at);
    let total = parts.len();
    let (parts, from) = piece.of(parts);
    let ids: Vec<_> = parts
        .iter()
        .filter_map(|(_, part)| match part {
            Part::Move(id) => Some(*id),
            Part::Beside(_) => None,
        })
        .collect();
    let moves = event::these(db, target, &ids).await?;
    let items = parts.into_iter().filter_map(|(_, part)| match part {
        Part::Beside(item) => Some(*item),
        Part::Move(id) => moves.iter().find(|moved| moved.id == id).map(moved),
    });
    Ok(Story {
        items: items.collect(),
        from,
        total,
        guessed: event::was_guessed(db, target).await?,
        asked_in_vain: event::last_answer(db, target).await?.as_deref() == Some("no_lookup"),
    })
}

/// What is told beside the moves.
pub(super) fn beside(
    evidence: &[EvidenceView],
    notes: &[NoteView],
    conflicts: &[StoredConflict],
) -> Vec<TimelineItem> {
    let mut items = Vec::new();
    items.extend(evidence.iter().enumerate().map(|(index, evidence)| {
        let mut item =
            TimelineItem::new(format!("v{index}"), "evidence", &evidence.actor, evidence.at);
        item.sentence =
            format!("Evidence from {}: {}.", source(&evidence.source), says(&evidence.says));
        item.by_person = evidence.source == "staff";
        item.fence = evidence.fence;
        for (name, value) in [
            ("Reference", evidence.external_reference.clone()),
            ("Amount", evidence.amount.as_ref().map(ToString::to_string)),
            ("Text", evidence.text.clone()),
            ("File", evidence.file.as_ref().and_then(|file| file.name.clone())),
        ] {
            item.detail.extend(value.map(|value| (name.to_owned(), value)));
        }
        item
    }));
    items.extend(notes.iter().enumerate().map(|(index, note)| {
        let mut item = TimelineItem::new(format!("n{index}"), "note", &note.author, note.at);
        item.sentence = "Wrote a note.".into();
        item.by_person = true;
        item.detail.push(("Note".into(), note.text.clone()));
        item
    }));
    items.extend(conflicts.iter().enumerate().map(|(index, conflict)| {
        let callers = conflict.callers.join(", ");
        let mut item =
            TimelineItem::new(format!("c{index}"), "conflict", &callers, conflict.first_at);
        item.sentence = refused(conflict.count);
        item.of = Some(TimelineOf {
            record: RecordType::Conflict,
            id: conflict.id.to_string(),
            key: "both payloads".into(),
        });
        item
    }));
    items
}

/// What a conflict says.
pub(super) fn refused(times: i64) -> String {
    match times {
        1 => "The same key came with another payload; it was refused.".into(),
        n => format!("The same key came with another payload {n} times; it was refused each time."),
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

pub(super) fn moved(moved: &Moved) -> TimelineItem {
    let (detail, receipt) = understood(moved.detail.as_ref().unwrap_or(&Value::Null));
    let ended = moved.detail.as_ref().and_then(|detail| detail.get("lease_until")?.as_str());
    TimelineItem {
        sentence: moved.event.sentence().into(),
        by_person: moved.actor_kind == "staff",
        from: moved.from,
        to: Some(moved.to),
        version: Some(moved.version),
        fence: Some(moved.fence),
        attempt: moved.attempt,
        detail,
        receipt,
        lease_until: ended.and_then(|ended| ended.parse().ok()),
        ..TimelineItem::new(format!("e{}", moved.id), moved.event.rule(), &moved.actor, moved.at)
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
