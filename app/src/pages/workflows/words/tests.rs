//! Sentences about workflows that stopped: what stays done, who has to do what, and nothing that the page
//! could know better.

use chrono::{DateTime, Utc};
use domain::{
    compensation::Effect,
    ids::{CompensationId, OperationId, WorkflowId},
    money::Money,
    view::UndoView,
};
use uuid::Uuid;

use super::*;

fn undo(status: CompensationState, undo_status: Option<Status>) -> UndoView {
    UndoView {
        id: CompensationId::new(Uuid::from_u128(2)),
        status,
        version: 1,
        n: 1,
        amount: None,
        undo_id: None,
        undo_status,
        needs_person: undo_status == Some(Status::Unknown),
        passed: false,
    }
}

fn planned(step: &str, amount_minor: Option<i64>, undo: Option<UndoView>) -> PlannedUndo {
    PlannedUndo {
        step_key: Some(step.to_owned()),
        operation_id: OperationId::new(Uuid::from_u128(1)),
        operation: "invoice.charge".to_owned(),
        status: Status::Succeeded,
        effect: Effect::Happened,
        amount: amount_minor.map(|amount_minor| Money { amount_minor, currency: "EUR".to_owned() }),
        external_reference: None,
        undo_kind: Some("invoice.refund".to_owned()),
        cannot: None,
        undo,
    }
}

fn failed(step: &str, amount_minor: Option<i64>) -> PlannedUndo {
    planned(step, amount_minor, Some(undo(CompensationState::Failed, Some(Status::FailedTerminal))))
}

fn plan(undone: Vec<PlannedUndo>) -> CompensationPlan {
    CompensationPlan { awaited: Vec::new(), undone, partial: false }
}

#[test]
fn an_undo_that_failed_last_says_what_stays_done_and_of_no_rest_that_waits() {
    let over = planned("book", None, Some(undo(CompensationState::Compensated, None)));
    assert_eq!(
        stuck(&plan(vec![over.clone(), failed("charge", Some(19_000))])),
        "The undo of charge failed: 190.00 EUR stays done until somebody decides."
    );
    assert_eq!(
        stuck(&plan(vec![over.clone(), failed("mail", None)])),
        "The undo of mail failed: it stays done until somebody decides."
    );
    assert_eq!(
        stuck(&plan(vec![failed("charge", Some(19_000)), failed("tip", Some(500))])),
        "The undo of charge failed, and the undo of tip failed: 190.00 EUR and 5.00 EUR stay done until \
         somebody decides."
    );
    let unknown = undo(CompensationState::Running, Some(Status::Unknown));
    assert_eq!(
        stuck(&plan(vec![over, planned("charge", Some(19_000), Some(unknown))])),
        "Whether the undo of charge happened is not known: 190.00 EUR may stay done until somebody decides."
    );
}

#[test]
fn an_undo_that_holds_others_up_says_that_they_wait() {
    assert_eq!(
        stuck(&plan(vec![failed("charge", Some(19_000)), planned("book", None, None)])),
        "The undo of charge failed: the rest waits for a decision about it."
    );
}

fn blocked(cause: &str) -> WorkflowDetail {
    let at = DateTime::<Utc>::UNIX_EPOCH;
    WorkflowDetail {
        masking: Vec::new(),
        row: WorkflowRow {
            id: WorkflowId::new(Uuid::from_u128(3)),
            kind: "campaign.agent".to_owned(),
            key: "c-1".to_owned(),
            definition_version: 1,
            status: WorkflowState::Blocked,
            version: 4,
            cause: Some(cause.to_owned()),
            steps_over: 0,
            steps: 1,
            created_at: at,
            updated_at: at,
            completed_at: None,
        },
        as_of: at,
        input_bytes: None,
        created_by: "shop".to_owned(),
        owner: None,
        fence: 1,
        cancel_asked: false,
        served_here: true,
        steps: vec![StepView {
            step_key: "mail".to_owned(),
            status: StepState::Pending,
            after: Vec::new(),
            operation: None,
            operation_id: None,
            started_at: None,
            completed_at: None,
            completed_seq: None,
            artifacts: Vec::new(),
        }],
        plan: plan(Vec::new()),
        timeline: Vec::new(),
        timeline_older: false,
        actions: Vec::new(),
        calls: Vec::new(),
        approvals: Vec::new(),
        audit: Vec::new(),
    }
}

