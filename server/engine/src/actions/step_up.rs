//! Which decisions take a factor that was given lately (T12). Judged here, on the locked record, so that no
//! door of the engine can leave it out; who was asked, and how, is the doors' part.

use domain::{
    access::takes_factor,
    action::{TargetType, Verb},
    problem::Code,
};

use super::{ActionRequest, held::Held, weigh::Weighed};
use crate::{StaffCaller, error::EngineError};

/// Refuses a decision that takes a fresh factor, where its person gave none lately.
pub(super) fn require(
    by: &StaffCaller,
    held: &Held,
    request: &ActionRequest,
    weighed: &Weighed,
) -> Result<(), EngineError> {
    let (target, verb) = (request.target.kind, request.verb);
    let takes = takes_factor(target, verb, money(held, weighed), request.force);
    if takes && by.factor_lasts().is_none() {
        return Err(held.refused(Code::StepUpRequired));
    }
    Ok(())
}

/// Whether money moves by what is decided, or may: what nobody can tell counts as if it did.
fn money(held: &Held, weighed: &Weighed) -> bool {
    match held {
        Held::Operation(held) => held.1.money || held.0.amount.is_some(),
        // Where money moves by a message or an undo, it takes a second person already.
        Held::Record(_, locked) => {
            locked.money || locked.amount.is_some() || weighed.second.is_some()
        }
        Held::Bulk(bulk) => {
            let row = &bulk.row;
            match row.target_type {
                TargetType::Operation => {
                    !matches!(row.verb, Verb::Reconcile | Verb::Release)
                        && (weighed.second.is_some()
                            || bulk.sums.iter().any(|sum| sum.currency.is_some()))
                }
                // Messages that move money are in no bulk.
                TargetType::Inbox => false,
                _ => true,
            }
        }
        Held::Kind(..)
        | Held::Member(_)
        | Held::NewIncident(_)
        | Held::NewToken { .. }
        | Held::Token(_) => false,
    }
}
