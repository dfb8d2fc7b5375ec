//! Unwinding: the strict reverse of what really completed, one at a time, and never a word more
//! than is true (D35 to D37, I6, I14).

use domain::{access::Role, compensation::CompensationState, operation::Status, problem::Code};
use engine::FinishOutcome;

use super::{
    flows::{Flow, done, fork, mailed, stage, trip, undo_matches_do},
    staff,
    support::{compensate, join_all},
};
use crate::fixture::{Fixture, code, happened};

fn rejected_at<'a>(call: &'a str) -> impl Fn(&str) -> Option<FinishOutcome> + 'a {
    move |now| Some(if now == call { FinishOutcome::Rejected } else { FinishOutcome::Done })
}

#[tokio::test]
async fn whichever_step_fails_each_step_before_it_is_undone_once_in_reverse() {
    for failing in 1..=4 {
        let fixture = stage(vec![trip(4)]).await;
        let flow = Flow::start(&fixture, "trip", "k").await;
        flow.drive(&rejected_at(&format!("do s{failing}"))).await;
        let done = (1..failing).map(|n| format!("do s{n}"));
        let undone = (1..failing).rev().map(|n| format!("undo s{n}"));
        assert_eq!(flow.ledger(), done.chain(undone).collect::<Vec<_>>(), "s{failing} failed");
        let (status, told) = if failing == 1 {
            ("failed", vec!["workflow.failed"])
        } else {
            ("compensated", vec!["workflow.compensating", "workflow.compensated"])
        };
        assert_eq!(flow.status().await, status);
        assert_eq!(flow.told().await, told);
        undo_matches_do(&fixture).await;
    }
}

/// The k-th of three undos does not come through.
async fn stuck_at<'a>(fixture: &'a Fixture, step: &str, outcome: FinishOutcome) -> Flow<'a> {
    let flow = Flow::start(fixture, "trip", step).await;
    let undo = format!("undo {step}");
    flow.drive(&|now| {
        Some(match now {
            "do s4" => FinishOutcome::Rejected,
            now if now == undo => outcome,
            _ => FinishOutcome::Done,
        })
    })
    .await;
    flow
}

#[tokio::test]
async fn a_failed_undo_stops_all_before_it_and_every_state_is_told_as_it_is() {
    let fixture = stage(vec![trip(4)]).await;
    for failing in 1..=3 {
        let step = format!("s{failing}");
        let flow = stuck_at(&fixture, &step, FinishOutcome::Rejected).await;
        assert_eq!(flow.status().await, "compensation_stuck");
        for n in 1..=3 {
            let expected = match n {
                n if n > failing => Some(CompensationState::Compensated),
                n if n == failing => Some(CompensationState::Failed),
                _ => None,
            };
            assert_eq!(flow.undo_state(&format!("s{n}")).await, expected, "s{n}, {step} failed");
            assert_eq!(flow.step(&format!("s{n}")).await, "succeeded", "the step stays done");
        }
        let told = flow.told().await;
        assert_eq!(told, ["workflow.compensating", "workflow.compensation_stuck"]);
    }
    undo_matches_do(&fixture).await;
}

#[tokio::test]
async fn an_unknown_undo_is_waited_for_and_stuck_only_once_machines_have_given_up() {
    let fixture = stage(vec![trip(4)]).await;
    let flow = stuck_at(&fixture, "s2", FinishOutcome::Ambiguous).await;
    assert_eq!(flow.status().await, "compensating", "it may still be proven");
    let undo = flow.undo("s2").await.unwrap();
    assert_eq!(
        (undo.status, undo.undo_status),
        (CompensationState::Running, Some(Status::Unknown))
    );
    assert_eq!(flow.undo_state("s1").await, None, "nothing before it is undone meanwhile");
    fixture.engine.reconcile_due().await.unwrap();
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "compensation_stuck");
    let undo = flow.undo("s2").await.unwrap();
    assert!(undo.needs_person);
    assert_eq!(undo.undo_status, Some(Status::Unknown), "never called failed");

    // A person finds that it did happen: unwinding goes on by itself (W13).
    let operator = fixture.person("op", Role::Operator).await;
    let id = undo.undo_id.unwrap();
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    fixture.engine.act(&operator, happened(id, version, "found")).await.unwrap();
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "compensated");
    assert_eq!(flow.ledger().last().unwrap(), "undo s1");
    undo_matches_do(&fixture).await;
}

#[tokio::test]
async fn tried_again_it_ends_compensated() {
    let fixture = stage(vec![trip(4)]).await;
    let flow = stuck_at(&fixture, "s2", FinishOutcome::Rejected).await;
    let undo = flow.undo("s2").await.unwrap();
    let decided = staff::retry(&fixture, undo.id, undo.version).await.unwrap();
    assert_eq!(decided.workflow, Some(domain::workflow::WorkflowState::Compensating));
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "compensated");
    assert_eq!(flow.ledger()[3..], ["undo s3", "undo s2", "undo s1"]);
    assert_eq!(flow.undo("s2").await.unwrap().n, 2);
    undo_matches_do(&fixture).await;
}

