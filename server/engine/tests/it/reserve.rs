//! One key, one effect: what every repeat of a key is answered, in every state.

use domain::{
    access::Role,
    action::{Outcome, Verb},
    operation::Status,
    problem::Code,
};
use engine::{Admission, FinishOutcome, Reserve, StoredAnswer};
use std::time::Duration;
use testkit::eventually;

use crate::fixture::{Fixture, PAYLOAD, action, code, finish, mail_request, request, won};

/// How long anything may take; far more than it does.
const LIMIT: Duration = Duration::from_secs(20);

#[tokio::test]
async fn fifty_at_once_one_wins_and_the_others_wait() {
    let fixture = Fixture::new().await;
    let calls = (0..50).map(|_| {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        tokio::spawn(async move { engine.reserve(&service, request("k", PAYLOAD)).await.unwrap() })
    });
    let mut won = 0;
    for call in calls.collect::<Vec<_>>() {
        match call.await.unwrap() {
            Admission::Won { .. } => won += 1,
            Admission::InProgress { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(won, 1, "one claim, one effect");
    assert_eq!(fixture.count("select count(*) from operations").await, 1);
}

#[tokio::test]
async fn a_success_is_replayed_byte_for_byte() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let answer = StoredAnswer {
        status: 201,
        content_type: "application/json; charset=x".into(),
        body: b"{ \"b\":1,\"a\":\xff\0 }".to_vec(),
        cut: false,
    };
    let mut done = finish(fence, FinishOutcome::Done, Some("ch_1"));
    done.response = Some(answer.clone());
    fixture.engine.finish(&fixture.service, id, done).await.unwrap();
    for _ in 0..3 {
        match fixture.reserve("k").await {
            Admission::Replayed { id: same, answer: stored } => {
                assert_eq!((same, stored), (id, answer.clone()));
            }
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test]
async fn another_payload_is_refused_in_every_state_and_kept_once() {
    let fixture = Fixture::new().await;
    let other = PAYLOAD.replace("12900", "12901");
    let refused = || async { code(fixture.reserve_as("k", &other).await) };
    let (id, fence) = won(fixture.reserve("k").await);
    assert_eq!(refused().await, Code::KeyReused);
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    assert_eq!(refused().await, Code::KeyReused);
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    assert_eq!(refused().await, Code::KeyReused);
    let (retry, fence) = fixture.executing("r").await;
    fixture.finish(retry, fence, FinishOutcome::NotDone, None).await.unwrap();
    assert_eq!(code(fixture.reserve_as("r", &other).await), Code::KeyReused);
    let (failed, fence) = fixture.executing("f").await;
    fixture.finish(failed, fence, FinishOutcome::Rejected, None).await.unwrap();
    assert_eq!(code(fixture.reserve_as("f", &other).await), Code::KeyReused);
    assert_eq!(
        fixture.count("select sum(count)::bigint from payload_conflicts").await,
        5,
        "each refusal is counted, one row per hash"
    );
    assert_eq!(fixture.count("select count(*) from payload_conflicts").await, 3);
}

#[tokio::test]
async fn at_most_twenty_other_payloads_are_kept_then_counted() {
    let fixture = Fixture::new().await;
    fixture.reserve("k").await;
    for cents in 1..=30 {
        let other = PAYLOAD.replace("12900", &cents.to_string());
        assert_eq!(code(fixture.reserve_as("k", &other).await), Code::KeyReused);
    }
    assert_eq!(
        fixture.count("select count(*) from payload_conflicts where payload is not null").await,
        20
    );
    assert_eq!(fixture.count("select sum(count)::bigint from payload_conflicts").await, 30);
}

#[tokio::test]
async fn masked_fields_are_not_kept_in_a_conflict() {
    let fixture = Fixture::new().await;
    fixture.reserve("k").await;
    let other =
        r#"{"invoice_id":"INV-1","amount_minor":1,"currency":"EUR","card":"4111111111111111"}"#;
    assert_eq!(code(fixture.reserve_as("k", other).await), Code::KeyReused);
    let leaks =
        "select count(*) from payload_conflicts where position('4111'::bytea in payload) > 0";
    assert_eq!(fixture.count(leaks).await, 0);
}

#[tokio::test]
async fn space_order_and_spelling_of_numbers_are_the_same_payload() {
    let fixture = Fixture::new().await;
    let (id, _) = won(fixture.reserve("k").await);
    let same = r#" { "currency" : "EUR", "amount_minor": 12900 , "\u0069nvoice_id":"INV-1" } "#;
    match fixture.reserve_as("k", same).await.unwrap() {
        Admission::InProgress { id: held, .. } => assert_eq!(held, id),
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn an_unknown_outcome_is_said_to_be_unknown() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    assert!(matches!(fixture.reserve("k").await, Admission::OutcomeUnknown { .. }));
}

#[tokio::test]
async fn a_failed_attempt_waits_then_runs_again_under_the_same_provider_key() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
    assert!(matches!(fixture.reserve("k").await, Admission::RetryLater { .. }));
    fixture.db.advance_clock(Duration::from_secs(5)).await;
    match fixture.reserve("k").await {
        Admission::Won { id: same, fence: new, provider_key, .. } => {
            assert_eq!(same, id);
            assert!(new > fence, "a new grant is a new fence");
            assert_eq!(provider_key, id.to_string());
        }
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_final_failure_says_whether_a_new_key_is_safe() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Rejected, None).await.unwrap();
    let safe = |admission| match admission {
        Admission::FailedTerminal { safe_new_key, .. } => safe_new_key,
        other => panic!("{other:?}"),
    };
    assert!(safe(fixture.reserve("k").await), "the provider's own no");
    // The same words under the lost fence, but the other way round: now it is contradicted.
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(!safe(fixture.reserve("k").await), "contrary evidence is on record");
}

#[tokio::test]
async fn a_reserved_operation_whose_client_died_is_taken_over_and_not_for_ever() {
    let fixture = Fixture::new().await;
    let (id, first) = won(fixture.reserve("k").await);
    let mut fence = first;
    for _ in 0..3 {
        fixture.db.advance_clock(Duration::from_secs(31)).await;
        let (same, next) = won(fixture.reserve("k").await);
        assert_eq!(same, id);
        assert!(next > fence);
        fence = next;
    }
    assert_eq!(code(fixture.engine.start(&fixture.service, id, first).await), Code::FenceLost);
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    assert!(matches!(
        fixture.reserve("k").await,
        Admission::FailedTerminal { safe_new_key: false, .. }
    ));
}

#[tokio::test]
async fn what_cannot_be_taken_is_refused_with_its_field_and_stores_nothing() {
    let fixture = Fixture::new().await;
    let with = |key: &str, payload: &str| request(key, payload);
    let big = format!(
        r#"{{"invoice_id":"{}","amount_minor":1,"currency":"EUR"}}"#,
        "x".repeat(256 * 1024)
    );
    let deep = format!("{}1{}", "[".repeat(65), "]".repeat(65));
    let cases: Vec<(Reserve, Code, Option<&str>)> = vec![
        (with("", PAYLOAD), Code::KeyMissing, Some("key")),
        (with(&"é".repeat(513), PAYLOAD), Code::KeyInvalid, Some("key")),
        (with("wf:1:charge", PAYLOAD), Code::KeyReserved, Some("key")),
        (with("comp:1", PAYLOAD), Code::KeyReserved, Some("key")),
        (
            Reserve { operation: "console.confirm".into(), ..with("k", "{}") },
            Code::KeyReserved,
            None,
        ),
        (Reserve { operation: "nothing".into(), ..with("k", "{}") }, Code::KindUnknown, None),
        (with("k", "{"), Code::PayloadInvalid, Some("payload")),
        (with("k", r#"{"a":1,"a":2}"#), Code::PayloadInvalid, Some("payload/a")),
        (with("k", r#"{"a":"\ud800"}"#), Code::PayloadInvalid, Some("payload/a")),
        (with("k", r#"{"a":"\u0000"}"#), Code::PayloadInvalid, Some("payload/a")),
        (with("k", &deep), Code::PayloadInvalid, None),
        (with("k", &big), Code::PayloadInvalid, Some("payload")),
        (
            with("k", r#"{"amount_minor":129.5,"currency":"EUR"}"#),
            Code::PayloadInvalid,
            Some("payload/amount_minor"),
        ),
        (
            with("k", r#"{"amount_minor":1e2,"currency":"EUR"}"#),
            Code::PayloadInvalid,
            Some("payload/amount_minor"),
        ),
        (
            with("k", r#"{"amount_minor":"12.9","currency":"EUR"}"#),
            Code::PayloadInvalid,
            Some("payload/amount_minor"),
        ),
        (
            with("k", r#"{"amount_minor":-1,"currency":"EUR"}"#),
            Code::PayloadInvalid,
            Some("amount_minor"),
        ),
        (
            with("k", r#"{"amount_minor":1,"currency":"eur"}"#),
            Code::PayloadInvalid,
            Some("payload/currency"),
        ),
        (with("k", r#"{"amount_minor":1}"#), Code::PayloadInvalid, Some("currency")),
        (with("k", "{}"), Code::PayloadInvalid, Some("amount_minor")),
        (
            Reserve { amount_minor: Some(1), currency: Some("EUR".into()), ..with("k", PAYLOAD) },
            Code::AmountMismatch,
            Some("amount_minor"),
        ),
        (
            Reserve {
                amount_minor: Some(12_900),
                currency: Some("USD".into()),
                ..with("k", PAYLOAD)
            },
            Code::AmountMismatch,
            Some("currency"),
        ),
    ];
    for (request, expected, field) in cases {
        let shown = format!(
            "{} {}",
            request.key,
            String::from_utf8_lossy(&request.payload[..request.payload.len().min(60)])
        );
        let error = fixture.engine.reserve(&fixture.service, request).await.expect_err(&shown);
        let refusal = error.refusal();
        assert_eq!(refusal.code, expected, "{shown}");
        if field.is_some() {
            assert_eq!(refusal.field.as_deref(), field, "{shown}");
        }
    }
    assert_eq!(fixture.count("select count(*) from operations").await, 0, "the key is still free");
}

#[tokio::test]
async fn awkward_keys_and_amounts_of_any_spelling_work() {
    let fixture = Fixture::new().await;
    let awkward = "/%+&:@( )é😀'\"<script>";
    let longest = "é".repeat(512);
    for key in [awkward, &longest] {
        let (id, _) = won(fixture.reserve(key).await);
        assert!(
            matches!(fixture.reserve(key).await, Admission::InProgress { id: same, .. } if same == id)
        );
    }
    let text = r#"{"amount_minor":"9223372036854775807","currency":"EUR"}"#;
    won(fixture.reserve_as("huge", text).await.unwrap());
    let beside = Reserve {
        amount_minor: Some(5),
        currency: Some("JPY".into()),
        ..request("beside", r#"{"invoice_id":"INV-9"}"#)
    };
    won(fixture.engine.reserve(&fixture.service, beside).await.unwrap());
}

#[tokio::test]
async fn queued_work_is_handed_out_once() {
    let fixture = Fixture::new().await;
    for key in ["a", "b", "c"] {
        let queued = Reserve { queued: true, ..mail_request(key) };
        assert!(matches!(
            fixture.engine.reserve(&fixture.service, queued).await.unwrap(),
            Admission::Queued { .. }
        ));
    }
    let kinds = vec!["campaign.send".to_owned()];
    let claims = (0..8).map(|_| {
        let (engine, service, kinds) =
            (fixture.engine.clone(), fixture.service.clone(), kinds.clone());
        tokio::spawn(async move { engine.claim(&service, &kinds, 2, None).await.unwrap() })
    });
    let mut ids = Vec::new();
    for claim in claims.collect::<Vec<_>>() {
        ids.extend(claim.await.unwrap().into_iter().map(|work| work.id));
    }
    let handed = ids.len();
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), handed, "no operation was handed out twice");
    let rest = fixture.engine.claim(&fixture.service, &kinds, 10, None).await.unwrap().len();
    assert_eq!(handed + rest, 3);
}

#[tokio::test]
async fn waiting_ends_with_the_first_ones_answer() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
    let waiting = tokio::spawn(async move {
        let patient = Reserve { wait: Duration::from_secs(2), ..request("k", PAYLOAD) };
        engine.reserve(&service, patient).await.unwrap()
    });
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(matches!(waiting.await.unwrap(), Admission::Replayed { .. }));
    assert_eq!(fixture.status(id).await, Status::Succeeded.as_str());
}

#[tokio::test]
async fn after_a_persons_guess_no_new_key_is_called_safe() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, fence) =
        won(fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(71)).await;
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    let guess = engine::ActionRequest {
        outcome: Some(Outcome::NotHappenedRetry),
        ..action(id, Verb::Confirm, version)
    };
    fixture.engine.act(&operator, guess).await.unwrap();
    let (_, fence) =
        won(fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Rejected, None).await.unwrap();
    let again = fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap();
    assert!(matches!(again, Admission::FailedTerminal { safe_new_key: false, .. }), "{again:?}");
}

#[tokio::test]
async fn how_often_an_answer_was_given_again_is_told_and_moves_nothing() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, fence) = fixture.executing("charge INV-7").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_7")).await.unwrap();
    let before = fixture.engine.operation(&viewer, id).await.unwrap();
    assert_eq!((before.replays, before.replayed_at), (0, None));
    for _ in 0..3 {
        assert!(matches!(fixture.reserve("charge INV-7").await, Admission::Replayed { .. }));
    }
    eventually("three replays are counted", LIMIT, async || {
        fixture.engine.operation(&viewer, id).await.unwrap().replays == 3
    })
    .await;
    let after = fixture.engine.operation(&viewer, id).await.unwrap();
    assert!(after.replayed_at.is_some());
    assert_eq!(after.row.version, before.row.version, "a count moves no version");
    assert_eq!(after.timeline.len(), before.timeline.len());
}
