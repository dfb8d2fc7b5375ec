//! What becomes of a request by what the forward operation is: never an undo before its do (D34).

use domain::{compensation::CompensationState, problem::Code};
use engine::{Admission, FinishOutcome};
use serde_json::Value;

use super::support::{
    as_console, charged, compensate, do_undo, fixture, join_all, link, link_state, operator, told,
    unwind,
};
use crate::fixture::{code, finish, mail_request, won};

#[tokio::test]
async fn a_charge_that_happened_is_undone_once_by_its_own_operation() {
    let fixture = fixture().await;
    let id = charged(&fixture, "k").await;
    let asked = compensate(&fixture, id).await.unwrap();
    assert_eq!(asked.status, CompensationState::Running);
    let undo = asked.undo.unwrap();
    let (key, payload): (String, Vec<u8>) =
        sqlx::query_as("select key, payload from operations where id = $1")
            .bind(undo.uuid())
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    assert_eq!(key, format!("comp:{id}:invoice.refund:1"));
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    let expected = serde_json::json!({
        "invoice_id": "INV-1", "amount_minor": 12900, "currency": "EUR", "charge_id": "ch_k",
    });
    assert_eq!(payload, expected, "the members of what is undone, and its reference");
    let refused = compensate(&fixture, id).await;
    assert_eq!(code(refused), Code::NotAllowedInState, "under way: never a second one");
    do_undo(&fixture, undo, "invoice.refund", FinishOutcome::Done).await;
    assert_eq!(link_state(&fixture, asked.link).await, CompensationState::Compensated);
    assert_eq!(code(compensate(&fixture, id).await), Code::NotAllowedInState, "undone: for ever");
    assert_eq!(fixture.status(id).await, "succeeded", "what happened stays recorded as such");
    assert_eq!(told(&fixture, &id.to_string()).await, ["compensation.compensated"]);
}

#[tokio::test]
async fn what_nothing_can_undo_is_refused_in_words() {
    let fixture = fixture().await;
    let admission = fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap();
    let (id, fence) = won(admission);
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let sent = finish(fence, FinishOutcome::Done, Some("msg_1"));
    fixture.engine.finish(&fixture.service, id, sent).await.unwrap();
    let refusal = compensate(&fixture, id).await.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::NotAllowedInState);
    assert!(refusal.detail.unwrap().starts_with("Nothing can undo campaign.send"));
    assert_eq!(fixture.count("select count(*) from compensations").await, 0);
}

#[tokio::test]
async fn what_has_not_begun_is_cancelled_instead_of_undone() {
    let fixture = fixture().await;
    let (id, fence) = won(fixture.reserve("k").await);
    let asked = compensate(&fixture, id).await.unwrap();
    assert_eq!((asked.status, asked.undo), (CompensationState::NotNeeded, None));
    assert_eq!(fixture.status(id).await, "failed_terminal");
    let refused = fixture.engine.start(&fixture.service, id, fence).await;
    assert_eq!(code(refused), Code::FenceLost, "its holder cannot begin any more");

    // What failed and would be tried again is given up.
    let (id, fence) = fixture.executing("again").await;
    fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
    let asked = compensate(&fixture, id).await.unwrap();
    assert_eq!(asked.status, CompensationState::NotNeeded);
    assert_eq!(fixture.status(id).await, "failed_terminal");
    assert_eq!(fixture.count("select count(*) from operations where key like 'comp:%'").await, 0);
}

#[tokio::test]
async fn an_undo_waits_until_it_is_known_whether_there_is_anything_to_undo() {
    let fixture = fixture().await;
    for (key, outcome, expected) in [
        ("done", FinishOutcome::Done, CompensationState::Running),
        ("rejected", FinishOutcome::Rejected, CompensationState::NotNeeded),
        ("not-done", FinishOutcome::NotDone, CompensationState::NotNeeded),
    ] {
        let (id, fence) = fixture.executing(key).await;
        let asked = compensate(&fixture, id).await.unwrap();
        assert_eq!(asked.status, CompensationState::WaitingForward, "{key}");
        unwind(&fixture).await;
        assert_eq!(link_state(&fixture, asked.link).await, CompensationState::WaitingForward);
        assert_eq!(fixture.status(id).await, "executing", "what is under way is not touched");
        fixture.finish(id, fence, outcome, Some("ch_1")).await.unwrap();
        unwind(&fixture).await;
        let link = link(&fixture, asked.link).await;
        assert_eq!(link.status, expected, "{key}");
        assert_eq!(link.undo_id.is_some(), expected == CompensationState::Running);
    }
}

