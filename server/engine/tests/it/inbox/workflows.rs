//! A message that starts a workflow: in its own transaction, once, within what its token covers.

use domain::{inbox::InboxState, problem::Code};
use engine::{Caller, ReceiveMessage, RequestOrigin, identity::Admin};

use crate::{
    fixture::{Fixture, code},
    workflows::support::{line, stage},
};

const LINE: &str = r#"{"workflow":{"kind":"line"}}"#;

async fn flows(fixture: &Fixture) -> i64 {
    fixture.count("select count(*) from workflows").await
}

#[tokio::test]
async fn twenty_deliveries_at_once_start_one_workflow() {
    let fixture = stage(vec![line()]).await;
    let message = ReceiveMessage { then: Some(LINE.into()), ..fixture.message("m-1").await };
    let all = futures_util::future::join_all((0..20).map(|_| fixture.receive(&message))).await;
    let ids: Vec<_> = all.into_iter().map(|received| received.unwrap().workflow_id).collect();
    assert!(ids[0].is_some() && ids.iter().all(|id| *id == ids[0]));
    assert_eq!(flows(&fixture).await, 1);
    let derived = "select count(*) from workflows where key like 'in:billing:%'";
    assert_eq!(fixture.count(derived).await, 1);
}

#[tokio::test]
async fn a_key_or_a_kind_that_does_not_fit_starts_nothing() {
    let fixture = stage(vec![line()]).await;
    let keyed = r#"{"workflow":{"kind":"line","key":"order-1"}}"#;
    let first = ReceiveMessage { then: Some(keyed.into()), ..fixture.message("m-1").await };
    fixture.expect(&first, InboxState::Processed).await;
    let same = ReceiveMessage { message_id: "m-2".into(), ..first.clone() };
    let known = fixture.expect(&same, InboxState::Processed).await;
    assert!(known.workflow_id.is_some());
    let other = ReceiveMessage { message_id: "m-3".into(), payload: b"{}".into(), ..first.clone() };
    assert_eq!(code(fixture.receive(&other).await), Code::KeyReused);
    let unknown = LINE.replace("line", "circle");
    let unknown = ReceiveMessage { message_id: "m-4".into(), then: Some(unknown.into()), ..first };
    assert_eq!(code(fixture.receive(&unknown).await), Code::KindUnknown);
    assert_eq!((flows(&fixture).await, fixture.messages().await), (1, 2));
}

#[tokio::test]
async fn a_token_starts_no_workflow_with_a_kind_that_it_does_not_cover() {
    let fixture = stage(vec![line()]).await;
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    let kinds = ["campaign.send".to_owned()];
    let token = admin.add_service_token("acme", "mailer", &kinds, None).await.unwrap();
    let Some(Caller::Service(mailer)) =
        fixture.engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap()
    else {
        panic!("no service")
    };
    let message = ReceiveMessage { then: Some(LINE.into()), ..fixture.message("m-1").await };
    let refused = fixture.engine.receive_message(&mailer, message).await;
    assert_eq!(code(refused), Code::TokenScope);
    assert_eq!((flows(&fixture).await, fixture.messages().await), (0, 0));
}
