//! A request for a second person as it is shown, and what its requester saw.

use domain::{
    ids::{EvidenceId, StaffId},
    machine::Machine as _,
    money::Money,
    view::{ApprovalView, ReceiptState, StateWord},
};
use serde::{Deserialize, Serialize};

use super::ActionRequest;
use crate::{error::EngineError, store::approval::Approval};

/// What the requester saw, kept with the request and bound by its hash (T24).
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Seen {
    /// State and version.
    pub(crate) state: ReceiptState,
    /// What the record is called among its like.
    pub(crate) label: String,
    /// Its own key.
    pub(crate) key: String,
    /// Why it takes a second person.
    pub(crate) why: String,
    /// What was overridden.
    pub(crate) contradiction: Option<String>,
    /// What the provider said.
    pub(crate) provider: Option<String>,
    /// What would change.
    pub(crate) changes: Vec<String>,
    /// The amount at stake; the table's own column is for lists.
    #[serde(default)]
    pub(crate) amount: Option<Money>,
}

/// The stored decision.
pub(super) fn decision(approval: &Approval) -> Result<ActionRequest, EngineError> {
    serde_json::from_value(approval.decision.clone())
        .map_err(|error| EngineError::Unreadable(format!("request {}: {error}", approval.id)))
}

/// The files that it names as evidence.
pub(crate) fn evidence_files(approval: &Approval) -> Result<Vec<EvidenceId>, EngineError> {
    Ok(decision(approval)?.evidence_files)
}

/// What its requester saw.
pub(super) fn seen(approval: &Approval) -> Result<Seen, EngineError> {
    serde_json::from_value(approval.seen.clone())
        .map_err(|error| EngineError::Unreadable(format!("request {}: {error}", approval.id)))
}

/// The request's own state, as refusals show it.
pub(super) fn state(approval: &Approval) -> ReceiptState {
    ReceiptState {
        status: StateWord::new(approval.status.as_str()),
        version: approval.own_version,
        needs_manual: false,
    }
}

/// The request for one reader.
pub(crate) fn view(approval: &Approval, reader: StaffId) -> Result<ApprovalView, EngineError> {
    let (request, seen) = (decision(approval)?, seen(approval)?);
    Ok(ApprovalView {
        id: approval.id,
        version: approval.own_version,
        status: approval.status,
        verb: approval.verb,
        target_type: approval.target.kind,
        target: approval.target.id.clone(),
        target_version: approval.version,
        target_operation: seen.label,
        target_key: seen.key,
        outcome: request.outcome,
        external_reference: request.external_reference,
        force: request.force,
        overrides: request.overrides,
        changes: seen.changes,
        amount: approval.amount.clone(),
        why: seen.why,
        requester: approval.requester.clone(),
        requester_email: approval.requester_email.clone(),
        requested_at: approval.requested_at,
        expires_at: approval.expires_at,
        reason: approval.reason.clone(),
        evidence: approval.evidence.clone(),
        evidence_files: Vec::new(),
        seen: seen.state,
        provider: seen.provider,
        now: None,
        since: None,
        may_approve: Vec::new(),
        mine: approval.requester_id == reader,
        decided_by: approval.decider.clone(),
        decided_at: approval.decided_at,
        decision_reason: approval.decision_reason.clone(),
        receipt: approval.receipt,
    })
}
