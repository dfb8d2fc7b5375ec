//! Taking in: first, again, all at once, late, and under an id that means something else.

use domain::{inbox::InboxState, problem::Code};
use engine::{ReceiveMessage, RequestOrigin, store::inbox_consumer::ConsumerPolicy};
use sqlx::Executor as _;

use super::{CHARGE, DAY, PAYLOAD};
use crate::fixture::{Fixture, add_tenant, code};

#[tokio::test]
async fn fifty_deliveries_at_once_are_one_effect() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    let deliveries: Vec<_> = (0..50)
        .map(|_| {
            let (engine, service, message) =
                (fixture.engine.clone(), fixture.service.clone(), message.clone());
            tokio::spawn(async move { engine.receive_message(&service, message).await })
        })
        .collect();
    let mut first = 0;
    for delivery in deliveries {
        let received = delivery.await.unwrap().unwrap();
        assert_eq!(received.state, InboxState::Processed);
        first += i64::from(received.first);
    }
    assert_eq!(first, 1, "one of them did it");
    assert_eq!(fixture.operations().await, 1);
    assert_eq!(fixture.messages().await, 1);
    assert_eq!(fixture.count("select deliveries::bigint from inbox").await, 50);
}

#[tokio::test]
async fn a_redelivery_is_told_what_the_first_did() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    let first = fixture.expect(&message, InboxState::Processed).await;
    assert!(first.first && first.operation_id.is_some());
    let respelt = ReceiveMessage {
        payload: r#"{ "currency":"EUR", "amount_minor":12900e0, "invoice_id":"INV-1" }"#.into(),
        ..message
    };
    let again = fixture.expect(&respelt, InboxState::Processed).await;
    assert!(!again.first);
    assert_eq!((again.id, again.operation_id), (first.id, first.operation_id));
    let kept: Vec<u8> = sqlx::query_scalar("select payload from operations")
        .fetch_one(fixture.pool())
        .await
        .unwrap();
    assert_eq!(kept, PAYLOAD.as_bytes(), "the operation has the bytes that were sent");
    let queued = "select count(*) from operations where mode = 'queued' and status = 'reserved' and key like 'in:billing:%'";
    assert_eq!(fixture.count(queued).await, 1);
    let told = "select count(*) from machine_events where machine = 'inbox'";
    assert_eq!(fixture.count(told).await, 2, "N1 and N2; a redelivery moves nothing");
}

#[tokio::test]
async fn the_same_id_elsewhere_is_another_message() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    fixture.expect(&message, InboxState::Processed).await;
    let consumer = ReceiveMessage { consumer: "mailing".into(), ..message.clone() };
    let source = ReceiveMessage { source: "returns".into(), ..message.clone() };
    for other in [&consumer, &source] {
        assert!(fixture.expect(other, InboxState::Processed).await.first);
    }
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let theirs = fixture.engine.receive_message(&globex, message).await.unwrap();
    assert!(theirs.first);
    assert_eq!(fixture.operations().await, 4);
}

#[tokio::test]
async fn the_same_id_with_another_content_is_refused_and_kept() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    fixture.expect(&message, InboxState::Processed).await;
    let other =
        ReceiveMessage { payload: PAYLOAD.replace("12900", "12901").into(), ..message.clone() };
    let asks = ReceiveMessage {
        then: Some(CHARGE.replace("charge\"", "charge\",\"key\":\"k\"").into()),
        ..message.clone()
    };
    for _ in 0..2 {
        assert_eq!(code(fixture.receive(&other).await), Code::MessageReused);
    }
    assert_eq!(code(fixture.receive(&asks).await), Code::MessageReused);
    assert_eq!(fixture.operations().await, 1);
    assert_eq!(fixture.count("select count(*) from inbox_conflicts").await, 2);
    assert_eq!(fixture.count("select max(count) from inbox_conflicts").await, 2);
    // Also of one that waits for a person: the content is looked at before the state.
    fixture.quarantined("old").await;
    let mut old = fixture.message("old").await;
    old.payload = b"{}".to_vec();
    assert_eq!(code(fixture.receive(&old).await), Code::MessageReused);
    for n in 0..30 {
        let other = ReceiveMessage { payload: n.to_string().into(), ..message.clone() };
        assert_eq!(code(fixture.receive(&other).await), Code::MessageReused);
    }
    let of_first = "select count(*) from inbox_conflicts c join inbox i on i.id = c.inbox_id where i.message_id = 'm-1'";
    assert_eq!(fixture.count(of_first).await, 21, "twenty hashes, the rest counted");
}

