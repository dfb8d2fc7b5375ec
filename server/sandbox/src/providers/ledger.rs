//! The append-only ledgers: what truly happened, one JSON line per effect.
//!
//! An effect exists exactly when its line is on disk ([`crate::journal`]), and the
//! memory of idempotency keys is read back from the same lines.

use std::{
    collections::HashMap,
    fs::File,
    path::Path,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::effect::{Effect, Request};
pub use crate::journal::LedgerError;
use crate::{
    EffectKind, Provider, clock,
    journal::{self, Journal},
};

/// What became of a request.
pub(crate) enum Applied {
    /// A new line.
    New(Arc<Effect>),
    /// The key is remembered: the first effect, nothing new.
    Stored(Arc<Effect>),
    /// The key is remembered with another request: nothing done.
    KeyReused,
}

/// All ledgers of one sandbox.
pub(crate) struct Ledger {
    seed: u64,
    inner: Mutex<Inner>,
    /// Held for as long as the ledger lives.
    _lock: File,
}

struct Inner {
    files: HashMap<Provider, Journal>,
    effects: Vec<Arc<Effect>>,
    by_key: HashMap<(EffectKind, String), Vec<Arc<Effect>>>,
    by_id: HashMap<String, Arc<Effect>>,
}

impl Ledger {
    /// Opens or creates the four files under `dir` and reads them back.
    pub(crate) fn open(dir: &Path, seed: u64) -> Result<Self, LedgerError> {
        let lock = journal::take_folder(dir)?;
        let mut files = HashMap::new();
        let mut effects = Vec::new();
        for provider in Provider::ALL {
            let path = dir.join(format!("{}.jsonl", provider.name()));
            let (file, read) = Journal::open(&path, Effect::from_line)?;
            effects.extend(read);
            files.insert(provider, file);
        }
        // One order over all files, as it was written.
        effects.sort_by_key(|effect| effect.at_ms);
        let mut inner =
            Inner { files, effects: Vec::new(), by_key: HashMap::new(), by_id: HashMap::new() };
        for effect in effects {
            inner.remember(Arc::new(effect));
        }
        Ok(Self { seed, inner: Mutex::new(inner), _lock: lock })
    }

    /// Applies `request` unless its key is remembered. `memory_ms`: how long a
    /// key is remembered after its effect; none: the key means nothing.
    /// Blocks for one disk sync.
    pub(crate) fn apply(
        &self,
        request: Request,
        memory_ms: Option<u64>,
    ) -> Result<Applied, LedgerError> {
        let mut inner = self.lock();
        let now = clock::now_ms();
        if let Some(first) = inner.remembered(&request, memory_ms, now) {
            return Ok(if first.request.asks_the_same_as(&request) {
                Applied::Stored(first)
            } else {
                Applied::KeyReused
            });
        }
        let provider = request.kind.provider();
        let effect = Effect::new(self.seed, inner.effects.len(), now, request);
        let file =
            inner.files.get_mut(&provider).expect("every provider's file is opened at start");
        file.append(effect.line())?;
        let effect = Arc::new(effect);
        inner.remember(Arc::clone(&effect));
        Ok(Applied::New(effect))
    }

    /// The remembered effect of a request, without applying anything.
    pub(crate) fn stored(&self, request: &Request, memory_ms: Option<u64>) -> Option<Arc<Effect>> {
        self.lock().remembered(request, memory_ms, clock::now_ms())
    }

    /// Every effect under `key`, oldest first; a lookup forgets nothing.
    pub(crate) fn by_key(&self, kind: EffectKind, key: &str) -> Vec<Arc<Effect>> {
        self.lock().by_key.get(&(kind, key.to_owned())).cloned().unwrap_or_default()
    }

    /// The effect with the provider's id `id`.
    pub(crate) fn by_id(&self, kind: EffectKind, id: &str) -> Option<Arc<Effect>> {
        self.lock().by_id.get(id).filter(|effect| effect.request.kind == kind).cloned()
    }

    /// The publication of a document that the public sees: the newest that was not withdrawn (I3).
    pub(crate) fn visible(&self, document: &str) -> Option<Arc<Effect>> {
        let inner = self.lock();
        let mut standing: Vec<&Arc<Effect>> = Vec::new();
        for effect in inner.effects.iter().filter(|effect| effect.names_document(document)) {
            match effect.request.kind {
                EffectKind::Publication => standing.push(effect),
                EffectKind::Unpublication => {
                    standing.retain(|published| !effect.withdraws(published));
                }
                _ => {}
            }
        }
        standing.last().map(|effect| Arc::clone(effect))
    }

    /// Every effect, in the order of the ledgers.
    pub(crate) fn all(&self) -> Vec<Arc<Effect>> {
        self.lock().effects.clone()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Memory follows the disk line by line; a panic between leaves it behind, never ahead.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Inner {
    fn remembered(
        &self,
        request: &Request,
        memory_ms: Option<u64>,
        now: i64,
    ) -> Option<Arc<Effect>> {
        let memory = i64::try_from(memory_ms?).unwrap_or(i64::MAX);
        let effects = self.by_key.get(&(request.kind, request.key.clone()))?;
        // The newest: after the memory ran out, a second effect starts it again.
        effects.last().filter(|effect| now.saturating_sub(effect.at_ms) < memory).cloned()
    }

    fn remember(&mut self, effect: Arc<Effect>) {
        let key = (effect.request.kind, effect.request.key.clone());
        self.by_key.entry(key).or_default().push(Arc::clone(&effect));
        self.by_id.insert(effect.id.clone(), Arc::clone(&effect));
        self.effects.push(effect);
    }
}
