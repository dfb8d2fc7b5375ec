//! What one run of a background task did, and what waits for it.

use chrono::{DateTime, Utc};

/// The result of one bounded batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows handled; a full batch means that there is more.
    pub handled: u64,
}

/// Rows that wait for a task, counted up to a bound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Backlog {
    /// How many, at most the bound.
    pub waiting: u64,
    /// Whether more wait than were counted.
    pub is_more: bool,
    /// Since when the oldest of those counted waits.
    pub oldest_at: Option<DateTime<Utc>>,
}
