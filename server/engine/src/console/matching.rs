//! The ids that a list's filter finds, stretch by stretch: the same reading, bounds and indexes as the
//! list itself, so that a set frozen by a filter is what the list showed.

use chrono::{DateTime, Utc};
use domain::{
    bulk::BulkList,
    ids::{MessageId, OperationId, WorkflowId},
    listing::{
        BadPart, Cursor, EventFilter, InboxFilter, LeaseFilter, ListFilter, OperationFilter, Parts,
        TimeCursor, WorkflowFilter,
    },
    problem::Code,
};
use uuid::Uuid;

use super::{
    inbox, leases,
    list::{self, cursors},
    outbox, workflows,
};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{inbox_listing, lease_listing, listing, outbox_listing, workflow_listing},
};

/// A list's filter, checked: what narrows it and nothing else.
#[derive(Clone, Debug)]
pub(crate) struct Wanted {
    /// Which list.
    pub(crate) list: BulkList,
    /// Names and values that the list knows.
    pub(crate) parts: Vec<(String, String)>,
}

/// A stretch of what matches.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stretch {
    /// The records, in the list's order.
    pub(crate) ids: Vec<Uuid>,
    /// Where it goes on; `None`: that was all.
    pub(crate) next: Option<String>,
    /// Whether a search matches more than is read.
    pub(crate) narrow: bool,
}

impl Wanted {
    /// Reads a filter as the list reads it. A name that the list does not know is refused, and so is a
    /// filter that narrows nothing: nobody means all there is.
    pub(crate) fn read(list: BulkList, parts: Vec<(String, String)>) -> Result<Self, EngineError> {
        let wanted = Self { list, parts };
        let narrows = match list {
            BulkList::Operations => wanted.narrows::<OperationFilter>(),
            BulkList::Leases => wanted.narrows::<LeaseFilter>(),
            BulkList::Outbox => wanted.narrows::<EventFilter>(),
            BulkList::Inbox => wanted.narrows::<InboxFilter>(),
            BulkList::Workflows => wanted.narrows::<WorkflowFilter>(),
        }?;
        if !narrows {
            return Err(EngineError::field(
                Code::Unprocessable,
                "filter",
                "a set is frozen by a filter that narrows the list, or record by record",
            ));
        }
        Ok(wanted)
    }

    fn narrows<F: ListFilter + Default + PartialEq>(&self) -> Result<bool, EngineError> {
        let read = || {
            let mut parts = Parts::new(self.parts.iter().cloned())?;
            let filter = F::read(&mut parts)?;
            parts.finish().map(|()| filter)
        };
        read().map(|filter| filter != F::default()).map_err(bad)
    }

    fn filter<F: ListFilter>(&self, cursor: Option<&str>) -> Result<F, EngineError> {
        let place = cursor.map(|cursor| ("cursor".to_owned(), cursor.to_owned()));
        let parts = self.parts.iter().cloned().chain(place);
        let read = Parts::new(parts).and_then(|mut parts| F::read(&mut parts));
        read.map_err(bad)
    }
}

fn bad(BadPart { name, why }: BadPart) -> EngineError {
    EngineError::field(Code::FilterInvalid, &name, why.to_string())
}

impl Engine {
    /// The next stretch of what a filter finds among what was there before `before` was made.
    pub(crate) async fn matching(
        &self,
        tx: &mut Tx,
        by: &StaffCaller,
        wanted: &Wanted,
        (as_of, before): (DateTime<Utc>, Uuid),
        cursor: Option<&str>,
        limit: i64,
    ) -> Result<Stretch, EngineError> {
        let (ids, from, narrow) = match wanted.list {
            BulkList::Leases => {
                return self.matching_leases(tx, by, wanted, as_of, cursor, limit).await;
            }
            BulkList::Operations => {
                let filter = wanted.filter(cursor)?;
                let (mut n, narrow) = list::found(self, tx, by, &filter, as_of).await?;
                (n.to, n.limit) = (n.to.min(before), limit + 1);
                let ids = listing::ids(tx, &n).await?;
                (ids.into_iter().map(OperationId::uuid).collect(), n.cursor, narrow)
            }
            BulkList::Outbox => {
                let filter = wanted.filter(cursor)?;
                let (mut n, narrow) = outbox::found(self, tx, by, &filter, as_of).await?;
                (n.to, n.limit) = (n.to.min(before), limit + 1);
                (outbox_listing::ids(tx, &n).await?, n.cursor, narrow)
            }
            BulkList::Inbox => {
                let filter = wanted.filter(cursor)?;
                let (mut n, narrow) = inbox::found(self, tx, by, &filter, as_of).await?;
                (n.to, n.limit) = (n.to.min(before), limit + 1);
                let ids = inbox_listing::ids(tx, &n).await?;
                (ids.into_iter().map(MessageId::uuid).collect(), n.cursor, narrow)
            }
            BulkList::Workflows => {
                let filter = wanted.filter(cursor)?;
                let (mut n, narrow) = workflows::found(self, tx, by, &filter).await?;
                n.cursor = n.cursor.or(Some(Cursor { id: before, backwards: false }));
                n.limit = limit + 1;
                let ids = workflow_listing::ids(tx, &n).await?;
                (ids.into_iter().map(WorkflowId::uuid).collect(), n.cursor, narrow)
            }
        };
        let (ids, further) = cut(ids, limit);
        let (next, _) = cursors(from, &ids, further);
        Ok(Stretch { ids, next, narrow })
    }

    /// Leases stand in the order of their ends; one that beats moves on, and is found again further down.
    async fn matching_leases(
        &self,
        tx: &mut Tx,
        by: &StaffCaller,
        wanted: &Wanted,
        as_of: DateTime<Utc>,
        cursor: Option<&str>,
        limit: i64,
    ) -> Result<Stretch, EngineError> {
        let filter: LeaseFilter = wanted.filter(cursor)?;
        let (mut n, narrow) = leases::found(self, tx, by, &filter, as_of).await?;
        let from = filter.cursor.as_deref().and_then(|text| TimeCursor::decode(text).ok());
        n.limit = limit + 1;
        let (places, stopped) = lease_listing::places(tx, &n).await?;
        let (places, further) = cut(places, limit);
        let (next, _) = leases::cursors(from, &places, further, stopped);
        Ok(Stretch { ids: places.into_iter().map(|(_, id)| id).collect(), next, narrow })
    }
}

/// A stretch without the row that tells whether there is more.
fn cut<T>(mut rows: Vec<T>, limit: i64) -> (Vec<T>, bool) {
    let limit = usize::try_from(limit).unwrap_or_default();
    let further = rows.len() > limit;
    rows.truncate(limit);
    (rows, further)
}
