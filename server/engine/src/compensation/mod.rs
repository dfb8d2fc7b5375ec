//! Undoing what happened (C1 to C10, W10 to W14, D34 to D37): the link between an operation and its
//! undo, the unwinding of workflows, and what people decide where an undo does not come through.
//!
//! Guards against three lies: an undo before its do, an order that is not the reverse of what
//! really completed, and "all undone" where something stays done.

mod payload;
mod plan;
mod request;
mod staff;
mod unwind;

pub use plan::{plan_of_operation, plan_of_workflow};
pub use request::{
    Foreseen, Requested, UndoRequest, check_request, needs_second_person, request_in,
};
pub use staff::{
    Decided, accept_in, check_retry, continue_in, retry_in, retry_needs_second_person,
};
