//! What a worker is at, as others may look at it without asking it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
};

/// The load of one worker; cloning shares it.
#[derive(Clone, Default)]
pub struct Load {
    busy: Arc<AtomicUsize>,
    kinds: Arc<Mutex<Vec<String>>>,
}

impl Load {
    /// Calls under way.
    #[must_use]
    pub fn busy(&self) -> usize {
        self.busy.load(Ordering::Relaxed)
    }

    /// The kinds that it last claimed, sorted.
    #[must_use]
    pub fn kinds(&self) -> Vec<String> {
        self.kinds.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    pub(super) fn serves(&self, mut kinds: Vec<String>) {
        kinds.sort();
        kinds.dedup();
        *self.kinds.lock().unwrap_or_else(PoisonError::into_inner) = kinds;
    }

    /// Counts a call until the guard goes, however its task ends.
    pub(super) fn call(&self) -> Busy {
        self.busy.fetch_add(1, Ordering::Relaxed);
        Busy(Arc::clone(&self.busy))
    }
}

/// A call under way.
pub(super) struct Busy(Arc<AtomicUsize>);

impl Drop for Busy {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
