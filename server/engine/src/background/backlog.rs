//! What waits for each task, for people to see.

use crate::{
    Engine,
    error::EngineError,
    report::Backlog,
    store::{backlog, kind},
};

/// A queue of the background.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Queue {
    /// Calls whose lease ended.
    LapsedCalls,
    /// Unknown outcomes that machines still ask about.
    Unknown,
    /// Operations whose retention is over.
    Expiry,
    /// Tombstones that their kind lets go.
    Purge,
    /// Events that are to be told.
    Events,
    /// Undos that are asked for, and workflows that are being undone.
    Undoing,
    /// Workflows that are due for a turn, whoever has their definition.
    Workflows,
    /// Events whose publisher was lost.
    LapsedEvents,
    /// Messages whose window is over.
    Inbox,
    /// Requests for a second person whose time is over.
    Requests,
    /// Bulks that nobody started in time.
    Bulks,
}

impl Engine {
    /// Counts a queue, up to a bound.
    ///
    /// # Errors
    /// The database's.
    pub async fn backlog(&self, queue: Queue) -> Result<Backlog, EngineError> {
        let mut db = self.pools.engine().acquire().await?;
        match queue {
            Queue::LapsedCalls => backlog::lapsed_calls(&mut db).await,
            Queue::Unknown => backlog::unknown(&mut db).await,
            Queue::Expiry => backlog::expiry(&mut db).await,
            Queue::Events => backlog::events(&mut db).await,
            Queue::Undoing => backlog::undoing(&mut db).await,
            Queue::Workflows => backlog::workflows(&mut db).await,
            Queue::LapsedEvents => backlog::lapsed_events(&mut db).await,
            Queue::Inbox => backlog::inbox(&mut db).await,
            Queue::Requests => backlog::requests(&mut db).await,
            Queue::Bulks => backlog::bulks(&mut db).await,
            Queue::Purge => {
                let kinds = kind::purgeable(&mut db).await?;
                backlog::purge(&mut db, &kinds).await
            }
        }
    }
}
