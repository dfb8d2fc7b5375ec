//! Background tasks: each an idempotent function that handles one bounded batch and says how much
//! it did. Who runs them, and how often, is the server's business.

mod beats;
mod worker;

pub use worker::Worker;

/// What one run of a task did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows handled; a full batch means that there is more.
    pub handled: u64,
}