#[test]
fn a_changed_definition_says_that_resuming_leads_nowhere_until_it_is_put_right() {
    let detail = blocked("definition_drift: the step mail is another now");
    let said = next(&detail).join(" ");
    assert!(said.starts_with("Resuming is refused"), "{said}");
    assert!(said.ends_with("then it resumes at: mail."), "{said}");
    let form = decision_by(&detail, Verb::Resume).unwrap();
    assert!(form.consequence.starts_with("Resuming is refused"), "{}", form.consequence);
    assert!(resumes_in_vain(&detail), "then no button asks for it first");
}

#[test]
fn another_block_is_resumed_as_ever_where_the_definition_is_here() {
    let detail = blocked("the step mail was refused: kind_unknown");
    assert_eq!(next(&detail), ["It resumes at: mail."]);
    assert!(decision_by(&detail, Verb::Resume).is_none());
    assert!(!resumes_in_vain(&detail));
    let elsewhere = WorkflowDetail { served_here: false, ..detail };
    assert!(resumes_in_vain(&elsewhere), "this server refuses what it has no definition of");
}

fn moved(rule: &str, detail: &[(&str, &str)]) -> WorkflowMove {
    WorkflowMove {
        id: 1,
        at: DateTime::<Utc>::UNIX_EPOCH,
        rule: rule.to_owned(),
        step_key: None,
        from: None,
        to: "compensating".to_owned(),
        version: 1,
        actor: "worker".to_owned(),
        by_person: false,
        detail: detail.iter().map(|(name, text)| ((*name).into(), (*text).into())).collect(),
    }
}

#[test]
fn the_timeline_names_why_a_workflow_is_undone() {
    for (cause, why) in [
        ("the step publish failed", "The step publish failed"),
        ("cancelled by Ada: the customer left", "It was cancelled"),
    ] {
        let said = sentence(&moved("W8", &[("cause", cause)]));
        assert_eq!(said, format!("{why}: what can be undone is being undone."));
    }
    let said = sentence(&moved("W8", &[]));
    assert_eq!(said, "A step failed or it was cancelled: what can be undone is being undone.");
}

#[test]
fn the_timeline_names_the_undo_at_which_it_stopped() {
    let stopped = |steps: &str, stays: &str| {
        sentence(&moved("W11", &[("steps", steps), ("stays_done", stays)]))
    };
    let failed = r#"{"step_key":"charge","status":"succeeded","undo":"failed","undo_status":"failed_terminal"}"#;
    let unknown =
        r#"{"step_key":"mail","status":"succeeded","undo":"running","undo_status":"unknown"}"#;
    let open = r#"{"step_key":"book","status":"succeeded","undo":null,"undo_status":null}"#;
    assert_eq!(
        stopped(&format!("[{failed},{open}]"), "[]"),
        "The undo of charge failed and needs a person."
    );
    assert_eq!(
        stopped(&format!("[{open},{unknown}]"), "[]"),
        "Whether the undo of mail happened is not known; it needs a person."
    );
    assert_eq!(
        stopped(&format!("[{failed},{unknown}]"), r#"[{"step_key":"charge","passed":true}]"#),
        "Whether the undo of mail happened is not known; it needs a person.",
        "what was passed holds nothing up"
    );
    for told_nothing in ["", "[]", "{", "7"] {
        assert_eq!(
            stopped(told_nothing, "[]"),
            "The undoing stopped at an undo and needs a person."
        );
    }
}
