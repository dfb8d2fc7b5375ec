//! What the background does: its tasks, and the processes that run them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// Tasks and processes, as they last reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BackgroundView {
    /// When it was read.
    pub as_of: DateTime<Utc>,
    /// Every task of every process.
    pub tasks: Vec<TaskView>,
    /// Every process that was seen within a day.
    pub workers: Vec<WorkerView>,
}

/// One task of one process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskView {
    /// The process.
    pub worker: String,
    /// The task.
    pub task: String,
    /// When it last ran.
    pub last_run_at: DateTime<Utc>,
    /// How long that took, in milliseconds.
    pub took_ms: i32,
    /// Rows that it handled then.
    pub handled: i32,
    /// Rows that wait, counted up to a bound; `None` for a task without a queue.
    pub backlog: Option<i32>,
    /// Whether more wait than were counted.
    pub backlog_is_more: bool,
    /// Since when the oldest waits.
    pub oldest_at: Option<DateTime<Utc>>,
    /// What its last failure was; kept until it runs without one.
    pub last_error: Option<String>,
    /// Failures in a row.
    pub failures: i32,
}

/// One process.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerView {
    /// Its name as a holder of leases.
    pub name: String,
    /// When it began.
    pub started_at: DateTime<Utc>,
    /// Its last beat.
    pub seen_at: DateTime<Utc>,
    /// Whether it was told to stop: it ends its calls and takes nothing new.
    pub draining: bool,
    /// When it stopped in order.
    pub stopped_at: Option<DateTime<Utc>>,
    /// Calls under way.
    pub busy: i32,
    /// Operation kinds that it carries out, of those that the reader may see.
    pub kinds: Vec<String>,
    /// The version of its program.
    pub program_version: String,
    /// Whether it was heard of lately.
    pub alive: bool,
}
