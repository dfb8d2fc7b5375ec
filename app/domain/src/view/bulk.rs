//! Bulks, as their list and their own pages show them.

use chrono::{DateTime, Utc};
use serde::{Deserialize, Serialize};

use super::{approval::ApprovalView, operation::ActionOffer, record::AuditView};
use crate::{
    action::{TargetType, Verb},
    bulk::{BulkList, BulkState, BulkSum, Standing},
    ids::{BulkId, OperationId},
    money::Money,
    problem::Code,
};

/// A row of the list of bulks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkRow {
    /// Its id.
    pub id: BulkId,
    /// What is done to each record.
    pub verb: Verb,
    /// To which kind of record.
    pub target_type: TargetType,
    /// The list that the set was frozen from.
    pub list: BulkList,
    /// The filter that its records matched; `None` where they were picked one by one.
    pub filter: Option<Vec<(String, String)>>,
    /// Where it stands.
    pub status: BulkState,
    /// Its version; each decision about it names it.
    pub version: i64,
    /// Records of the set.
    pub total: i64,
    /// Those that can be decided, or could.
    pub eligible: i64,
    /// Those that cannot.
    pub ineligible: i64,
    /// Those that were decided.
    pub done: i64,
    /// Those that were tried and refused.
    pub refused: i64,
    /// Who froze the set.
    pub frozen_by: String,
    /// When.
    pub frozen_at: DateTime<Utc>,
    /// Until when it can be started.
    pub expires_at: DateTime<Utc>,
    /// In whose name its rows are decided.
    pub run_by: Option<String>,
    /// Since when.
    pub run_at: Option<DateTime<Utc>>,
    /// When it ended.
    pub over_at: Option<DateTime<Utc>>,
}

impl BulkRow {
    /// Rows that wait for their turn.
    #[must_use]
    pub const fn left(&self) -> i64 {
        self.eligible - self.done - self.refused
    }

    /// Whether it was not started in time, as things were at an instant: what the state says only once
    /// the background has looked.
    #[must_use]
    pub fn has_expired(&self, as_of: DateTime<Utc>) -> bool {
        match self.status {
            BulkState::Expired => true,
            BulkState::Ready => self.expires_at <= as_of,
            _ => false,
        }
    }
}

/// One bulk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkDetail {
    /// The facts that its list row shows.
    pub row: BulkRow,
    /// When this was read.
    pub as_of: DateTime<Utc>,
    /// Why it was started.
    pub reason: Option<String>,
    /// Why it stands still, where nobody decided that it should.
    pub cause: Option<String>,
    /// What its eligible rows add up to.
    pub sums: Vec<BulkSum>,
    /// Why starting it takes a second person, where it does.
    pub second: Option<String>,
    /// The decision that started it.
    pub receipt: Option<OperationId>,
    /// What can be done, each with whether the reader may.
    pub actions: Vec<ActionOffer>,
    /// Requests for a second person that wait.
    pub approvals: Vec<ApprovalView>,
    /// What people did to it, newest first.
    pub audit: Vec<AuditView>,
}

/// One record of a bulk, as it was frozen, and what became of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BulkRecord {
    /// Its place in the set.
    pub place: i64,
    /// What kind of record.
    pub target_type: TargetType,
    /// Its id.
    pub id: String,
    /// The version that is decided on.
    pub version: i64,
    /// What it is called among its like.
    pub label: String,
    /// Its own key.
    pub key: String,
    /// Amount at stake.
    pub amount: Option<Money>,
    /// Where it stands in the bulk.
    pub standing: Standing,
    /// Why it is not eligible, or was refused.
    pub code: Option<Code>,
    /// A sentence about this case.
    pub detail: Option<String>,
    /// The decision.
    pub receipt: Option<OperationId>,
    /// When it was decided or refused.
    pub settled_at: Option<DateTime<Utc>>,
}
