//! Guards that several moves share.

use domain::{money::Money, operation::Event};

use crate::store::operation::Operation;

/// Moves that give way to unrefuted evidence of Done (docs/operations.md, *Evidence of Done*).
pub(crate) const fn gives_way_to_evidence(event: Event) -> bool {
    use Event as E;
    matches!(
        event,
        E::Start
            | E::Cancel
            | E::ClaimBound
            | E::Rejected
            | E::NotDone
            | E::NotDoneLast
            | E::Retry
            | E::GiveUp
            | E::ProofRejected
            | E::ProofAbsent
            | E::ConfirmRetry
            | E::ConfirmStop
            | E::StaffRetry
            | E::HarmlessRepeat
    )
}

/// Whether an answer names another amount or currency than was asked (D10).
pub(crate) fn differs(row: &Operation, answer: Option<&Money>) -> bool {
    match (&row.amount, answer) {
        (Some(asked), Some(answered)) => asked != answered,
        _ => false,
    }
}
