//! Where this process's walks over old rows stand. Kept in memory: a row changes by moves alone, so
//! none can carry *look again later*; and a walk that begins anew after a restart costs one round.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use chrono::{DateTime, Utc};
use domain::ids::{OperationId, TenantId};

/// The last row that was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Its instant in the order of the walk.
    pub at: DateTime<Utc>,
    /// Itself.
    pub id: OperationId,
}

impl Mark {
    /// What comes next lies beyond it.
    pub(super) const fn key(self) -> (DateTime<Utc>, OperationId) {
        (self.at, self.id)
    }
}

/// All walks of a process.
#[derive(Default)]
pub(crate) struct Walks {
    expiry: Mutex<Option<Mark>>,
    purge: Mutex<HashMap<(TenantId, String), Mark>>,
}

fn open<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Walks {
    pub(super) fn expiry(&self) -> Option<Mark> {
        *open(&self.expiry)
    }

    pub(super) fn set_expiry(&self, mark: Option<Mark>) {
        *open(&self.expiry) = mark;
    }

    pub(super) fn purge(&self, tenant: TenantId, kind: &str) -> Option<Mark> {
        open(&self.purge).get(&(tenant, kind.to_owned())).copied()
    }

    pub(super) fn set_purge(&self, tenant: TenantId, kind: &str, mark: Option<Mark>) {
        let mut marks = open(&self.purge);
        match mark {
            Some(mark) => marks.insert((tenant, kind.to_owned()), mark),
            None => marks.remove(&(tenant, kind.to_owned())),
        };
    }
}
