//! The audit log as a list shows it.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use crate::{
    ids::{BulkId, OperationId},
    problem::Code,
};

/// An entry of the audit log, whole.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AuditRow {
    /// Position in the tenant's log.
    pub id: i64,
    /// When.
    pub at: DateTime<Utc>,
    /// `staff`, `service`, `command line` or `identity provider`.
    pub actor_kind: String,
    /// Who: email, token name or issuer.
    pub actor: String,
    /// What, such as `confirm`.
    pub verb: String,
    /// On what kind of record.
    pub target_type: String,
    /// On which.
    pub target: String,
    /// Whether it was refused.
    pub denied: bool,
    /// The refusal's code.
    pub code: Option<Code>,
    /// The person's reason.
    pub reason: Option<String>,
    /// What was before, as JSON.
    pub before: Option<String>,
    /// What is after, as JSON.
    pub after: Option<String>,
    /// The receipt.
    pub receipt: Option<OperationId>,
    /// The bulk that it was done or refused within.
    pub bulk: Option<BulkId>,
    /// The request that asked for it.
    pub request_id: String,
    /// The address that it came from; `None` where no client asked, and in entries from before addresses
    /// were kept.
    pub client: Option<String>,
}