#[tokio::test]
async fn what_is_older_than_its_window_and_not_on_record_is_not_run() {
    let fixture = Fixture::new().await;
    let first = fixture.quarantined("m-1").await;
    assert!(first.first);
    let mut message = fixture.message("m-1").await;
    message.produced_at -= 8 * DAY;
    let again = fixture.expect(&message, InboxState::Quarantined).await;
    assert!(!again.first);
    assert_eq!(fixture.operations().await, 0);
    // A redelivery after the window of one that is on record is a duplicate, not a second effect.
    let known = fixture.message("m-2").await;
    fixture.expect(&known, InboxState::Processed).await;
    fixture.db.advance_clock(8 * DAY).await;
    assert!(!fixture.expect(&known, InboxState::Processed).await.first);
    assert_eq!(fixture.operations().await, 1);
    // Each consumer has its own window.
    fixture.put_consumer(|policy| policy.window_ms = 30 * 86_400_000).await;
    let mut young = fixture.message("m-3").await;
    young.produced_at -= 8 * DAY;
    fixture.expect(&young, InboxState::Processed).await;
}

#[tokio::test]
async fn what_comes_from_the_future_or_has_no_name_is_refused_and_leaves_nothing() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    let minute = chrono::TimeDelta::minutes(1);
    let ahead =
        ReceiveMessage { produced_at: message.produced_at + minute * 11, ..message.clone() };
    for (unfit, why) in [
        (ahead, Code::RequestInvalid),
        (ReceiveMessage { consumer: String::new(), ..message.clone() }, Code::Unprocessable),
        (ReceiveMessage { consumer: "x".repeat(129), ..message.clone() }, Code::Unprocessable),
        (ReceiveMessage { source: "a\nb".into(), ..message.clone() }, Code::Unprocessable),
        (ReceiveMessage { message_id: "x".repeat(513), ..message.clone() }, Code::Unprocessable),
        (
            ReceiveMessage { consumer: "provider:payments".into(), ..message.clone() },
            Code::Unprocessable,
        ),
        (
            ReceiveMessage { payload: b"{\"a\":1,\"a\":2}".into(), ..message.clone() },
            Code::PayloadInvalid,
        ),
        (
            ReceiveMessage {
                payload: format!("\"{}\"", "x".repeat(256 * 1024)).into(),
                ..message.clone()
            },
            Code::PayloadInvalid,
        ),
        (ReceiveMessage { then: Some(b"{}".into()), ..message.clone() }, Code::Unprocessable),
        (
            ReceiveMessage {
                then: Some(br#"{"webhook":{"provider":"payments"}}"#.into()),
                ..message.clone()
            },
            Code::Unprocessable,
        ),
        (
            ReceiveMessage {
                then: Some(br#"{"operation":{"operation":"invoice.charge","key":"wf:x"}}"#.into()),
                ..message.clone()
            },
            Code::KeyReserved,
        ),
        (
            ReceiveMessage {
                then: Some(br#"{"operation":{"operation":"console.confirm"}}"#.into()),
                ..message.clone()
            },
            Code::KeyReserved,
        ),
    ] {
        let words = format!("{unfit:?}");
        assert_eq!(code(fixture.receive(&unfit).await), why, "{words}");
    }
    let near = ReceiveMessage { produced_at: message.produced_at + minute * 9, ..message };
    assert_eq!(fixture.messages().await, 0);
    assert_eq!(fixture.count("select count(*) from inbox_failures").await, 0);
    fixture.expect(&near, InboxState::Processed).await;
}

#[tokio::test]
async fn a_token_starts_no_kind_that_it_does_not_cover() {
    let fixture = Fixture::new().await;
    let mut admin = engine::identity::Admin::connect(&fixture.db.url()).await.unwrap();
    let kinds = ["campaign.send".to_owned()];
    let token = admin.add_service_token("acme", "mailer", &kinds, None).await.unwrap();
    let Some(engine::Caller::Service(mailer)) =
        fixture.engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap()
    else {
        panic!("no service")
    };
    let message = fixture.message("m-1").await;
    let refused = fixture.engine.receive_message(&mailer, message.clone()).await;
    assert_eq!(code(refused), Code::TokenScope);
    assert_eq!(fixture.messages().await, 0);
    let alone = ReceiveMessage { then: None, ..message };
    assert!(fixture.engine.receive_message(&mailer, alone).await.unwrap().first);
}

#[tokio::test]
async fn a_message_that_names_a_key_in_use_adds_no_second_operation() {
    let fixture = Fixture::new().await;
    fixture.reserve_as("k", PAYLOAD).await.unwrap();
    let mut message = fixture.message("m-1").await;
    let then = r#"{"operation":{"operation":"invoice.charge","key":"k"}}"#;
    message.then = Some(then.into());
    let received = fixture.expect(&message, InboxState::Processed).await;
    assert!(received.operation_id.is_some());
    assert_eq!(fixture.operations().await, 1);
    let known = "select count(*) from machine_events where detail ->> 'known_before' = 'reserved'";
    assert_eq!(fixture.count(known).await, 1);
}

/// F29: the crash that lies between the effect and the end of its transaction.
#[tokio::test]
async fn a_crash_between_effect_and_commit_leaves_nothing_and_the_redelivery_does_it_once() {
    let fixture = Fixture::new().await;
    let mut gate = fixture.pool().begin().await.unwrap();
    gate.execute("select pg_advisory_xact_lock(7)").await.unwrap();
    fixture
        .pool()
        .execute(
            "create function wait_at_gate() returns trigger language plpgsql as $$
               begin perform pg_advisory_xact_lock_shared(7); return new; end $$;
             create trigger a_gate before update on inbox for each row execute function wait_at_gate()",
        )
        .await
        .unwrap();
    let message = fixture.message("m-1").await;
    let (engine, service, sent) =
        (fixture.engine.clone(), fixture.service.clone(), message.clone());
    let delivery = tokio::spawn(async move { engine.receive_message(&service, sent).await });
    let waiting = "select count(*) from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    testkit::eventually("the effect is done", std::time::Duration::from_secs(10), async || {
        fixture.count(waiting).await == 1
    })
    .await;
    let killed = "select count(pg_terminate_backend(pid)) from pg_locks where locktype = 'advisory' and not granted
        and database = (select oid from pg_database where datname = current_database())";
    assert_eq!(fixture.count(killed).await, 1);
    assert_eq!(code_of_fault(delivery.await.unwrap()), Code::Unavailable);
    gate.rollback().await.unwrap();
    assert_eq!((fixture.operations().await, fixture.messages().await), (0, 0));
    assert_eq!(
        fixture.count("select count(*) from inbox_failures").await,
        0,
        "a database that went away says nothing about the message"
    );
    assert!(fixture.expect(&message, InboxState::Processed).await.first);
    assert_eq!(fixture.operations().await, 1);
}

fn code_of_fault<T: std::fmt::Debug>(result: Result<T, engine::EngineError>) -> Code {
    result.expect_err("a connection that is gone").refusal().code
}

#[tokio::test]
async fn the_database_refuses_what_is_not_in_the_table_of_moves() {
    let fixture = Fixture::new().await;
    let message = fixture.message("m-1").await;
    fixture.expect(&message, InboxState::Processed).await;
    fixture.quarantined("old").await;
    for sql in [
        "delete from inbox",
        "truncate inbox cascade",
        "update inbox set status = 'dropped', version = version + 1, move = 'N5' where message_id = 'm-1'",
        "update inbox set status = 'processed', version = version + 1 where message_id = 'old'",
        "update inbox set effect = null",
        "update inbox set hash = sha256('x'), move = 'N6'",
        "update inbox set shrunk_at = now()",
    ] {
        assert!(fixture.pool().execute(sql).await.is_err(), "{sql}");
    }
    assert!(ConsumerPolicy::of_default("x").retention_ms.is_none(), "ids are kept by default");
}
