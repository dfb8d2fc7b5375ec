//! The append-only ledgers: what truly happened, one JSON line per effect.
//!
//! An effect exists exactly when its line is on disk: the line is synced before
//! anyone is answered, and the memory of idempotency keys is read back from the
//! same lines. A torn last line was never answered for, so opening cuts it off;
//! a broken line anywhere else stops the start, for then the oracle is not one.

use std::{
    collections::HashMap,
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use super::effect::{Effect, Request};
use crate::{EffectKind, Provider, clock};

/// Why a ledger cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    /// A file cannot be read or written.
    #[error("ledger file {path}")]
    File {
        /// Which one.
        path: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// Another process holds the folder.
    #[error("the ledger folder {0} belongs to a running sandbox")]
    InUse(PathBuf),
    /// A complete line is not a ledger line.
    #[error("line {line} of {path} is not a ledger line")]
    Broken {
        /// Which file.
        path: PathBuf,
        /// Counted from 1.
        line: usize,
    },
}

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
    files: HashMap<Provider, LedgerFile>,
    effects: Vec<Arc<Effect>>,
    by_key: HashMap<(EffectKind, String), Vec<Arc<Effect>>>,
    by_id: HashMap<String, Arc<Effect>>,
}

struct LedgerFile {
    path: PathBuf,
    file: File,
    len: u64,
}

impl Ledger {
    /// Opens or creates the four files under `dir` and reads them back.
    pub(crate) fn open(dir: &Path, seed: u64) -> Result<Self, LedgerError> {
        std::fs::create_dir_all(dir)
            .map_err(|source| LedgerError::File { path: dir.into(), source })?;
        let lock_path = dir.join("lock");
        let lock = File::create(&lock_path)
            .map_err(|source| LedgerError::File { path: lock_path, source })?;
        lock.try_lock().map_err(|_| LedgerError::InUse(dir.into()))?;

        let mut files = HashMap::new();
        let mut effects = Vec::new();
        for provider in Provider::ALL {
            let path = dir.join(format!("{}.jsonl", provider.name()));
            let (file, read) = read_back(&path)?;
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
        let mut line = serde_json::Value::Object(effect.line()).to_string().into_bytes();
        line.push(b'\n');
        let file =
            inner.files.get_mut(&provider).expect("every provider's file is opened at start");
        file.append(&line)?;
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

impl LedgerFile {
    fn append(&mut self, line: &[u8]) -> Result<(), LedgerError> {
        let written = self.file.write_all(line).and_then(|()| self.file.sync_data());
        if let Err(source) = written {
            // A half line must not be completed by the next one.
            if let Err(error) = self.file.set_len(self.len) {
                tracing::error!(path = %self.path.display(), %error, "a torn ledger line could not be cut off");
            }
            return Err(LedgerError::File { path: self.path.clone(), source });
        }
        self.len += line.len() as u64;
        Ok(())
    }
}

fn read_back(path: &Path) -> Result<(LedgerFile, Vec<Effect>), LedgerError> {
    let fail = |source| LedgerError::File { path: path.into(), source };
    let mut file =
        OpenOptions::new().read(true).append(true).create(true).open(path).map_err(fail)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).map_err(fail)?;
    let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |last| last + 1);
    if whole < bytes.len() {
        tracing::warn!(path = %path.display(), "cut off a torn last line");
        file.set_len(whole as u64).map_err(fail)?;
        file.sync_data().map_err(fail)?;
        bytes.truncate(whole);
    }
    file.seek(SeekFrom::End(0)).map_err(fail)?;
    let mut effects = Vec::new();
    for (index, line) in
        bytes.split(|byte| *byte == b'\n').enumerate().filter(|(_, line)| !line.is_empty())
    {
        let effect = serde_json::from_slice(line).ok().and_then(Effect::from_line);
        effects.push(
            effect.ok_or_else(|| LedgerError::Broken { path: path.into(), line: index + 1 })?,
        );
    }
    Ok((LedgerFile { path: path.into(), file, len: bytes.len() as u64 }, effects))
}
