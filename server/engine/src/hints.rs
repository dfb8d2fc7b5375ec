//! Hints between processes: that there may be something to publish, and which records changed. Sent
//! after a commit, never inside a business transaction, where one NOTIFY each cost two thirds of the
//! commits (D26); heard on one connection, whoever in this process waits for them.
//!
//! A hint may be lost at any time; publishers poll, and pages say since when they are right. Nothing
//! here is a promise.

use std::{
    mem,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
    time::Duration,
};

use sqlx::{
    PgPool,
    postgres::{PgConnectOptions, PgListener, PgPoolOptions},
};
use tokio::{
    sync::{
        Notify,
        mpsc::{Receiver, Sender, channel},
    },
    task::JoinHandle,
    time,
};

use crate::{changes::Changes, database, error::EngineError, feed::Feed, settings::Settings};

/// Where it is said that there may be events.
pub const CHANNEL: &str = "onceover_outbox";
/// Where changed records are named.
pub const CHANGES: &str = "onceover_changes";

/// At most ten a second, process and channel: what commits in between is one hint.
const BETWEEN: Duration = Duration::from_millis(100);
/// How long a listener whose connection failed waits before the next.
const RECONNECT: Duration = Duration::from_secs(1);

/// What has been committed and not told yet.
#[derive(Default)]
struct Pending {
    events: bool,
    changes: Changes,
}

/// Where commits are told; cloning shares it.
#[derive(Clone)]
pub(crate) struct Hints {
    pending: Arc<Mutex<Pending>>,
    wake: Sender<()>,
}

impl Hints {
    /// Starts the task that sends them; it ends with the last handle.
    pub(crate) fn start(settings: Settings) -> Self {
        // Room for one: a wake-up that is waiting stands for all that commit until it is taken.
        let (wake, waiting) = channel(1);
        let pending = Arc::default();
        tokio::spawn(send(settings, Arc::clone(&pending), waiting));
        Self { pending, wake }
    }

    /// Says that a transaction was committed.
    pub(crate) fn committed(&self) {
        self.add(|pending| pending.events = true);
    }

    /// Says which records were changed, in the words of the database's triggers.
    pub(crate) fn changed(&self, told: &str) {
        self.add(|pending| pending.changes.read(told));
    }

    fn add(&self, say: impl FnOnce(&mut Pending)) {
        say(&mut self.pending.lock().unwrap_or_else(PoisonError::into_inner));
        let _ = self.wake.try_send(());
    }
}

async fn send(settings: Settings, pending: Arc<Mutex<Pending>>, mut waiting: Receiver<()>) {
    let mut connection = None;
    while waiting.recv().await.is_some() {
        let now = mem::take(&mut *pending.lock().unwrap_or_else(PoisonError::into_inner));
        let notices = [
            now.events.then(|| (CHANNEL, String::new())),
            now.changes.notice().map(|notice| (CHANGES, notice)),
        ];
        let sent: Result<(), EngineError> = async {
            if connection.is_none() {
                connection = Some(database::dedicated(&settings, "onceover hints").await?);
            }
            if let Some(connection) = &mut connection {
                for (channel, notice) in notices.into_iter().flatten() {
                    database::notify(connection, channel, &notice).await?;
                }
            }
            Ok(())
        }
        .await;
        if let Err(error) = sent {
            tracing::debug!(error = ?error, "a hint was not sent; publishers poll");
            connection = None;
        }
        time::sleep(BETWEEN).await;
    }
}

/// The one listener of a process: begins when somebody first wants to hear, ends when dropped.
pub(crate) struct Ears {
    feed: Arc<Feed>,
    publishers: Mutex<Vec<Weak<Notify>>>,
    task: OnceLock<JoinHandle<()>>,
}

impl Ears {
    pub(crate) fn new() -> Self {
        Self { feed: Arc::new(Feed::new()), publishers: Mutex::default(), task: OnceLock::new() }
    }

    /// Begins to listen; once it has begun, nothing.
    pub(crate) fn open(self: &Arc<Self>, settings: &Arc<Settings>) {
        self.task.get_or_init(|| {
            let (ears, settings) = (Arc::downgrade(self), Arc::clone(settings));
            tokio::spawn(async move {
                loop {
                    if let Err(error) = listen(&settings, &ears).await {
                        tracing::debug!(error = ?error, "hints cannot be heard; the poll goes on");
                    }
                    time::sleep(RECONNECT).await;
                }
            })
        });
    }

    /// What is heard of changes.
    pub(crate) const fn feed(&self) -> &Arc<Feed> {
        &self.feed
    }

    /// Wakes a publisher with each hint, as long as there is one.
    pub(crate) fn wake(&self, publisher: &Arc<Notify>) {
        let mut publishers = self.publishers.lock().unwrap_or_else(PoisonError::into_inner);
        publishers.retain(|known| known.strong_count() > 0);
        publishers.push(Arc::downgrade(publisher));
    }

    fn there_may_be_events(&self) {
        let publishers = self.publishers.lock().unwrap_or_else(PoisonError::into_inner);
        publishers.iter().filter_map(Weak::upgrade).for_each(|publisher| publisher.notify_one());
    }
}

impl Drop for Ears {
    fn drop(&mut self) {
        if let Some(task) = self.task.get() {
            task.abort();
        }
    }
}

async fn listen(settings: &Settings, ears: &Weak<Ears>) -> Result<(), EngineError> {
    let options: PgConnectOptions = settings.database_url.parse()?;
    let own: PgPool = PgPoolOptions::new()
        .max_connections(1)
        .connect_with(options.application_name("onceover listener"))
        .await?;
    let mut listener = PgListener::connect_with(&own).await?;
    listener.listen_all([CHANNEL, CHANGES]).await?;
    let now_ms = database::now_ms(&mut listener).await?;
    let Some(all) = ears.upgrade() else { return Ok(()) };
    // What was written before the subscription stood is looked for once.
    all.feed.begin(now_ms);
    all.there_may_be_events();
    drop(all);
    // `None`: the connection was lost, and with it what was sent meanwhile.
    while let Some(heard) = listener.try_recv().await? {
        let Some(all) = ears.upgrade() else { return Ok(()) };
        if heard.channel() == CHANGES {
            all.feed.hear(heard.payload());
        } else {
            all.there_may_be_events();
        }
    }
    Ok(())
}
