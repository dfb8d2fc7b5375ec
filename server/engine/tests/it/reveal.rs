//! Masked fields are revealed by right, with a reason, to one person, for five minutes, and never
//! without a trace; the trace holds no value (T33).

use std::time::Duration;

use domain::{
    access::Role,
    action::{Subject, TargetType},
    ids::{OperationId, RevealId},
    problem::Code,
};
use engine::{EngineError, FinishOutcome, StaffCaller, console::AskReveal};
use serde_json::Value;

use crate::fixture::{Fixture, add_tenant, code, finish, person, won};

const CARD: &str = "4111111111111111";
const PAYLOAD: &str =
    r#"{"invoice_id":"INV-1","amount_minor":12900,"currency":"EUR","card":"4111111111111111"}"#;
const REVEALS: &str = "select count(*) from reveals";
const DONE: &str = "select count(*) from audit where action = 'reveal' and result = 'done'";
const DENIED: &str = "select count(*) from audit where action = 'reveal' and result = 'denied'";
const LOOKED: &str =
    "select count(*) from audit where action = 'read_reveal' and result = 'denied'";

fn ask(id: OperationId, form_key: &str) -> AskReveal {
    AskReveal {
        target: id.into(),
        artifact: None,
        form_key: form_key.into(),
        reason: "the bank asks which card it was".into(),
    }
}

/// A charge with a card in its payload and in its answer.
async fn charged(fixture: &Fixture) -> OperationId {
    let (id, fence) = won(fixture.reserve_as("k", PAYLOAD).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let answer = engine::StoredAnswer {
        status: 200,
        content_type: "application/json".into(),
        body: format!(r#"{{"card":"{CARD}","status":"paid"}}"#).into_bytes(),
        cut: false,
    };
    let finish = engine::Finish {
        response: Some(answer),
        events: vec![engine::NewEvent {
            aggregate: "INV-1".into(),
            topic: "invoice.paid".into(),
            payload: format!(r#"{{"data":{{"card":"{CARD}"}}}}"#).into_bytes(),
        }],
        ..finish(fence, FinishOutcome::Done, Some("ch_1"))
    };
    fixture.engine.finish(&fixture.service, id, finish).await.unwrap();
    id
}

async fn reveal(
    fixture: &Fixture,
    by: &StaffCaller,
    id: OperationId,
    form_key: &str,
) -> Result<RevealId, EngineError> {
    fixture.engine.reveal(by, ask(id, form_key)).await.map(|revealed| revealed.id)
}

#[tokio::test]
async fn an_approver_reads_what_was_masked_and_the_log_names_the_fields_and_no_value() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let masked = fixture.engine.masked_fields(&ada, &id.into(), None).await.unwrap();
    assert_eq!(masked.pointers, ["payload/card", "answer/card"]);
    let granted = reveal(&fixture, &ada, id, "form-1").await.unwrap();
    let shown = fixture.engine.revealed(&ada, granted).await.unwrap();
    let bodies = shown.bodies.unwrap();
    assert_eq!(bodies.len(), 2);
    for body in &bodies {
        assert_eq!(body.fields[0].pointer, "/card");
        assert_eq!(body.fields[0].value, format!("\"{CARD}\""));
        assert!(body.text.contains(CARD) && !body.cut);
    }
    let (reason, after): (String, Value) = sqlx::query_as(
        "select reason, after from audit where action = 'reveal' and result = 'done'",
    )
    .fetch_one(fixture.pool())
    .await
    .unwrap();
    assert_eq!(reason, "the bank asks which card it was");
    assert_eq!(after["pointers"], serde_json::json!(["payload/card", "answer/card"]));
    let canary =
        "select count(*) from audit where before::text || after::text || reason like '%4111%'";
    assert_eq!(fixture.count(canary).await, 0);
    let canary = "select count(*) from reveals r where r::text like '%4111%'";
    assert_eq!(fixture.count(canary).await, 0);
}

#[tokio::test]
async fn the_same_form_is_one_reveal_and_its_time_ends() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let first = fixture.engine.reveal(&ada, ask(id, "form-1")).await.unwrap();
    let again = fixture.engine.reveal(&ada, ask(id, "form-1")).await.unwrap();
    assert_eq!((again.id, first.replayed, again.replayed), (first.id, false, true));
    assert_eq!((fixture.count(REVEALS).await, fixture.count(DONE).await), (1, 1));
    fixture.db.advance_clock(Duration::from_secs(301)).await;
    let over = fixture.engine.revealed(&ada, first.id).await.unwrap();
    assert_eq!(over.bodies, None, "loaded again, it shows nothing");
    assert_eq!(code(reveal(&fixture, &ada, id, "form-1").await), Code::Unprocessable);
    assert_eq!((fixture.count(REVEALS).await, fixture.count(DONE).await), (1, 1));
    reveal(&fixture, &ada, id, "form-2").await.unwrap();
    assert_eq!(fixture.count(DONE).await, 2);
}

#[tokio::test]
async fn whoever_lacks_the_right_another_person_and_another_tenant_see_nothing() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let granted = reveal(&fixture, &ada, id, "form-1").await.unwrap();
    for (name, role) in
        [("vic", Role::Viewer), ("olga", Role::Operator), ("adam", Role::TenantAdmin)]
    {
        let person = fixture.person(name, role).await;
        assert_eq!(code(reveal(&fixture, &person, id, "f").await), Code::PermissionMissing);
        assert_eq!(code(fixture.engine.revealed(&person, granted).await), Code::PermissionMissing);
    }
    assert_eq!((fixture.count(DENIED).await, fixture.count(LOOKED).await), (3, 3));
    let ben = fixture.person("ben", Role::Approver).await;
    assert_eq!(code(fixture.engine.revealed(&ben, granted).await), Code::NotFound);
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let gil = person(&fixture.db, &fixture.engine, "globex", "gil", Role::Approver).await;
    assert_eq!(code(reveal(&fixture, &gil, id, "f").await), Code::NotFound);
    assert_eq!(code(fixture.engine.revealed(&gil, granted).await), Code::NotFound);
    assert_eq!(fixture.count(LOOKED).await, 5, "each in the log of their own tenant");
    fixture.engine.revealed(&ada, granted).await.unwrap();
    assert_eq!(fixture.count(LOOKED).await, 5);
    assert_eq!(fixture.count(REVEALS).await, 1);
}

