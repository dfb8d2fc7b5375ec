//! Background tasks: each an idempotent function that handles one bounded batch and says how much
//! it did. Who runs them, and how often, is the server's business.

mod backlog;
mod beats;
mod load;
mod status;
mod worker;

pub use crate::report::{Backlog, Report};
pub use backlog::Queue;
pub use load::Load;
pub use status::{ProcessBeat, TaskStatus, UnreachedKind};
pub use worker::Worker;
