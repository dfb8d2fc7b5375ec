//! All SQL there is, one file per table. Every statement names its tenant first, unless it is a
//! sweep over all of them.

pub mod aggregate;
pub mod answer;
pub mod approval;
pub mod artifact;
pub mod audit;
pub mod audit_anchor;
pub mod audit_chain;
pub mod audit_check;
pub mod audit_listing;
pub mod backlog;
pub mod breaker;
pub mod bulk;
pub mod bulk_listing;
pub mod bulk_row;
pub mod compensation;
pub mod conflict;
pub mod conflict_listing;
pub mod correction;
pub mod detail;
pub mod due;
pub mod event;
pub mod evidence;
pub mod evidence_file;
pub mod factor;
pub mod flow_links;
pub mod health;
pub mod inbox;
pub mod inbox_conflict;
pub mod inbox_consumer;
pub mod inbox_failure;
pub mod inbox_listing;
pub mod incident;
pub mod incident_listing;
pub mod incident_record;
pub mod incident_story;
pub mod kind;
pub mod lease;
pub mod lease_listing;
pub mod listing;
pub mod machine_event;
pub mod note;
pub mod operation;
pub mod operation_story;
pub mod outbox;
pub mod outbox_attempt;
pub mod outbox_listing;
pub mod outcome;
pub mod pending_sign_in;
pub mod person;
pub mod pointer;
pub mod preferences;
pub mod record_ref;
pub mod replay;
pub mod reveal;
pub mod row;
pub mod saved_view;
pub mod search;
pub mod session;
pub mod session_list;
pub mod sign_in;
pub mod sign_in_ticket;
mod span;
pub mod staff;
pub mod staff_identity;
pub mod step;
pub mod subject;
pub mod task_status;
pub mod tenant;
pub mod term;
pub mod token;
pub mod token_listing;
pub mod unwind;
pub mod worker;
pub mod workflow;
pub mod workflow_bodies;
pub mod workflow_listing;

use domain::{ids::OperationId, ids::TenantId};

use crate::error::EngineError;

/// An operation's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Target {
    /// Whose.
    pub tenant: TenantId,
    /// Which.
    pub id: OperationId,
}

/// Reads a word that the database's own checks keep to a closed list.
pub(crate) fn word<T: std::str::FromStr>(text: &str) -> Result<T, EngineError> {
    text.parse().map_err(|_| EngineError::Unreadable(text.to_owned()))
}

/// How many rows to read where at most `max` are told: one more says that there are others.
fn one_over(max: usize) -> i64 {
    i64::try_from(max).unwrap_or(i64::MAX).saturating_add(1)
}

/// Of rows read newest first, with one over, the newest: oldest first, and whether there are older ones.
fn newest<T>(mut rows: Vec<T>, max: usize) -> (Vec<T>, bool) {
    let older = rows.len() > max;
    rows.truncate(max);
    rows.reverse();
    (rows, older)
}