#[tokio::test]
async fn an_unknown_charge_is_undone_only_once_a_person_found_that_it_happened() {
    use crate::fixture::happened;
    let fixture = fixture().await;
    let (id, version) = fixture.needs_person("k").await;
    let asked = compensate(&fixture, id).await.unwrap();
    assert_eq!(asked.status, CompensationState::WaitingForward);
    unwind(&fixture).await;
    assert_eq!(fixture.count("select count(*) from operations where key like 'comp:%'").await, 0);
    let operator = fixture.person("op", domain::access::Role::Operator).await;
    fixture.engine.act(&operator, happened(id, version, "ch_found")).await.unwrap();
    unwind(&fixture).await;
    assert_eq!(link_state(&fixture, asked.link).await, CompensationState::Running);
    let named = "select count(*) from operations where key like 'comp:%'
      and convert_from(payload, 'utf8')::jsonb ->> 'charge_id' = 'ch_found'";
    assert_eq!(fixture.count(named).await, 1);
}

#[tokio::test]
async fn what_is_to_be_undone_is_not_tried_again_meanwhile() {
    let fixture = fixture().await;
    let (id, fence) = fixture.executing("k").await;
    let asked = compensate(&fixture, id).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
    fixture.db.advance_clock(std::time::Duration::from_secs(3600)).await;
    let kinds = ["invoice.charge".to_owned()];
    let work = fixture.engine.claim(&fixture.service, &kinds, 10, None).await.unwrap();
    assert!(work.is_empty(), "no worker gets it (O13)");
    assert!(matches!(fixture.reserve("k").await, Admission::InProgress { .. }), "nor its client");
    unwind(&fixture).await;
    assert_eq!(link_state(&fixture, asked.link).await, CompensationState::NotNeeded);
    assert!(matches!(fixture.reserve("k").await, Admission::FailedTerminal { .. }));
}

#[tokio::test]
async fn four_unwinders_and_ten_people_at_once_make_one_undo() {
    let fixture = fixture().await;
    for round in 0..10 {
        let key = format!("k-{round}");
        let (id, fence) = fixture.executing(&key).await;
        let asked = compensate(&fixture, id).await.unwrap();
        fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
        let unwinders = (0..4).map(|_| fixture.engine.unwind_due());
        let people = (0..10).map(|_| compensate(&fixture, id));
        let (unwound, refused) = tokio::join!(join_all(unwinders), join_all(people));
        assert!(unwound.into_iter().all(|report| report.is_ok()));
        assert!(refused.into_iter().all(|refused| refused.is_err()));
        assert_eq!(link_state(&fixture, asked.link).await, CompensationState::Running);
    }
    assert_eq!(fixture.count("select count(*) from operations where key like 'comp:%'").await, 10);
    assert_eq!(fixture.count("select count(*) from compensation_undos").await, 10);
}

#[tokio::test]
async fn another_tenants_operation_is_not_there() {
    let fixture = fixture().await;
    let other = crate::fixture::add_tenant(&fixture.db, &fixture.engine, "other").await;
    let id = charged(&fixture, "k").await;
    let target = engine::store::Target { tenant: other.tenant_id(), id };
    let refused = as_console(&fixture, async |db: &mut sqlx::PgConnection| {
        let ask =
            engine::compensation::UndoRequest { target, version: None, amount: None, reason: "no" };
        engine::compensation::request_in(db, fixture.engine.settings(), &operator(), &ask).await
    })
    .await;
    assert_eq!(code(refused), Code::NotFound);
}

#[tokio::test]
async fn what_was_called_failed_and_is_corrected_to_happened_is_undone_by_the_corrected_reference()
{
    let fixture = fixture().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Rejected, None).await.unwrap();
    let nothing = compensate(&fixture, id).await.unwrap().status;
    assert_eq!(nothing, CompensationState::NotNeeded, "nothing happened, as far as is known");
    sqlx::query(
        "insert into corrections (tenant_id, operation_id, happened, external_reference, reason, corrected_by,
           approved_by, approval_id)
         select tenant_id, id, true, 'ch_found', 'it stands on their statement', 'ada', 'ben', gen_random_uuid()
         from operations where id = $1",
    )
    .bind(id.uuid())
    .execute(fixture.pool())
    .await
    .unwrap();
    let asked = compensate(&fixture, id).await.unwrap();
    assert_eq!(asked.status, CompensationState::Running);
    let undo = asked.undo.unwrap();
    let payload: Vec<u8> = sqlx::query_scalar("select payload from operations where id = $1")
        .bind(undo.uuid())
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    let payload: Value = serde_json::from_slice(&payload).unwrap();
    assert_eq!(payload["charge_id"], "ch_found");
    do_undo(&fixture, undo, "invoice.refund", FinishOutcome::Done).await;
    assert_eq!(link_state(&fixture, asked.link).await, CompensationState::Compensated);
    assert_eq!(
        fixture.status(id).await,
        "failed_terminal",
        "the state stays; the record says more"
    );
}
