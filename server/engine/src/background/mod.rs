//! Background tasks: each an idempotent function that handles one bounded batch and says how much
//! it did. Who runs them, and how often, is the server's business.

mod beats;
mod worker;

pub use crate::report::Report;
pub use worker::Worker;
