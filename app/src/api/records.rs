//! Reading the records beside operations: their lists, and one of each in full.

use std::future::Future;

use domain::{
    access::Permission,
    ids::{ApprovalId, CompensationId, EventId, MessageId, OperationId, WorkflowId},
    listing::Page,
    view::{
        ApprovalView, AuditRow, CompensationPlan, ConflictRow, EventDetail, EventRow, IncidentRow,
        LeaseRow, MessageDetail, MessageRow, OperationLinks, UndoDetail, WorkflowDetail,
        WorkflowRow,
    },
};
use engine::{Engine, EngineError, StaffCaller};
use uuid::Uuid;

use super::{
    context::{caller, carry_out, engine, filter, read},
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
    /// One page of workflows.
    workflows = list_workflows -> WorkflowRow;
    /// One page of requests for a second person.
    approvals = list_approvals -> ApprovalView;
    /// One page of incidents.
    incidents = list_incidents -> IncidentRow;
    /// One page of the audit log.
    audit = list_audit -> AuditRow;
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
    // A record's reading is large; whoever waits for it need not be.
    let reading = Box::pin(command(engine.clone(), caller.clone()));
    find(&engine, &caller, id, reading).await
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

/// One workflow.
///
/// # Errors
/// As [`event`].
pub async fn workflow(id: WorkflowId) -> Result<Found<WorkflowDetail>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.workflow(&by, id).await).await
}

/// One undo, beside what it undoes.
///
/// # Errors
/// As [`event`].
pub async fn undo(id: CompensationId) -> Result<Found<UndoDetail>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.undo(&by, id).await).await
}

/// One request for a second person.
///
/// # Errors
/// As [`event`].
pub async fn approval(id: ApprovalId) -> Result<Found<ApprovalView>, ConsoleError> {
    one(id.uuid(), async move |engine, by| engine.approval(&by, id).await).await
}

/// How one operation would be undone, or is.
///
/// # Errors
/// The engine's refusal; the page that asks keeps its own status.
pub async fn plan(id: OperationId) -> Result<CompensationPlan, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    carry_out(&caller, async move { engine.compensation_plan(&by, id).await }).await
}

/// The workflow that made an operation, and what it undoes.
///
/// # Errors
/// The engine's refusal; the page that asks keeps its own status.
pub async fn links(id: OperationId) -> Result<OperationLinks, ConsoleError> {
    let (engine, caller) = (engine()?, caller()?);
    let by = caller.clone();
    carry_out(&caller, async move { engine.operation_links(&by, id).await }).await
}

/// Whether the reader may do something; decides nothing, the commands do.
///
/// # Errors
/// `unauthenticated`.
pub fn permits(right: Permission) -> Result<bool, ConsoleError> {
    Ok(caller()?.permits(right))
}
