//! What fails leaves a count alone, ends dead at its bound, and holds nobody up (I18).

use domain::{inbox::InboxState, problem::Code};
use engine::{ReceiveMessage, identity::Admin};
use sqlx::Executor as _;

use crate::fixture::{Fixture, code, mail};

const UNKNOWN_KIND: &str = r#"{"operation":{"operation":"letter.send"}}"#;

#[tokio::test]
async fn an_error_leaves_a_count_alone_and_the_redelivery_succeeds() {
    let fixture = Fixture::new().await;
    let message =
        ReceiveMessage { then: Some(UNKNOWN_KIND.into()), ..fixture.message("m-1").await };
    for _ in 0..2 {
        assert_eq!(code(fixture.receive(&message).await), Code::KindUnknown);
    }
    assert_eq!((fixture.messages().await, fixture.operations().await), (0, 0));
    assert_eq!(fixture.count("select failures::bigint from inbox_failures").await, 2);
    let letters = engine::store::kind::KindPolicy { name: "letter.send".into(), ..mail() };
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.put_kind(fixture.tenant(), &letters).await.unwrap();
    assert!(fixture.expect(&message, InboxState::Processed).await.first);
    assert_eq!(fixture.operations().await, 1);
    assert_eq!(fixture.count("select failures::bigint from inbox").await, 2, "on its record");
    assert_eq!(fixture.count("select count(*) from inbox_failures").await, 0);
}

#[tokio::test]
async fn a_poison_message_is_dead_after_its_bound_and_its_neighbours_go_on() {
    let fixture = Fixture::new().await;
    fixture.put_consumer(|policy| policy.max_failures = 3).await;
    let poison = ReceiveMessage { then: Some(UNKNOWN_KIND.into()), ..fixture.message("m-0").await };
    for n in 0..2 {
        assert_eq!(code(fixture.receive(&poison).await), Code::KindUnknown);
        fixture
            .expect(&fixture.message(&format!("m-{}", n + 1)).await, InboxState::Processed)
            .await;
    }
    let last = fixture.expect(&poison, InboxState::Dead).await;
    assert!(last.error.unwrap().starts_with("kind_unknown"));
    let again = fixture.expect(&poison, InboxState::Dead).await;
    assert!(!again.first);
    assert_eq!(fixture.operations().await, 2, "its neighbours");
    let dead =
        "select count(*) from inbox where status = 'dead' and failures = 3 and deliveries = 2
        and effect is not null and payload is not null and last_error like 'kind_unknown%'";
    assert_eq!(fixture.count(dead).await, 1, "kept whole, for a person");
    assert_eq!(fixture.count("select count(*) from inbox_failures").await, 0);
}

#[tokio::test]
async fn deliveries_that_fail_at_once_make_one_dead_message() {
    let fixture = Fixture::new().await;
    let poison = ReceiveMessage { then: Some(UNKNOWN_KIND.into()), ..fixture.message("m-0").await };
    let deliveries: Vec<_> = (0..30)
        .map(|_| {
            let (engine, service, message) =
                (fixture.engine.clone(), fixture.service.clone(), poison.clone());
            tokio::spawn(async move { engine.receive_message(&service, message).await })
        })
        .collect();
    for delivery in deliveries {
        match delivery.await.unwrap() {
            Ok(received) => assert_eq!(received.state, InboxState::Dead),
            Err(error) => assert_eq!(error.refusal().code, Code::KindUnknown),
        }
    }
    assert_eq!(fixture.count("select count(*) from inbox where status = 'dead'").await, 1);
    assert_eq!(fixture.operations().await, 0);
}

#[tokio::test]
async fn a_message_under_a_key_of_another_payload_is_not_acknowledged() {
    let fixture = Fixture::new().await;
    fixture.reserve_as("k", &super::PAYLOAD.replace("12900", "1")).await.unwrap();
    let then = r#"{"operation":{"operation":"invoice.charge","key":"k"}}"#;
    let message = ReceiveMessage { then: Some(then.into()), ..fixture.message("m-1").await };
    assert_eq!(code(fixture.receive(&message).await), Code::KeyReused);
    assert_eq!((fixture.messages().await, fixture.operations().await), (0, 1));
}

#[tokio::test]
async fn an_effect_that_the_database_refuses_is_a_failed_delivery_too() {
    let fixture = Fixture::new().await;
    fixture.put_consumer(|policy| policy.max_failures = 2).await;
    fixture
        .pool()
        .execute(
            "create function refuse_it() returns trigger language plpgsql as $$
               begin raise exception 'no' using errcode = 'check_violation'; end $$;
             create trigger z_refuse before insert on operations for each row execute function refuse_it()",
        )
        .await
        .unwrap();
    let message = fixture.message("m-1").await;
    let error = fixture.receive(&message).await.unwrap_err();
    assert_eq!(error.refusal().code, Code::Internal);
    let dead = fixture.expect(&message, InboxState::Dead).await;
    assert!(dead.error.unwrap().starts_with("internal"), "no text of the database's is kept");
}
