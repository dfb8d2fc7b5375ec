//! Executors outside: a step under a lease, and its end with what it brought forth (D31).

use std::time::Duration;

use domain::{ids::WorkflowId, problem::Code};
use engine::{
    ClaimedWork, FinishOutcome, Finished,
    store::artifact::{Artifact, MAX_ARTIFACT_BYTES},
    workflows::StepAdmission,
};

use super::support::{Flow, all_done, ended, input, line, stage};
use crate::fixture::{add_tenant, code};

async fn take(flow: &Flow<'_>, step: &str) -> StepAdmission {
    flow.engine.take_step(&flow.fixture.service, flow.id, step).await.unwrap()
}

async fn won(flow: &Flow<'_>, step: &str) -> ClaimedWork {
    match take(flow, step).await {
        StepAdmission::Won(work) => *work,
        other => panic!("not won: {other:?}"),
    }
}

fn artifact(name: &str, body: &[u8]) -> Artifact {
    Artifact { name: name.into(), content_type: "text/plain".into(), body: body.to_vec() }
}

#[tokio::test]
async fn a_step_is_taken_ended_and_found_again_with_its_artifacts() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let work = won(&flow, "mail").await;
    assert_eq!(work.key, format!("wf:{}:mail", flow.id));
    assert!(matches!(take(&flow, "mail").await, StepAdmission::InProgress { .. }));
    assert!(matches!(take(&flow, "charge").await, StepAdmission::NotReady));
    flow.do_effect(&work).await;
    let checkpoint = async |artifacts: Vec<Artifact>| {
        let end = ended(&work, FinishOutcome::Done);
        flow.engine.checkpoint(&fixture.service, flow.id, "mail", end, artifacts).await
    };
    let whole = vec![artifact("letter", b"Dear \xff\x00 customer"), artifact("log", b"sent")];
    let first = checkpoint(whole.clone()).await.unwrap();
    assert!(matches!(first, Finished::Done { .. }));
    assert_eq!(checkpoint(whole).await.unwrap(), first, "the same words, the same answer");
    let other = checkpoint(vec![artifact("letter", b"another")]).await;
    assert_eq!(code(other), Code::Unprocessable, "the first checkpoint stands");
    let kept = flow.engine.artifact(&fixture.service, flow.id, "mail", "letter").await.unwrap();
    assert_eq!(kept.body, b"Dear \xff\x00 customer");
    let view = flow.view().await;
    let names: Vec<_> = view.steps[0].artifacts.iter().map(|kept| kept.name.as_str()).collect();
    assert_eq!(names, ["letter", "log", "response"]);
    assert!(matches!(take(&flow, "mail").await, StepAdmission::Over(_)));
    let next = won(&flow, "charge").await;
    assert_eq!(next.operation, "invoice.charge", "ready now, without waiting for a turn");
}

#[tokio::test]
async fn an_executor_that_comes_back_takes_what_had_not_begun_and_waits_for_what_had() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let first = won(&flow, "mail").await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    let again = won(&flow, "mail").await;
    assert_eq!(again.id, first.id);
    assert!(again.fence > first.fence);
    flow.do_effect(&again).await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    assert!(matches!(take(&flow, "mail").await, StepAdmission::InProgress { .. }));
    fixture.engine.take_over_expired().await.unwrap();
    assert!(matches!(take(&flow, "mail").await, StepAdmission::OutcomeUnknown { .. }));
    let late = ended(&again, FinishOutcome::Done);
    let kept = vec![artifact("letter", b"x")];
    let late = flow.engine.checkpoint(&fixture.service, flow.id, "mail", late, kept).await.unwrap();
    assert!(matches!(late, Finished::LateEvidenceKept { .. }));
    assert_eq!(fixture.count("select count(*) from workflow_artifacts").await, 0);
}

