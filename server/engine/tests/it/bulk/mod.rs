//! Bulk (B1 to B9): a frozen set does not grow, looking at it writes nothing, each row is decided once,
//! and many small decisions do not walk around the rule of two people.

mod deciding;
mod expiring;
mod freezing;
mod large;
mod leading_back;
mod people;

use domain::{
    action::{Subject, TargetType, Verb},
    bulk::{BulkList, BulkState, Standing},
    ids::{BulkId, OperationId},
    listing::BulkRowFilter,
    view::{BulkDetail, BulkRecord, BulkRow},
};
use engine::{
    ActionRequest, Decided, EngineError, FinishOutcome, FreezeRequest, StaffCaller, bulk::FrozenSet,
};

use crate::fixture::{Fixture, mail_request, won};

impl Fixture {
    /// A mail whose call ended without an answer; no money, so no threshold.
    pub async fn unknown_mail(&self, key: &str) -> (OperationId, i64) {
        let (id, fence) = won(self.engine.reserve(&self.service, mail_request(key)).await.unwrap());
        self.engine.start(&self.service, id, fence).await.unwrap();
        self.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        (id, self.version_of(id).await)
    }

    /// A charge whose call ended without an answer.
    async fn unknown_charge(&self, key: &str) -> OperationId {
        let (id, fence) = self.executing(key).await;
        self.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        id
    }

    async fn version_of(&self, id: OperationId) -> i64 {
        self.engine.operation_for_service(&self.service, id).await.unwrap().version
    }

    /// Freezes what was picked of the operations.
    pub async fn freeze_picked(
        &self,
        by: &StaffCaller,
        verb: Verb,
        ids: &[OperationId],
    ) -> Result<BulkRow, EngineError> {
        let set = FrozenSet::Picked(ids.iter().map(|id| id.uuid()).collect());
        self.engine.freeze(by, FreezeRequest { list: BulkList::Operations, verb, set }).await
    }

    /// Freezes all operations that match.
    async fn freeze_matching(
        &self,
        by: &StaffCaller,
        verb: Verb,
        filter: &[(&str, &str)],
    ) -> Result<BulkRow, EngineError> {
        self.freeze_list(by, BulkList::Operations, verb, filter).await
    }

    /// Freezes all that match in a list.
    async fn freeze_list(
        &self,
        by: &StaffCaller,
        list: BulkList,
        verb: Verb,
        filter: &[(&str, &str)],
    ) -> Result<BulkRow, EngineError> {
        let pairs = filter.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        let set = FrozenSet::Matching(pairs.collect());
        self.engine.freeze(by, FreezeRequest { list, verb, set }).await
    }

    /// Has the background work until nothing moves by itself any more.
    pub async fn advance(&self) {
        while self.engine.advance_bulks().await.unwrap().handled > 0 {}
    }

    async fn bulk(&self, by: &StaffCaller, id: BulkId) -> BulkDetail {
        self.engine.bulk(by, id).await.unwrap()
    }

    /// The rows that stand so.
    async fn rows(&self, by: &StaffCaller, id: BulkId, standing: Standing) -> Vec<BulkRecord> {
        let filter = BulkRowFilter { standing: Some(standing), ..BulkRowFilter::default() };
        self.engine.bulk_rows(by, id, &filter).await.unwrap().items
    }

    /// Decides about a bulk at the version that its page would show.
    pub async fn decide_bulk(
        &self,
        by: &StaffCaller,
        id: BulkId,
        verb: Verb,
    ) -> Result<Decided, EngineError> {
        let version = self.bulk(by, id).await.row.version;
        let target = Subject::new(TargetType::Bulk, id.to_string());
        let request = ActionRequest::new(target, verb, version, "the provider is back");
        self.engine.act(by, request).await
    }
}

/// Done and refused.
fn results(bulk: &BulkDetail) -> (BulkState, i64, i64) {
    (bulk.row.status, bulk.row.done, bulk.row.refused)
}
