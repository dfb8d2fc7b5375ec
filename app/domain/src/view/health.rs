//! Whether what works for people works.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

/// The health of the background, of the way out and of the database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthView {
    /// Processes that were heard of lately.
    pub workers_alive: i64,
    /// Of these, those that were told to stop.
    pub workers_draining: i64,
    /// Processes of the last day that are silent and did not stop in order.
    pub workers_lost: i64,
    /// The last sign of life of any.
    pub seen_at: Option<DateTime<Utc>>,
    /// Every task, as whichever process last ran it reported.
    pub tasks: Vec<TaskHealth>,
    /// The tenant's events that are to be told.
    pub publisher: PublisherHealth,
    /// Places that events go to and where deliveries fail now.
    pub breakers: Vec<BreakerView>,
    /// Providers that leave something of the tenant's open, the longest first.
    pub providers: Vec<ProviderHealth>,
    /// The oldest transaction that is open in the database.
    pub oldest_transaction: Option<TransactionView>,
    /// Sessions of the database of which even its owner sees nothing.
    pub sessions_hidden: i64,
}

/// One task, whichever process runs it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskHealth {
    /// The task.
    pub task: String,
    /// When it last ran anywhere.
    pub last_run_at: DateTime<Utc>,
    /// Rows that wait, counted up to a bound; `None` for a task without a queue.
    pub backlog: Option<i32>,
    /// Whether more wait than were counted.
    pub backlog_is_more: bool,
    /// Since when the oldest waits.
    pub oldest_at: Option<DateTime<Utc>>,
    /// Processes in which its last run failed.
    pub failing: i64,
    /// What one of these failures was.
    pub last_error: Option<String>,
}

/// The tenant's events that are to be told.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PublisherHealth {
    /// Events that wait, counted up to a bound.
    pub waiting: i64,
    /// Whether more wait than were counted.
    pub more: bool,
    /// Since when the oldest waits: the lag, unless a dead event stands before it.
    pub oldest_at: Option<DateTime<Utc>>,
}

/// A destination whose transport is down.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BreakerView {
    /// Which.
    pub destination: String,
    /// Since when.
    pub opened_at: DateTime<Utc>,
    /// Failures in a row.
    pub failures: i32,
    /// How long until it is tried again, in milliseconds; negative where that time has come.
    pub probe_in_ms: i64,
    /// What the last failure was.
    pub last_error: Option<String>,
}

/// What a provider leaves open, among the newest records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProviderHealth {
    /// Which.
    pub provider: String,
    /// Outcomes that machines have asked about without an end, and go on asking.
    pub unanswered: i64,
    /// Calls that it did not carry out and that are made again.
    pub put_off: i64,
    /// Since when the oldest of both waits.
    pub since: DateTime<Utc>,
    /// When a call or a question last ended with its word; `None` where none of the last did.
    pub answered_at: Option<DateTime<Utc>>,
}

/// An open transaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TransactionView {
    /// How long it has been open, in milliseconds.
    pub age_ms: i64,
    /// What its session does, such as `idle in transaction`.
    pub state: String,
    /// Which program holds it.
    pub application: String,
}
