//! The page of an undo: what became of its tries, and the decisions that its workflow's page offers too.

use domain::{
    compensation::Effect,
    ids::{CompensationId, OperationId, WorkflowId},
    lease::LeaseState,
    operation::Event,
    verdict::{Facts, verdict},
    view::{ActionOffer, FlowRef, PlannedUndo},
    workflow::WorkflowState,
};
use uuid::Uuid;

use super::*;

/// What the page of the undo's own operation says once it failed.
fn ended(ended_by: Event) -> String {
    verdict(&Facts {
        status: Status::FailedTerminal,
        tombstoned: false,
        needs_manual: false,
        irreversible: true,
        lookup: true,
        asked_in_vain: false,
        absent_is_proof: false,
        attempt: 3,
        max_attempts: 3,
        takeovers: 0,
        lease: LeaseState::None,
        unknown_by: None,
        ended_by: Some(ended_by),
        done_on_record: false,
        open_incident: false,
        external_reference: None,
        reconcile_tries: 0,
        guessed: false,
        corrected: None,
    })
    .sentence
}

fn failed(ended: String) -> UndoDetail {
    let offer = |verb| ActionOffer { verb, refusal: None, missing: None };
    UndoDetail {
        planned: PlannedUndo {
            step_key: None,
            operation_id: OperationId::new(Uuid::from_u128(1)),
            operation: "invoice.charge".to_owned(),
            status: Status::Succeeded,
            effect: Effect::Happened,
            amount: None,
            external_reference: None,
            undo_kind: Some("invoice.refund".to_owned()),
            cannot: None,
            undo: Some(UndoView {
                id: CompensationId::new(Uuid::from_u128(2)),
                status: CompensationState::Failed,
                version: 3,
                n: 1,
                amount: None,
                undo_id: None,
                undo_status: Some(Status::FailedTerminal),
                needs_person: false,
                passed: false,
            }),
        },
        forward: None,
        ended: Some(ended),
        workflow: None,
        left: false,
        actions: [Verb::Retry, Verb::Accept, Verb::Continue].map(offer).to_vec(),
    }
}

fn undecided(sentence: &str, ground: &str) -> Standing {
    let rest = "and it is not tried again by itself: what it should undo stays done until somebody decides.";
    Standing::person(format!("{sentence}, {rest}")).grounds([ground.to_owned()])
}

#[test]
fn an_undo_that_can_be_tried_again_is_never_called_failed_for_good() {
    assert_eq!(
        standing(&failed(ended(Event::Rejected))),
        undecided(
            "The provider refused the undo",
            "Try 1 did not happen: the provider refused it."
        )
    );
}

#[test]
fn the_provider_is_named_only_where_it_refused() {
    for (event, ground) in [
        (
            Event::NotDoneLast,
            "Try 1 did not happen: the provider took nothing, and no attempt is left.",
        ),
        (
            Event::ConfirmStop,
            "Try 1: A person confirmed that it did not happen; it will not be tried again.",
        ),
    ] {
        assert_eq!(standing(&failed(ended(event))), undecided("The undo failed", ground));
    }
}

#[test]
fn its_page_offers_what_its_workflows_page_offers() {
    let verbs = |detail: &UndoDetail| {
        let undo = detail.planned.undo.as_ref().unwrap();
        offered(detail, undo).into_iter().map(|offered| offered.offer.verb).collect::<Vec<_>>()
    };
    let mut detail = failed(ended(Event::Rejected));
    assert_eq!(verbs(&detail), [Verb::Retry, Verb::Accept], "no workflow goes on by it");
    detail.workflow = Some(FlowRef {
        id: WorkflowId::new(Uuid::from_u128(3)),
        kind: "trip".to_owned(),
        key: "t-1".to_owned(),
        status: WorkflowState::CompensationStuck,
        step_key: "charge".to_owned(),
    });
    assert_eq!(verbs(&detail), [Verb::Retry, Verb::Accept], "nothing is left to go on with");
    detail.left = true;
    assert_eq!(verbs(&detail), [Verb::Retry, Verb::Accept, Verb::Continue]);
}

#[test]
fn the_form_of_passing_the_last_undo_promises_no_other_undo() {
    let mut detail = failed(ended(Event::Rejected));
    let last = closing(&detail);
    assert!(last.consequence.contains("the workflow is closed"), "{}", last.consequence);
    if let Some(undo) = &mut detail.planned.undo {
        undo.status = CompensationState::Running;
        undo.undo_status = Some(Status::Unknown);
    }
    assert_eq!(closing(&detail).button, CLOSE);
}
