//! Which actions a record's page offers, and whether the reader may take them. One policy with the
//! commands behind them: the states are those that a decision is weighed by.

use domain::{
    action::{TargetType, Verb},
    problem::Code,
    view::ActionOffer,
};

use crate::{StaffCaller, actions::leaves};

/// The verbs that the state knows, each with the right that is missing.
pub(super) fn offers(by: &StaffCaller, kind: TargetType, status: &str) -> Vec<ActionOffer> {
    Verb::on(kind)
        .iter()
        .copied()
        .filter(|verb| leaves(kind, *verb).contains(&status))
        .map(|verb| {
            let right = verb.permission_on(kind);
            let missing = Some(right).filter(|right| !by.permits(*right));
            ActionOffer { verb, refusal: missing.map(|_| Code::PermissionMissing), missing }
        })
        .collect()
}
