//! What this process heard of changes, for whoever follows a tenant: a bounded memory, and a number
//! that grows with each notice.
//!
//! Guards against the reader that is slow: nobody waits for it, it is told later that much has changed.
//! And against the page that misses what changed between its own reading and its stream: it says since
//! when it is right, and what the memory does not reach back to counts as much.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::watch;

use crate::changes::{Changes, Records};

/// Notices that are remembered: under full load those of a minute, each below 8,000 bytes.
const KEPT: usize = 512;

/// What was heard.
pub(crate) struct Feed {
    memory: Mutex<Memory>,
    heard: watch::Sender<()>,
}

#[derive(Default)]
struct Memory {
    notices: VecDeque<Changes>,
    /// The number of the oldest notice.
    first: u64,
    /// All that changed after this instant is among the notices; `None` before anybody listens.
    whole_from: Option<i64>,
}

impl Feed {
    pub(crate) fn new() -> Self {
        Self { memory: Mutex::default(), heard: watch::Sender::new(()) }
    }

    /// From this instant on everything is heard. What changed since the last time nobody listened is
    /// not known.
    pub(crate) fn begin(&self, now_ms: i64) {
        let mut memory = self.memory();
        let again = memory.whole_from.replace(now_ms).is_some();
        memory.first += memory.notices.len() as u64;
        memory.notices.clear();
        if again {
            memory.notices.push_back(Changes::much(now_ms));
        }
        self.heard.send_replace(());
    }

    /// Takes a notice in.
    pub(crate) fn hear(&self, notice: &str) {
        let mut changes = Changes::default();
        changes.read(notice);
        let mut memory = self.memory();
        memory.notices.push_back(changes);
        if memory.notices.len() > KEPT
            && let Some(oldest) = memory.notices.pop_front()
        {
            memory.first += 1;
            memory.whole_from = memory.whole_from.max(Some(oldest.latest()));
        }
        self.heard.send_replace(());
    }

    /// Follows a tenant from an instant on, or from now.
    pub(crate) fn follow(self: &Arc<Self>, tenant: String, since_ms: Option<i64>) -> Following {
        let next = match since_ms {
            Some(_) => None,
            None => Some(self.memory().end()),
        };
        Following {
            feed: Arc::clone(self),
            heard: self.heard.subscribe(),
            tenant,
            since_ms: since_ms.unwrap_or(i64::MIN),
            next,
        }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Memory {
    /// The number that the next notice will have.
    fn end(&self) -> u64 {
        self.first + self.notices.len() as u64
    }

    /// What a follower has not been told yet.
    fn news(&self, follower: &mut Following) -> Records {
        let mut news = Records::default();
        let Some(whole_from) = self.whole_from else { return news };
        let missed = match follower.next {
            None => follower.since_ms < whole_from,
            Some(next) => next < self.first,
        };
        if missed {
            news.much(whole_from);
        }
        let seen = follower.next.map_or(0, |next| next.saturating_sub(self.first));
        for notice in self.notices.iter().skip(usize::try_from(seen).unwrap_or(usize::MAX)) {
            let theirs = notice.of(&follower.tenant, follower.since_ms);
            news.merge_after(&theirs, i64::MIN);
        }
        follower.next = Some(self.end());
        news
    }
}

/// Changes of one tenant, as they are heard.
pub struct Following {
    feed: Arc<Feed>,
    heard: watch::Receiver<()>,
    tenant: String,
    since_ms: i64,
    next: Option<u64>,
}

/// Records that changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct News {
    /// `operation/id@milliseconds`, with a `+` before what is new, parted by spaces; `*` stands for
    /// more than are named.
    pub records: String,
    /// When the last of them changed, in milliseconds since 1970.
    pub latest_ms: i64,
}

impl Following {
    /// The next changes, all that there are at once. May be dropped while it waits.
    pub async fn next(&mut self) -> News {
        loop {
            self.heard.mark_unchanged();
            let feed = Arc::clone(&self.feed);
            let news = feed.memory().news(self);
            if !news.is_empty() {
                return News { records: news.to_string(), latest_ms: news.latest() };
            }
            // The sender lives in the feed, which this one holds.
            let _ = self.heard.changed().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    async fn told(following: &mut Following) -> Option<String> {
        let next = tokio::time::timeout(Duration::from_millis(20), following.next());
        next.await.ok().map(|news| news.records)
    }

    #[tokio::test(start_paused = true)]
    async fn a_page_is_told_what_changed_since_it_was_read_and_nothing_twice() {
        let feed = Arc::new(Feed::new());
        feed.begin(10);
        feed.hear("t operation/a@11\nu operation/x@12");
        feed.hear("t +operation/b@20");
        let mut page = feed.follow("t".into(), Some(15));
        assert_eq!(told(&mut page).await.as_deref(), Some("+operation/b@20"));
        assert_eq!(told(&mut page).await, None);
        feed.hear("u operation/x@30");
        feed.hear("t operation/a@31");
        feed.hear("t operation/b@32");
        let both = told(&mut page).await;
        assert_eq!(both.as_deref(), Some("operation/a@31 operation/b@32"));
        let mut from_now = feed.follow("t".into(), None);
        assert_eq!(told(&mut from_now).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn who_cannot_be_told_all_is_told_that_much_has_changed() {
        let feed = Arc::new(Feed::new());
        let mut early = feed.follow("t".into(), Some(5));
        assert_eq!(told(&mut early).await, None, "nobody listens yet");
        feed.begin(10);
        assert_eq!(told(&mut early).await.as_deref(), Some("*@10"), "it may have missed something");
        let mut slow = feed.follow("t".into(), Some(10));
        assert_eq!(told(&mut slow).await, None);
        for n in 0..=KEPT {
            feed.hear(&format!("t operation/a@{}", 100 + n));
        }
        assert!(told(&mut slow).await.is_some_and(|told| told.starts_with("*@")));
        assert_eq!(told(&mut slow).await, None);
        feed.begin(9_000);
        assert_eq!(told(&mut slow).await.as_deref(), Some("*@9000"), "the connection was lost");
    }
}
