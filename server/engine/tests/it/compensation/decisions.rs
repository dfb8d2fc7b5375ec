//! People decide about undos on the common path: the right, the version, two people where money
//! moves, one receipt, and the same receipt again (A1 to A6, C1, C9, C10, CP).

use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    compensation::CompensationState,
    ids::{CompensationId, OperationId},
    problem::Code,
};
use engine::{
    Acted, ActionRequest, Decided, EngineError, FinishOutcome, Settling, StaffCaller,
    store::kind::KindPolicy,
};

use super::{
    flows::{Flow, done as all_done, stage, trip},
    support::{
        charged, do_undo, fixture, link, link_state, put_kind, refund, told, undoable_charge,
    },
};
use crate::{
    evidence::{done as says_done, webhook},
    fixture::{Fixture, action, asked, charge, code, done, finish, mail_request, won},
};

const UNDOS: &str = "select count(*) from operations where key like 'comp:%'";
const REQUESTS: &str = "select count(*) from approvals";

/// One who asks and one who may agree.
pub async fn people(fixture: &Fixture) -> (StaffCaller, StaffCaller) {
    let operator = fixture.person("operator", Role::Operator).await;
    (operator, fixture.person("ada", Role::Approver).await)
}

async fn version(fixture: &Fixture, id: OperationId) -> i64 {
    fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version
}

async fn compensate(fixture: &Fixture, id: OperationId) -> ActionRequest {
    action(id, Verb::Compensate, version(fixture, id).await)
}

pub fn on(id: CompensationId, verb: Verb, version: i64) -> ActionRequest {
    let target = Subject::new(TargetType::Compensation, id.to_string());
    ActionRequest::new(target, verb, version, "the account is mended")
}

/// Asked for by one, agreed to by the other.
async fn by_two(
    fixture: &Fixture,
    (one, other): &(StaffCaller, StaffCaller),
    request: ActionRequest,
) -> Result<Acted, EngineError> {
    let request = asked(fixture.engine.act(one, request).await);
    fixture.engine.approve(other, request.id, Settling::default()).await
}

async fn only_link(fixture: &Fixture) -> CompensationId {
    let id = sqlx::query_scalar("select id from compensations").fetch_one(fixture.pool()).await;
    CompensationId::new(id.unwrap())
}

async fn only_undo(fixture: &Fixture, id: CompensationId) -> OperationId {
    link(fixture, id).await.undo_id.unwrap()
}

/// A refund by two people that the provider rejected, and its version.
pub async fn failed(
    fixture: &Fixture,
    people: &(StaffCaller, StaffCaller),
) -> (CompensationId, i64) {
    let id = charged(fixture, "k").await;
    by_two(fixture, people, compensate(fixture, id).await).await.unwrap();
    let link_id = only_link(fixture).await;
    let undo = only_undo(fixture, link_id).await;
    do_undo(fixture, undo, "invoice.refund", FinishOutcome::Rejected).await;
    (link_id, link(fixture, link_id).await.version)
}

#[tokio::test]
async fn money_goes_back_only_when_a_second_person_agrees_and_then_once() {
    let fixture = fixture().await;
    let people = people(&fixture).await;
    let (operator, ada) = &people;
    let id = charged(&fixture, "k").await;
    let part = ActionRequest {
        amount_minor: Some(5_000),
        currency: Some("EUR".into()),
        ..compensate(&fixture, id).await
    };
    let request = asked(fixture.engine.act(operator, part.clone()).await);
    assert_eq!(request.amount.as_ref().map(|money| money.amount_minor), Some(5_000));
    assert_eq!(fixture.count(UNDOS).await, 0, "nothing but the request was written");
    let denied = fixture.engine.approve(operator, request.id, Settling::default()).await;
    assert_eq!(code(denied), Code::PermissionMissing);

    let agreed = fixture.engine.approve(ada, request.id, Settling::default()).await.unwrap();
    assert_eq!(agreed.receipt.amount.as_ref().map(|money| money.amount_minor), Some(5_000));
    assert_eq!(agreed.receipt.approved_by.as_ref().map(|by| by.actor.as_str()), Some("ada"));
    let undo = only_undo(&fixture, only_link(&fixture).await).await;
    assert!(agreed.receipt.followed[0].contains(&undo.to_string()));
    assert_eq!(agreed.receipt.before, agreed.receipt.after, "what happened stays so");

    let again = fixture.engine.approve(ada, request.id, Settling::default()).await.unwrap();
    let resent = done(fixture.engine.act(operator, part.clone()).await);
    for replayed in [again, resent] {
        assert!(replayed.replayed);
        assert_eq!(replayed.receipt.id, agreed.receipt.id);
    }
    let all = ActionRequest { amount_minor: None, currency: None, ..part };
    assert_eq!(code(fixture.engine.act(operator, all).await), Code::DecidedOtherwise);
    let five = "select count(*) from operations where key like 'comp:%' and amount_minor = 5000";
    assert_eq!((fixture.count(UNDOS).await, fixture.count(five).await), (1, 1));
    let plan = fixture.engine.compensation_plan(operator, id).await.unwrap();
    assert_eq!(plan.undone[0].undo.as_ref().and_then(|shown| shown.undo_id), Some(undo));
}

