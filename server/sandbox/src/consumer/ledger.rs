//! What the consumer took: one entry per event id, with how often it came.
//!
//! The file has one line for an event that was taken, and one naming its id for each
//! further delivery; both are on disk before the sender is answered.

use std::{
    collections::HashMap,
    fs::File,
    path::Path,
    sync::{Mutex, MutexGuard, PoisonError},
};

use serde_json::{Map, Value};

use super::event::{Event, Taken};
use crate::{
    clock,
    journal::{self, Journal, LedgerError},
};

/// Names a further delivery of an event.
const AGAIN: &str = "again";

/// What became of a delivery.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Taken.
    New,
    /// Had already; counted.
    Repeated,
    /// The id stands for another body; nothing done.
    Reused,
}

/// The ledger of one consumer.
pub(super) struct Ledger {
    inner: Mutex<Inner>,
    /// Held for as long as the ledger lives.
    _lock: File,
}

struct Inner {
    journal: Journal,
    taken: Vec<Taken>,
    by_id: HashMap<String, usize>,
}

enum Line {
    Taken(Taken),
    Again(String),
}

impl Ledger {
    /// Opens or creates the ledger in `dir` and reads it back.
    pub(super) fn open(dir: &Path) -> Result<Self, LedgerError> {
        let lock = journal::take_folder(dir)?;
        let path = dir.join("events.jsonl");
        let (journal, lines) = Journal::open(&path, read)?;
        let mut inner = Inner { journal, taken: Vec::new(), by_id: HashMap::new() };
        for (index, line) in lines.into_iter().enumerate() {
            let known = match line {
                Line::Taken(taken) => {
                    inner.remember(taken);
                    true
                }
                Line::Again(id) => inner.count(&id),
            };
            if !known {
                return Err(LedgerError::Broken { path, line: index + 1 });
            }
        }
        Ok(Self { inner: Mutex::new(inner), _lock: lock })
    }

    /// Takes an event, or counts that it came again. Blocks for one disk sync.
    pub(super) fn take(&self, event: Event) -> Result<Outcome, LedgerError> {
        let mut inner = self.lock();
        let at_ms = clock::now_ms();
        if let Some(known) = inner.known(&event.id) {
            if known.event.sha256 != event.sha256 {
                return Ok(Outcome::Reused);
            }
            let mut line = Map::new();
            line.insert(AGAIN.into(), event.id.clone().into());
            line.insert("at_ms".into(), at_ms.into());
            inner.journal.append(line)?;
            inner.count(&event.id);
            return Ok(Outcome::Repeated);
        }
        let taken = Taken { event, at_ms, deliveries: 1 };
        inner.journal.append(taken.line())?;
        inner.remember(taken);
        Ok(Outcome::New)
    }

    /// Whether an event with this id was taken.
    pub(super) fn has(&self, id: &str) -> bool {
        self.lock().known(id).is_some()
    }

    /// Every event, in the order in which they were taken.
    pub(super) fn all(&self) -> Vec<Taken> {
        self.lock().taken.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Memory follows the disk line by line; a panic between leaves it behind, never ahead.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn known(&self, id: &str) -> Option<&Taken> {
        self.taken.get(*self.by_id.get(id)?)
    }

    fn remember(&mut self, taken: Taken) {
        self.by_id.insert(taken.event.id.clone(), self.taken.len());
        self.taken.push(taken);
    }

    fn count(&mut self, id: &str) -> bool {
        let known = self.by_id.get(id).and_then(|place| self.taken.get_mut(*place));
        known.map(|taken| taken.deliveries += 1).is_some()
    }
}

fn read(mut line: Map<String, Value>) -> Option<Line> {
    match line.remove(AGAIN) {
        Some(Value::String(id)) => Some(Line::Again(id)),
        Some(_) => None,
        None => Taken::from_line(&line).map(Line::Taken),
    }
}