#[tokio::test]
async fn without_its_audit_row_nothing_is_revealed() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let ada = fixture.person("ada", Role::Approver).await;
    sqlx::query("revoke execute on function audit_add from onceover_app")
        .execute(fixture.pool())
        .await
        .unwrap();
    assert!(reveal(&fixture, &ada, id, "form-1").await.is_err());
    assert_eq!(fixture.count(REVEALS).await, 0);
}

#[tokio::test]
async fn a_reason_is_asked_for_and_what_is_not_there_is_not_revealed() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let mute = AskReveal { reason: "  ".into(), ..ask(id, "f") };
    assert_eq!(code(fixture.engine.reveal(&ada, mute).await), Code::Unprocessable);
    let keyless = AskReveal { form_key: String::new(), ..ask(id, "f") };
    assert_eq!(code(fixture.engine.reveal(&ada, keyless).await), Code::Unprocessable);
    let (plain, _) = won(fixture.reserve("plain").await);
    assert_eq!(code(reveal(&fixture, &ada, plain, "g").await), Code::NotAllowedInState);
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(Duration::from_secs(86_401)).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(code(reveal(&fixture, &ada, id, "h").await), Code::Tombstoned);
    assert_eq!(fixture.count(REVEALS).await, 0);
}

#[tokio::test]
async fn an_event_is_revealed_by_the_rules_of_what_it_tells_of() {
    let fixture = Fixture::new().await;
    let id = charged(&fixture).await;
    let event: uuid::Uuid =
        sqlx::query_scalar("select id from outbox where topic = 'invoice.paid'")
            .fetch_one(fixture.pool())
            .await
            .unwrap();
    let ada = fixture.person("ada", Role::Approver).await;
    let page = fixture.engine.event(&ada, domain::ids::EventId::new(event)).await.unwrap();
    assert!(!page.payload.text.contains(CARD), "{}", page.payload.text);
    let target = Subject::new(TargetType::Outbox, event.to_string());
    let asked = AskReveal { target, ..ask(id, "f") };
    let granted = fixture.engine.reveal(&ada, asked).await.unwrap();
    let shown = fixture.engine.revealed(&ada, granted.id).await.unwrap();
    assert_eq!(shown.pointers, ["payload/data/card"]);
    assert!(shown.bodies.unwrap()[0].text.contains(CARD));
}