#[tokio::test]
async fn accepted_as_not_undone_it_goes_on_and_ends_partial_naming_what_stays() {
    let fixture = stage(vec![trip(4)]).await;
    let flow = stuck_at(&fixture, "s2", FinishOutcome::Rejected).await;
    let undo = flow.undo("s2").await.unwrap();
    let decided = staff::accept(&fixture, undo.id, undo.version).await.unwrap();
    assert_eq!(decided.workflow, Some(domain::workflow::WorkflowState::Compensating));
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "closed_partial");
    assert_eq!(flow.ledger()[3..], ["undo s3", "undo s1"]);
    assert_eq!(flow.stays_done().await, ["s2"]);

    // The last in the stack: nothing is left to undo, and it is closed with the decision (W12).
    let flow = stuck_at(&fixture, "s1", FinishOutcome::Rejected).await;
    let undo = flow.undo("s1").await.unwrap();
    let decided = staff::accept(&fixture, undo.id, undo.version).await.unwrap();
    assert_eq!(decided.workflow, Some(domain::workflow::WorkflowState::ClosedPartial));
    assert_eq!(flow.stays_done().await, ["s1"]);
}

#[tokio::test]
async fn the_page_of_a_stuck_undo_names_its_step_and_knows_whether_anything_is_left() {
    let fixture = stage(vec![trip(4)]).await;
    let operator = fixture.person("op", Role::Operator).await;
    for (step, left) in [("s3", true), ("s1", false)] {
        let flow = stuck_at(&fixture, step, FinishOutcome::Rejected).await;
        let undo = flow.undo(step).await.unwrap();
        let shown = fixture.engine.undo(&operator, undo.id).await.unwrap();
        assert_eq!((shown.left, flow.plan().await.something_left()), (left, left), "{step}");
        assert_eq!(shown.planned.step_key.as_deref(), Some(step));
        assert_eq!(shown.workflow.map(|flow| flow.id), Some(flow.id));
    }
}

#[tokio::test]
async fn passed_by_name_the_steps_before_it_are_undone_and_it_stays_what_it_is() {
    let fixture = stage(vec![trip(4)]).await;
    for (step, outcome) in [("s2", FinishOutcome::Rejected), ("s3", FinishOutcome::Ambiguous)] {
        let flow = stuck_at(&fixture, step, outcome).await;
        fixture.engine.reconcile_due().await.unwrap();
        flow.drive(&done).await;
        assert_eq!(flow.status().await, "compensation_stuck");
        let undo = flow.undo(step).await.unwrap();
        staff::go_on(&fixture, undo.id, undo.version).await.unwrap();
        let again = flow.undo(step).await.unwrap();
        assert_eq!(
            code(staff::go_on(&fixture, undo.id, again.version).await),
            Code::NotAllowedInState
        );
        flow.drive(&done).await;
        assert_eq!(flow.status().await, "closed_partial");
        assert_eq!(flow.stays_done().await, [step]);
        let after = flow.undo(step).await.unwrap();
        assert!(after.passed);
        assert_eq!((after.status, after.undo_status), (undo.status, undo.undo_status));
        assert_eq!(flow.ledger().last().unwrap(), "undo s1");
    }
}

#[tokio::test]
async fn a_step_that_succeeds_late_is_undone_first() {
    let fixture = stage(vec![fork()]).await;
    let flow = Flow::start(&fixture, "fork", "k").await;
    flow.drive(&|now| match now {
        "do left" => Some(FinishOutcome::Rejected),
        "do right" => None,
        _ => Some(FinishOutcome::Done),
    })
    .await;
    assert_eq!(flow.status().await, "compensating");
    assert_eq!(flow.ledger(), ["do first"], "nothing is undone while right may still happen");
    let plan = flow.plan().await;
    assert_eq!(plan.awaited[0].step_key.as_deref(), Some("right"));
    flow.end_open("do right", FinishOutcome::Done).await;
    flow.drive(&done).await;
    assert_eq!(flow.ledger(), ["do first", "do right", "undo right", "undo first"]);
    assert_eq!(flow.status().await, "compensated");
    undo_matches_do(&fixture).await;
}

#[tokio::test]
async fn a_step_in_doubt_is_undone_only_if_it_is_found_to_have_happened() {
    for found in [true, false] {
        let fixture = stage(vec![fork()]).await;
        let flow = Flow::start(&fixture, "fork", "k").await;
        flow.drive(&|now| match now {
            "do left" => Some(FinishOutcome::Rejected),
            "do right" => Some(FinishOutcome::Ambiguous),
            _ => Some(FinishOutcome::Done),
        })
        .await;
        fixture.engine.reconcile_due().await.unwrap();
        flow.drive(&done).await;
        assert_eq!((flow.status().await.as_str(), flow.ledger().len()), ("compensating", 1));
        let (id, version): (uuid::Uuid, i64) =
            sqlx::query_as("select id, version from operations where step_key = 'right'")
                .fetch_one(fixture.pool())
                .await
                .unwrap();
        let id = domain::ids::OperationId::new(id);
        let operator = fixture.person("op", Role::Operator).await;
        let mut decision = happened(id, version, "found");
        if !found {
            fixture.db.advance_clock(std::time::Duration::from_secs(3600)).await;
            decision.outcome = Some(domain::action::Outcome::NotHappenedRetry);
            decision.external_reference = None;
        }
        fixture.engine.act(&operator, decision).await.unwrap();
        flow.drive(&done).await;
        let undone = ["undo right", "undo first"];
        let undone = if found { &undone[..] } else { &undone[1..] };
        assert_eq!(flow.ledger()[1..], *undone, "found: {found}; it is not tried again");
        assert_eq!(flow.status().await, "compensated");
        assert_eq!(flow.step("right").await, if found { "succeeded" } else { "cancelled" });
        undo_matches_do(&fixture).await;
    }
}

