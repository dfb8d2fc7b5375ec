//! One row of a bulk: the same decision on the same path, looked at first and carried out later. Nobody
//! is asked for consent row by row: what takes two people by itself is not eligible.

use super::{
    Acted, ActionRequest, Decided, Second, ask, decide,
    hand::Hand,
    held::Held,
    receipt,
    weigh::{self, Weighed},
};
use crate::{Engine, StaffCaller, database::Tx, error::EngineError, operations::retrying};
use domain::{ids::BulkId, problem::Code};

/// A refusal with the reason why it takes two people.
pub(super) fn takes_two(held: &Held, weighed: &Weighed) -> EngineError {
    EngineError::refused_with(Code::SecondPersonRequired, |refusal| {
        refusal.current = Some(held.state());
        refusal.detail.clone_from(&weighed.second);
    })
}

impl Engine {
    /// Whether a decision would be carried out as things are, by the checks that it will meet. Locks the
    /// record for as long as that takes and writes nothing: the transaction is always rolled back.
    ///
    /// # Errors
    /// What the decision would be refused with.
    pub(crate) async fn look_at_row(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<(), EngineError> {
        by.require(request.verb.permission_on(request.target.kind))?;
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let result = self.look_in(&mut tx, by, request).await;
        tx.rollback().await?;
        result
    }

    async fn look_in(
        &self,
        tx: &mut Tx,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<(), EngineError> {
        let held = Held::lock(tx, by.tenant_id(), &request.target).await?;
        if held.state().version != request.version {
            return Err(held.refused(Code::Stale));
        }
        // A version moves with every decision but the few that leave the state alone.
        if receipt::taken_before(tx, by, request).await?.is_some() {
            return Err(held.refused(Code::DecidedOtherwise));
        }
        let weighed = weigh::weigh(self, tx, by.tenant_id(), &held, request, None).await?;
        if weighed.second.is_some() {
            return Err(takes_two(&held, &weighed));
        }
        if ask::open_request(tx, &Hand::alone(by), &held, request).await?.is_some() {
            return Err(held.refused(Code::ApprovalPending));
        }
        Ok(())
    }

    /// Carries the decision about one row out, once; a repeat is answered by the receipt.
    ///
    /// # Errors
    /// As [`Engine::act`], each refusal with its audit row; `second_person_required` and
    /// `approval_pending` where two people would be asked.
    pub(crate) async fn act_on_row(
        &self,
        by: &StaffCaller,
        bulk: BulkId,
        request: &ActionRequest,
    ) -> Result<Acted, EngineError> {
        let result = async {
            by.require(request.verb.permission_on(request.target.kind))?;
            let request = request.checked()?;
            retrying(|| async {
                let mut tx = self.pools.begin_console(by.tenant_id()).await?;
                let second = Second::Refuse(bulk);
                let decided = decide(self, &mut tx, by, &request, None, second).await?;
                tx.commit().await?;
                Ok(decided)
            })
            .await
        };
        let what = (request.verb.as_str(), &request.target, request.reason.as_str());
        match self.audited_within(by, Some(bulk), what, result.await).await? {
            Decided::Done(acted) => Ok(*acted),
            Decided::Asked { .. } => Err(EngineError::refused(Code::SecondPersonRequired)),
        }
    }
}
