//! The heartbeat: a thread and a connection of its own, so that neither a blocked runtime nor a
//! drained pool lets a live worker look dead (D20, F13, F14).
//!
//! Each lease has a local deadline, counted on the monotonic clock from before its renewal was
//! sent. Once it passes, the holder must send nothing more.

use std::{
    collections::HashMap,
    sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel},
    thread,
    time::{Duration, Instant},
};

use sqlx::postgres::PgConnection;
use tokio::sync::watch;

use crate::{
    database,
    error::EngineError,
    settings::Settings,
    store::{Target, lease},
};

/// How often the thread looks for beats that are due.
const TICK: Duration = Duration::from_millis(20);

/// A lease to be kept alive.
struct Kept {
    fence: i64,
    lease_ms: i64,
    /// The next beat: a third of a lease after the last.
    beat_at: Instant,
    /// From here on the lease may have ended for all this process knows.
    deadline: Instant,
    told: watch::Sender<Instant>,
}

enum Order {
    Keep(Target, Kept),
    Leave(Target, i64),
}

/// The way to the beating thread; it ends with the last handle.
#[derive(Clone)]
pub(crate) struct Beats {
    orders: Sender<Order>,
}

/// A lease under care; dropping it ends the beats.
pub(crate) struct Held {
    target: Target,
    fence: i64,
    orders: Sender<Order>,
    deadline: watch::Receiver<Instant>,
}

impl Held {
    /// Whether the lease has not ended for all this process knows. Asked directly before the first
    /// byte of a call, and by this thread's own clock: a process that was paused wakes up before its
    /// beats do.
    pub(crate) fn is_live(&self) -> bool {
        Instant::now() < *self.deadline.borrow()
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let _ = self.orders.send(Order::Leave(self.target, self.fence));
    }
}

impl Beats {
    /// Starts the thread.
    pub(crate) fn start(settings: Settings) -> Result<Self, EngineError> {
        let (orders, inbox) = channel();
        thread::Builder::new()
            .name("beats".into())
            .spawn(move || run(&settings, &inbox))
            .map_err(|error| EngineError::Database(sqlx::Error::Io(error)))?;
        Ok(Self { orders })
    }

    /// Keeps a lease that was granted for `lease_ms` by a request sent at `sent`.
    pub(crate) fn keep(&self, target: Target, fence: i64, lease_ms: i64, sent: Instant) -> Held {
        let lease = millis(lease_ms);
        let (told, deadline) = watch::channel(sent + lease);
        let kept =
            Kept { fence, lease_ms, beat_at: sent + lease / 3, deadline: sent + lease, told };
        let _ = self.orders.send(Order::Keep(target, kept));
        Held { target, fence, orders: self.orders.clone(), deadline }
    }
}

fn millis(ms: i64) -> Duration {
    Duration::from_millis(u64::try_from(ms).unwrap_or_default())
}

fn run(settings: &Settings, inbox: &Receiver<Order>) {
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!(%error, "beats cannot run: leases of this process will end by themselves");
            return;
        }
    };
    let mut leases: HashMap<Target, Kept> = HashMap::new();
    let mut connection = None;
    loop {
        match inbox.recv_timeout(TICK) {
            Ok(Order::Keep(target, kept)) => {
                leases.insert(target, kept);
            }
            Ok(Order::Leave(target, fence)) => {
                if leases.get(&target).is_some_and(|kept| kept.fence == fence) {
                    leases.remove(&target);
                }
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
        let now = Instant::now();
        leases.retain(|_, kept| now < kept.deadline);
        for (target, kept) in leases.iter_mut().filter(|(_, kept)| now >= kept.beat_at) {
            beat(&runtime, settings, &mut connection, *target, kept);
        }
    }
}

fn beat(
    runtime: &tokio::runtime::Runtime,
    settings: &Settings,
    connection: &mut Option<PgConnection>,
    target: Target,
    kept: &mut Kept,
) {
    // Counted from before the renewal is sent: an answer that takes long must not lengthen it.
    let sent = Instant::now();
    let lease = millis(kept.lease_ms);
    // A bound of ours: the server's own cannot help where the network swallows the answer, and one
    // hung beat would keep every other lease of this process from beating.
    let limit = (lease / 3).max(Duration::from_millis(200));
    // A timer made outside its runtime panics, and with it would go every beat of this process.
    let _inside = runtime.enter();
    let beaten = runtime.block_on(tokio::time::timeout(limit, async {
        if connection.is_none() {
            *connection = Some(database::dedicated(settings, "onceover beats").await?);
        }
        match connection {
            Some(connection) => lease::beat(connection, target, kept.fence, kept.lease_ms).await,
            None => Ok(None),
        }
    }));
    match beaten.unwrap_or_else(|_| Err(EngineError::Database(sqlx::Error::PoolTimedOut))) {
        Ok(Some(_)) => {
            kept.beat_at = sent + lease / 3;
            kept.deadline = sent + lease;
            kept.told.send_replace(kept.deadline);
        }
        // The fence is another's: lost at once.
        Ok(None) => {
            kept.deadline = sent;
            kept.told.send_replace(sent);
        }
        Err(error) => {
            tracing::warn!(error = ?error, operation.id = %target.id, "a beat failed");
            *connection = None;
            kept.beat_at = sent + lease / 10;
        }
    }
}