#[tokio::test]
async fn what_nothing_can_undo_is_named_before_and_after_and_never_called_undone() {
    let fixture = stage(vec![mailed()]).await;
    let flow = Flow::start(&fixture, "mailed", "k").await;
    flow.drive(&|now| if now == "do s2" { None } else { Some(FinishOutcome::Done) }).await;
    let plan = flow.plan().await;
    assert!(plan.partial, "said before it runs");
    let order: Vec<_> = plan.undone.iter().map(|p| p.step_key.as_deref().unwrap()).collect();
    assert_eq!(order, ["mail", "s1"]);
    assert!(plan.undone[0].cannot.as_ref().unwrap().starts_with("Nothing can undo campaign.send"));
    flow.end_open("do s2", FinishOutcome::Rejected).await;
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "closed_partial");
    assert_eq!(flow.ledger(), ["do s1", "do mail", "undo s1"]);
    assert_eq!(flow.stays_done().await, ["mail"]);
}

#[tokio::test]
async fn a_cancel_during_a_call_undoes_what_the_call_turns_out_to_have_done() {
    let fixture = stage(vec![trip(3)]).await;
    let flow = Flow::start(&fixture, "trip", "k").await;
    flow.drive(&|now| if now == "do s2" { None } else { Some(FinishOutcome::Done) }).await;
    fixture.engine.cancel_workflow(&fixture.service, flow.id, "changed their mind").await.unwrap();
    flow.drive(&done).await;
    assert_eq!((flow.status().await.as_str(), flow.ledger().len()), ("compensating", 1));
    assert_eq!(flow.step("s3").await, "cancelled");
    flow.end_open("do s2", FinishOutcome::Done).await;
    flow.drive(&done).await;
    assert_eq!(flow.ledger(), ["do s1", "do s2", "undo s2", "undo s1"]);
    assert_eq!(flow.status().await, "compensated");
}

#[tokio::test]
async fn four_unwinders_at_once_undo_each_step_once() {
    let fixture = stage(vec![trip(3)]).await;
    let mut flows = Vec::new();
    for n in 0..8 {
        let flow = Flow::start(&fixture, "trip", &format!("k-{n}")).await;
        flow.drive(&|now| if now == "do s3" { None } else { Some(FinishOutcome::Done) }).await;
        flow.end_open("do s3", FinishOutcome::Rejected).await;
        flows.push(flow);
    }
    fixture.engine.advance_workflows().await.unwrap();
    for _ in 0..8 {
        // A wake at any time must not make two of one.
        sqlx::query("update workflows set next_at = onceover_now() where status = 'compensating'")
            .execute(fixture.pool())
            .await
            .unwrap();
        let all = join_all((0..4).map(|_| fixture.engine.unwind_due())).await;
        assert!(all.into_iter().all(|report| report.is_ok()));
        let under_way = "select coalesce(max(n), 0) from (select count(*) n from compensations
           where status = 'running' group by workflow_id) x";
        assert!(fixture.count(under_way).await <= 1, "one at a time");
        flows[0].drive(&done).await;
    }
    for flow in &flows {
        assert_eq!(flow.status().await, "compensated");
    }
    assert_eq!(fixture.count("select count(*) from compensations").await, 16);
    assert_eq!(fixture.count("select count(*) from operations where key like 'comp:%'").await, 16);
    undo_matches_do(&fixture).await;
}

#[tokio::test]
async fn a_step_is_not_undone_beside_its_workflow_while_that_is_under_way() {
    let fixture = stage(vec![trip(2)]).await;
    let flow = Flow::start(&fixture, "trip", "k").await;
    flow.drive(&|now| if now == "do s2" { None } else { Some(FinishOutcome::Done) }).await;
    let id: uuid::Uuid = sqlx::query_scalar("select id from operations where step_key = 's1'")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let id = domain::ids::OperationId::new(id);
    let refusal = compensate(&fixture, id).await.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::NotAllowedInState);
    assert!(refusal.detail.unwrap().contains("step of workflow"));
    flow.end_open("do s2", FinishOutcome::Done).await;
    flow.drive(&done).await;
    assert_eq!(flow.status().await, "completed");
    compensate(&fixture, id).await.unwrap();
}
