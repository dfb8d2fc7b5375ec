//! A record with the notes on it.

use std::future::Future;

use domain::{
    access::Permission,
    action::TargetType,
    ids::{ConflictId, EventId, MessageId, WorkflowId},
    record::{RecordName, RecordType},
    view::{ConflictDetail, EventDetail, MessageDetail, NoteView, WorkflowDetail},
};
use engine::{Engine, EngineError, StaffCaller};
use uuid::Uuid;

use super::{
    context::{caller, engine},
    found::{Found, find},
};
use crate::error::ConsoleError;

/// What people wrote on a record, and what the form below it carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotesOf {
    /// On which record.
    pub about: RecordName,
    /// What, oldest first.
    pub notes: Vec<NoteView>,
    /// Whether there are older ones, which are not read.
    pub older: bool,
    /// Minted for this page's note, so that sending it twice writes it once (D41).
    pub form_key: String,
    /// Whether the reader may write.
    pub may_note: bool,
}

/// A record and its notes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Noted<T> {
    /// The record.
    pub record: T,
    /// What people wrote on it.
    pub notes: NotesOf,
}

/// Reads a record with its notes, or which other tenant of the person has it.
pub(super) async fn noted<T, F>(
    kind: TargetType,
    id: Uuid,
    command: impl FnOnce(Engine, StaffCaller) -> F,
) -> Result<Found<Noted<T>>, ConsoleError>
where
    F: Future<Output = Result<T, EngineError>>,
{
    let (engine, caller) = (engine()?, caller()?);
    let record = RecordType::of_target(kind).unwrap_or(RecordType::Operation);
    let about = RecordName::new(record, id);
    // A record in full is a large reading.
    let command = Box::pin(command(engine.clone(), caller.clone()));
    find(&engine, &caller, id, async {
        let record = command.await?;
        let (notes, older) = engine.notes(&caller, about).await?;
        let notes = NotesOf {
            about,
            notes,
            older,
            form_key: Uuid::new_v4().to_string(),
            may_note: caller.permits(Permission::Note),
        };
        Ok(Noted { record, notes })
    })
    .await
}

macro_rules! pages {
    ($($(#[$doc:meta])* $name:ident = $command:ident($id:ty) of $kind:ident -> $detail:ty;)*) => {$(
        $(#[$doc])*
        ///
        /// # Errors
        /// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
        pub async fn $name(id: $id) -> Result<Found<Noted<$detail>>, ConsoleError> {
            noted(TargetType::$kind, id.uuid(), async move |engine, by| {
                engine.$command(&by, id).await
            })
            .await
        }
    )*};
}

/// One workflow with its notes. Of the step that is asked for all artifacts are read, of the others the
/// first.
///
/// # Errors
/// `not_found` for an unknown id and for one of a tenant that is not the person's alike.
pub async fn workflow_page(
    id: WorkflowId,
    step: Option<String>,
) -> Result<Found<Noted<WorkflowDetail>>, ConsoleError> {
    noted(TargetType::Workflow, id.uuid(), async move |engine, by| {
        let mut detail = engine.workflow(&by, id).await?;
        if let Some(key) = step
            && let Some(step) = detail.steps.iter_mut().find(|step| step.step_key == key)
        {
            step.artifacts = engine.step_artifacts(&by, id, &key).await?;
        }
        Ok(detail)
    })
    .await
}

pages! {
    /// One event with its notes.
    event_page = event(EventId) of Outbox -> EventDetail;
    /// One message with its notes.
    message_page = message(MessageId) of Inbox -> MessageDetail;
    /// One conflict with its notes.
    conflict_page = conflict(ConflictId) of Conflict -> ConflictDetail;
}
