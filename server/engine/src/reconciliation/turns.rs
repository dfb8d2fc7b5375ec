//! How many questions are under way at each provider, from this process. A provider that hangs holds
//! its own places and nobody else's.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Questions under way at one provider.
pub(super) const PER_PROVIDER: usize = 5;

/// The places of all providers.
#[derive(Default)]
pub(crate) struct Turns(Mutex<HashMap<Option<String>, Arc<Semaphore>>>);

impl Turns {
    /// A place, held until it is dropped; `None` where all of the provider's are taken.
    pub(super) fn take(&self, provider: Option<String>) -> Option<OwnedSemaphorePermit> {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let places =
            places.entry(provider).or_insert_with(|| Arc::new(Semaphore::new(PER_PROVIDER)));
        Arc::clone(places).try_acquire_owned().ok()
    }
}
