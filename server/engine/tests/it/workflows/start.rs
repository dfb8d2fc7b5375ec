//! Starting: once under (tenant, kind, key), by a version that stays.

use domain::{problem::Code, workflow::WorkflowState};
use engine::{
    RequestOrigin,
    workflows::{Begun, Definition, DefinitionError, Registry},
};

use super::support::{effect, line, stage};
use crate::fixture::{add_tenant, code};

#[tokio::test]
async fn the_same_input_is_the_same_workflow_and_another_is_refused() {
    let fixture = stage(vec![line()]).await;
    let start = async |input: &str| {
        let (engine, service) = (&fixture.engine, &fixture.service);
        engine.start_workflow(service, "line", "k", input.as_bytes()).await.unwrap()
    };
    let Begun::Fresh(id) = start(r#"{"invoice_id":"INV-1","n":1.10}"#).await else { panic!() };
    let again = start(r#"{ "n": 1.1, "invoice_id": "INV-1" }"#).await;
    assert_eq!(again, Begun::Known(id, WorkflowState::Running));
    assert_eq!(start(r#"{"invoice_id":"INV-2","n":1.1}"#).await, Begun::Reused(id));
    assert_eq!(fixture.count("select count(*) from workflows").await, 1);
    assert_eq!(fixture.count("select count(*) from workflow_steps").await, 3);
}

#[tokio::test]
async fn of_twenty_starts_at_once_one_is_the_first_and_the_timeline_tells_of_no_other() {
    let fixture = stage(vec![line()]).await;
    let starts = (0..20).map(|_| {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        tokio::spawn(async move { engine.start_workflow(&service, "line", "k", b"{}").await })
    });
    let mut fresh = 0;
    for start in starts.collect::<Vec<_>>() {
        match start.await.unwrap().unwrap() {
            Begun::Fresh(_) => fresh += 1,
            Begun::Known(..) => {}
            Begun::Reused(_) => panic!("the same input"),
        }
    }
    assert_eq!(fresh, 1);
    let told = "select count(*) from machine_events where rule = 'W1'";
    assert_eq!(fixture.count(told).await, 1);
}

#[tokio::test]
async fn what_cannot_be_started_is_refused_and_leaves_nothing() {
    let other = Definition::of("other", 1).step("a", effect("payroll.pay")).build().unwrap();
    let fixture = stage(vec![line(), other]).await;
    let start = async |kind: &str, key: &str, input: &str| {
        let (engine, service) = (&fixture.engine, &fixture.service);
        code(engine.start_workflow(service, kind, key, input.as_bytes()).await)
    };
    assert_eq!(start("no such thing", "k", "{}").await, Code::KindUnknown);
    assert_eq!(start("other", "k", "{}").await, Code::KindUnknown, "the tenant cannot pay");
    assert_eq!(start("line", "", "{}").await, Code::KeyMissing);
    assert_eq!(start("line", "wf:1", "{}").await, Code::KeyReserved);
    assert_eq!(start("line", &"k".repeat(513), "{}").await, Code::KeyInvalid);
    assert_eq!(start("line", "k", r#"{"a":1,"a":2}"#).await, Code::PayloadInvalid);
    assert_eq!(start("line", "k", "{").await, Code::PayloadInvalid);
    assert_eq!(fixture.count("select count(*) from workflows").await, 0);
    assert_eq!(fixture.count("select count(*) from machine_events").await, 0);
}

#[tokio::test]
async fn a_key_belongs_to_its_tenant_and_a_token_to_its_operations() {
    let fixture = stage(vec![line()]).await;
    let engine = &fixture.engine;
    let first = engine.start_workflow(&fixture.service, "line", "k", b"{}").await.unwrap();
    let theirs = add_tenant(&fixture.db, engine, "globex").await;
    let mut admin = engine::identity::Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(theirs.tenant_id(), &super::support::publish()).await.unwrap();
    let second = engine.start_workflow(&theirs, "line", "k", b"{}").await.unwrap();
    assert!(matches!((first, second), (Begun::Fresh(a), Begun::Fresh(b)) if a != b));
    let kinds = ["campaign.send".to_owned()];
    let token = admin.add_service_token("acme", "mailer", &kinds, None).await.unwrap();
    let Some(engine::Caller::Service(mailer)) =
        engine.caller_by_bearer(&token, RequestOrigin::here("r-3")).await.unwrap()
    else {
        panic!()
    };
    let charged = engine.start_workflow(&mailer, "line", "other", b"{}").await;
    assert_eq!(code(charged), Code::TokenScope, "a mailer's token charges nobody");
}

#[test]
fn a_version_is_registered_once() {
    let twice = Registry::new(&[line(), line()]);
    assert_eq!(twice.unwrap_err(), DefinitionError::Twice("line".into(), 1));
}
