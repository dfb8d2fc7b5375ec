//! What pages and the JSON API show: plain data, masked and bounded before it gets here.
//!
//! Everything in these types reaches the browser, so no field carries what the reader may not
//! see. Instants are the database's (D19); `as_of` says when they were read.

mod account;
mod approval;
mod audit;
mod audit_chain;
mod background;
mod bulk;
mod compensation;
mod conflict;
mod event;
mod health;
mod inbox;
mod incident;
mod lease;
mod operation;
mod overview;
mod receipt;
mod record;
mod report;
mod reveal;
mod saved_view;
mod search;
mod token;
mod workflow;

pub use account::{AccountView, SessionView, SignInView};
pub use approval::{ApprovalView, SinceAsked};
pub use audit::AuditRow;
pub use audit_chain::{ChainCheck, ChainFault, ChainFindings, ChainView};
pub use background::{BackgroundView, TaskView, WorkerView};
pub use bulk::{BulkDetail, BulkRecord, BulkRow};
pub use compensation::{CompensationPlan, PlannedUndo, UndoDetail, UndoView};
pub use conflict::{ConflictDetail, ConflictRow};
pub use event::{AggregateView, EnvelopeView, EventAttempt, EventDetail, EventRow};
pub use health::{
    BreakerView, HealthView, ProviderHealth, PublisherHealth, TaskHealth, TransactionView,
};
pub use inbox::{MessageConflict, MessageDetail, MessageRow, MoveView, RelatedOperation};
pub use incident::{
    Gathering, IncidentDetail, IncidentRecord, IncidentRow, IncidentStep, IncidentStory, RecordRef,
};
pub use lease::LeaseRow;
pub use operation::{ActionOffer, BodyView, KindView, OperationDetail, OperationRow, ResponseView};
pub use overview::{AgeBucket, AttentionRow, Cause, Me, OutcomeHour, Overview, Queue};
pub use receipt::{AlsoDecided, ApprovedBy, Receipt, ReceiptState, Refusal, StateWord};
pub use record::{
    AuditView, ConflictView, CorrectionView, EvidenceFile, EvidenceView, FieldChange, IncidentView,
    NoteView, TimelineItem, TimelineOf,
};
pub use report::{IncidentReport, ReportDecision, ReportNote, ReportStake, SealedReport};
pub use reveal::{ArtifactName, MaskedFields, RevealView, RevealedBody, RevealedField};
pub use saved_view::SavedView;
pub use search::{FoundGroup, FoundRow, MIN_SEARCH_CHARS, Named, SearchView};
pub use token::TokenView;
pub use workflow::{
    ArtifactView, FlowRef, OperationLinks, StepCall, StepView, WorkflowDetail, WorkflowMove,
    WorkflowRow,
};