#[tokio::test]
async fn a_step_that_failed_for_now_is_taken_again_at_its_time() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let work = won(&flow, "mail").await;
    flow.carry_out(&work, FinishOutcome::NotDone).await;
    assert!(matches!(take(&flow, "mail").await, StepAdmission::RetryLater { .. }));
    fixture.db.advance_clock(Duration::from_secs(60)).await;
    let again = won(&flow, "mail").await;
    assert_eq!(again.id, work.id);
    assert_eq!(flow.step("mail").await, "running");
}

#[tokio::test]
async fn artifacts_are_bounded_and_named_and_belong_to_what_was_done() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let work = won(&flow, "mail").await;
    flow.do_effect(&work).await;
    let checkpoint = async |outcome, artifacts: Vec<Artifact>| {
        let end = ended(&work, outcome);
        flow.engine.checkpoint(&fixture.service, flow.id, "mail", end, artifacts).await
    };
    let large = vec![b'x'; MAX_ARTIFACT_BYTES + 1];
    let done = FinishOutcome::Done;
    for (outcome, artifacts) in [
        (done, vec![artifact("a", &large)]),
        (done, vec![artifact("", b"")]),
        (done, vec![artifact("a\nb", b"")]),
        (done, vec![artifact("response", b"")]),
        (done, vec![artifact("decision", b"")]),
        (done, vec![artifact("a", b"1"), artifact("a", b"2")]),
        (done, vec![Artifact { content_type: "é".into(), ..artifact("a", b"") }]),
        (done, (0..101).map(|n| artifact(&n.to_string(), b"")).collect()),
        (FinishOutcome::Rejected, vec![artifact("a", b"")]),
    ] {
        assert_eq!(code(checkpoint(outcome, artifacts).await), Code::Unprocessable);
    }
    assert_eq!(fixture.status(work.id).await, "executing", "nothing was ended");
    checkpoint(done, vec![artifact("a", &large[1..])]).await.unwrap();
    let kept = flow.engine.artifact(&fixture.service, flow.id, "mail", "a").await.unwrap();
    assert_eq!(kept.body.len(), MAX_ARTIFACT_BYTES);
    flow.drive(&all_done).await;
    assert_eq!(flow.status().await, "completed");
}

#[tokio::test]
async fn an_answer_of_more_than_is_replayed_is_a_whole_artifact() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let work = won(&flow, "mail").await;
    flow.do_effect(&work).await;
    let mut end = ended(&work, FinishOutcome::Done);
    let body = vec![b'y'; 3 * 1024 * 1024];
    end.response.as_mut().unwrap().body.clone_from(&body);
    flow.engine.finish(&fixture.service, work.id, end).await.unwrap();
    let kept = flow.engine.artifact(&fixture.service, flow.id, "mail", "response").await.unwrap();
    assert!(kept.body == body, "{} bytes", kept.body.len());
    let cut = "select count(*) from operations where response_cut";
    assert_eq!(fixture.count(cut).await, 1);
}

#[tokio::test]
async fn a_workflow_of_another_tenant_or_token_is_none() {
    let fixture = stage(vec![line()]).await;
    let flow = Flow::start(&fixture, "line", "k", &input()).await;
    let engine = &flow.engine;
    let theirs = add_tenant(&fixture.db, engine, "globex").await;
    let invented = WorkflowId::new(uuid::Uuid::from_u128(7));
    for (by, id) in [(&theirs, flow.id), (&fixture.service, invented)] {
        assert_eq!(code(engine.workflow_for_service(by, id).await), Code::NotFound);
        assert_eq!(code(engine.take_step(by, id, "mail").await), Code::NotFound);
        assert_eq!(code(engine.artifact(by, id, "mail", "response").await), Code::NotFound);
        assert_eq!(code(engine.cancel_workflow(by, id, "x").await), Code::NotFound);
    }
    assert_eq!(code(engine.take_step(&fixture.service, flow.id, "none").await), Code::NotFound);
    assert_eq!(flow.status().await, "running");
}
