//! Background tasks: each an idempotent function that handles one bounded batch and says how much
//! it did. Who runs them, and how often, is the server's business, but for what a promise rests on.

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

use std::time::Duration;

/// How often calls of dead workers are looked for: what a rescue takes beyond its lease (R07).
pub const LAPSED_EVERY: Duration = Duration::from_secs(1);
