//! Reading the records beside operations: their lists, and one of each in full.

use std::future::Future;

use domain::{
    ids::{ConflictId, EventId, MessageId},
    listing::Page,
    view::{
        ConflictDetail, ConflictRow, EventDetail, EventRow, LeaseRow, MessageDetail, MessageRow,
    },
};
use engine::{Engine, EngineError, StaffCaller};
use uuid::Uuid;

use super::{
    context::{caller, engine, filter, read},
    found::{Found, find},
};
use crate::{error::ConsoleError, location::Asked};

macro_rules! lists {
    ($($(#[$doc:meta])* $name:ident = $command:ident -> $row:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `filter_invalid`, naming the part, for an address that no list gives out; the engine's refusal.
        pub async fn $name(asked: &Asked) -> Result<Page<$row>, ConsoleError> {
            let (engine, caller, filter) = (engine()?, caller()?, filter(asked)?);
            read(&caller, engine.$command(&caller, &filter)).await
        }
    )*};
}

lists! {
    /// One page of events.
    events = list_events -> EventRow;
    /// One page of messages.
    messages = list_messages -> MessageRow;
    /// One page of conflicts.
    conflicts = list_conflicts -> ConflictRow;
    /// One page of leases.
    leases = list_leases -> LeaseRow;
}

/// One record in full, or which other tenant of the person has it.
async fn one<T, F>(
    id: Uuid,
    command: impl FnOnce(Engine, StaffCaller) -> F,
) -> Result<Found<T>, ConsoleError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let (engine, caller) = (engine()?, caller()?);
    find(&engine, &caller, id, command(engine.clone(), caller.clone())).await
}

/// One event.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn event(id: EventId) -> Result<Found<EventDetail>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.event(&by, id).await).await
}

/// One message.
///
/// # Errors
/// As [`event`].
pub async fn message(id: MessageId) -> Result<Found<MessageDetail>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.message(&by, id).await).await
}

/// One conflict.
///
/// # Errors
/// As [`event`].
pub async fn conflict(id: ConflictId) -> Result<Found<ConflictDetail>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.conflict(&by, id).await).await
}