#[tokio::test]
async fn nobody_is_asked_to_agree_to_what_cannot_be_undone() {
    let fixture = fixture().await;
    let (operator, _) = people(&fixture).await;
    let engine = &fixture.engine;
    // A mail.
    let (mail, fence) = won(engine.reserve(&fixture.service, mail_request("m")).await.unwrap());
    engine.start(&fixture.service, mail, fence).await.unwrap();
    let sent = finish(fence, FinishOutcome::Done, Some("msg_1"));
    engine.finish(&fixture.service, mail, sent).await.unwrap();
    let refused = engine.act(&operator, compensate(&fixture, mail).await).await;
    let refusal = refused.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::NotAllowedInState);
    assert!(refusal.detail.unwrap().starts_with("Nothing can undo campaign.send"));
    // More than was taken.
    let id = charged(&fixture, "k").await;
    let much = ActionRequest {
        amount_minor: Some(12_901),
        currency: Some("EUR".into()),
        ..compensate(&fixture, id).await
    };
    assert_eq!(code(engine.act(&operator, much).await), Code::Unprocessable);
    // What did not happen.
    let (rejected, fence) = fixture.executing("rejected").await;
    fixture.finish(rejected, fence, FinishOutcome::Rejected, None).await.unwrap();
    let refused = engine.act(&operator, compensate(&fixture, rejected).await).await;
    assert_eq!(code(refused), Code::NotAllowedInState);
    // A version that has moved on; somebody who may only look.
    let stale = ActionRequest { version: 1, ..compensate(&fixture, id).await };
    assert_eq!(code(engine.act(&operator, stale).await), Code::Stale);
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let denied = engine.act(&viewer, compensate(&fixture, id).await).await;
    assert_eq!(code(denied), Code::PermissionMissing);
    // Money whose kind declares no undo.
    put_kind(&fixture, &charge()).await;
    let refused = engine.act(&operator, compensate(&fixture, id).await).await;
    assert_eq!(code(refused), Code::NotAllowedInState);
    assert_eq!((fixture.count(REQUESTS).await, fixture.count(UNDOS).await), (0, 0));
    let denied = "select count(*) from audit where action = 'compensate' and result = 'denied'";
    assert_eq!(fixture.count(denied).await, 6, "each refusal stands in the log");
}

#[tokio::test]
async fn what_moves_no_money_is_undone_by_one_person() {
    let fixture = fixture().await;
    let (operator, _) = people(&fixture).await;
    let free = |policy: KindPolicy| KindPolicy {
        money: false,
        amount_pointer: None,
        currency_pointer: None,
        approval_threshold_minor: None,
        ..policy
    };
    put_kind(&fixture, &free(refund())).await;
    put_kind(&fixture, &free(undoable_charge())).await;
    let id = charged(&fixture, "k").await;
    let acted = done(fixture.engine.act(&operator, compensate(&fixture, id).await).await);
    assert!(acted.receipt.approved_by.is_none());
    assert_eq!(fixture.count(UNDOS).await, 1);
}

#[tokio::test]
async fn a_failed_refund_is_tried_again_by_two_people_once() {
    let fixture = fixture().await;
    let people = people(&fixture).await;
    let (link_id, version) = failed(&fixture, &people).await;
    let stale = fixture.engine.act(&people.0, on(link_id, Verb::Retry, version - 1)).await;
    assert_eq!(code(stale), Code::Stale);
    let acted = by_two(&fixture, &people, on(link_id, Verb::Retry, version)).await.unwrap();
    assert_eq!(acted.receipt.before.status.as_str(), "failed");
    assert_eq!(acted.receipt.after.status.as_str(), "running");
    let again = done(fixture.engine.act(&people.0, on(link_id, Verb::Retry, version)).await);
    assert!(again.replayed);
    assert_eq!(again.receipt.id, acted.receipt.id);
    assert_eq!(fixture.count(UNDOS).await, 2, "the one that failed, and one more");
    let running = on(link_id, Verb::Accept, link(&fixture, link_id).await.version);
    assert_eq!(code(fixture.engine.act(&people.0, running).await), Code::NotAllowedInState);
}

