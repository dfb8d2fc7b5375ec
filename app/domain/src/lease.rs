//! A worker's hold on an operation: the lease, and the fence that dies with it (D16).

use std::str::FromStr;

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::operation::UnknownWord;

/// Whether anybody holds an operation, by the database's clock (D19).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LeaseState {
    /// Nobody holds it.
    None,
    /// The lease has not ended.
    Live,
    /// The lease ended and nobody took over yet.
    Stale,
}

impl FromStr for LeaseState {
    type Err = UnknownWord;

    /// Reads a lease's state from a filter; what is held by nobody is no lease.
    fn from_str(text: &str) -> Result<Self, UnknownWord> {
        match text {
            "live" => Ok(Self::Live),
            "stale" => Ok(Self::Stale),
            _ => Err(UnknownWord(text.into())),
        }
    }
}

/// A lease as pages show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeaseView {
    /// The holder's name, such as `w-3`.
    pub owner: Option<String>,
    /// The number that every write of the holder must carry.
    pub fence: i64,
    /// When it was granted.
    pub granted_at: Option<DateTime<Utc>>,
    /// The last beat.
    pub beat_at: Option<DateTime<Utc>>,
    /// When it ends unless renewed.
    pub lease_until: Option<DateTime<Utc>>,
    /// Live, stale or none at the instant the page was read.
    pub state: LeaseState,
}
