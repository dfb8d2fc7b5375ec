//! What pages and the JSON API show: plain data, masked and bounded before it gets here.
//!
//! Everything in these types reaches the browser, so no field carries what the reader may not
//! see. Instants are the database's (D19); `as_of` says when they were read.

mod background;
mod compensation;
mod inbox;
mod operation;
mod overview;
mod receipt;
mod record;
mod workflow;

pub use background::{BackgroundView, TaskView, WorkerView};
pub use compensation::{CompensationPlan, PlannedUndo, UndoView};
pub use inbox::{MessageConflict, MessageDetail, MessageRow, MoveView, RelatedOperation};
pub use operation::{ActionOffer, BodyView, KindView, OperationDetail, OperationRow, ResponseView};
pub use overview::{AttentionRow, Cause, Me, Overview, Queue};
pub use receipt::{AlsoDecided, Receipt, ReceiptState, Refusal};
pub use record::{
    AuditView, ConflictView, EvidenceView, FieldChange, IncidentView, NoteView, TimelineItem,
};
pub use workflow::{ArtifactView, StepView, WorkflowDetail, WorkflowMove, WorkflowRow};