#[tokio::test]
async fn nobody_is_asked_to_agree_to_a_refund_that_may_have_happened() {
    let fixture = fixture().await;
    let people = people(&fixture).await;
    let (link_id, version) = failed(&fixture, &people).await;
    let undo = only_undo(&fixture, link_id).await;
    webhook(&fixture, &says_done("evt_1", &undo.to_string(), "re_9", 12_900)).await;
    let before = fixture.count(REQUESTS).await;
    let refused = fixture.engine.act(&people.0, on(link_id, Verb::Retry, version)).await;
    assert_eq!(code(refused), Code::ProviderContradicts);
    assert_eq!((fixture.count(REQUESTS).await, fixture.count(UNDOS).await), (before, 1));
}

#[tokio::test]
async fn accepting_is_one_persons_word_with_its_receipt_and_its_event() {
    let fixture = fixture().await;
    let people = people(&fixture).await;
    let (link_id, version) = failed(&fixture, &people).await;
    let accept = on(link_id, Verb::Accept, version);
    let acted = done(fixture.engine.act(&people.0, accept.clone()).await);
    assert_eq!(acted.receipt.after.status.as_str(), "accepted_undone_not");
    assert_eq!(link_state(&fixture, link_id).await, CompensationState::AcceptedUndoneNot);
    assert!(done(fixture.engine.act(&people.0, accept).await).replayed);
    let forward = link(&fixture, link_id).await.operation_id.to_string();
    let told = told(&fixture, &forward).await;
    assert_eq!(told, ["compensation.failed", "compensation.accepted_undone_not"]);
    let other = crate::fixture::add_tenant(&fixture.db, &fixture.engine, "other").await;
    assert_ne!(other.tenant_id(), fixture.service.tenant_id());
    let stranger =
        crate::fixture::person(&fixture.db, &fixture.engine, "other", "eve", Role::Approver).await;
    let foreign = fixture.engine.act(&stranger, on(link_id, Verb::Accept, version)).await;
    assert_eq!(code(foreign), Code::NotFound);
}

#[tokio::test]
async fn the_steps_before_a_stuck_one_are_undone_without_it_by_one_persons_word() {
    let fixture = stage(vec![trip(3)]).await;
    let (operator, _) = people(&fixture).await;
    for outcome in [FinishOutcome::Rejected, FinishOutcome::Ambiguous] {
        let flow = Flow::start(&fixture, "trip", &format!("{outcome:?}")).await;
        flow.drive(&|now| match now {
            "do s3" => Some(FinishOutcome::Rejected),
            "undo s2" => Some(outcome),
            _ => Some(FinishOutcome::Done),
        })
        .await;
        fixture.engine.reconcile_due().await.unwrap();
        flow.drive(&all_done).await;
        assert_eq!(flow.status().await, "compensation_stuck");
        let undo = flow.undo("s2").await.unwrap();
        let request = on(undo.id, Verb::Continue, undo.version);
        let acted = done(fixture.engine.act(&operator, request.clone()).await);
        assert_eq!(acted.receipt.before.status, acted.receipt.after.status, "its state stays true");
        assert!(done(fixture.engine.act(&operator, request).await).replayed);
        let passed = on(undo.id, Verb::Continue, acted.receipt.after.version);
        assert_eq!(code(fixture.engine.act(&operator, passed).await), Code::NotAllowedInState);
        flow.drive(&all_done).await;
        assert_eq!(flow.status().await, "closed_partial");
        assert_eq!(flow.ledger(), ["do s1", "do s2", "undo s1"]);
        let page = fixture.engine.workflow(&operator, flow.id).await.unwrap();
        assert!(page.plan.partial, "the page of the workflow says that something stays done");
        assert!(page.plan.undone[0].undo.as_ref().is_some_and(|undo| undo.passed));
    }
}

#[tokio::test]
async fn ten_clicks_of_two_people_accept_once() {
    let fixture = fixture().await;
    let people = people(&fixture).await;
    let (link_id, version) = failed(&fixture, &people).await;
    let clicks = (0..10).map(|n| {
        let by = if n % 2 == 0 { &people.0 } else { &people.1 };
        fixture.engine.act(by, on(link_id, Verb::Accept, version))
    });
    let decided = super::support::join_all(clicks).await;
    let fresh = decided.into_iter().filter_map(|one| one.ok().and_then(Decided::done));
    assert_eq!(fresh.filter(|acted| !acted.replayed).count(), 1);
    let moves =
        "select count(*) from machine_events where machine = 'compensation' and rule = 'C10'";
    assert_eq!(fixture.count(moves).await, 1);
}
