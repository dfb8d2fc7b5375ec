//! Start, beats, finish, takeover: a former owner changes nothing.

use std::time::Duration;

use domain::problem::Code;
use engine::{FinishOutcome, Finished};

use crate::fixture::{Fixture, code, finish, won};

#[tokio::test]
async fn a_call_begins_once() {
    let fixture = Fixture::new().await;
    let (id, fence) = won(fixture.reserve("k").await);
    let starts = (0..10).map(|_| {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        tokio::spawn(async move { engine.start(&service, id, fence).await })
    });
    let mut begun = 0;
    for start in starts.collect::<Vec<_>>() {
        match start.await.unwrap() {
            Ok(started) => {
                assert_eq!(started.attempt, 1);
                begun += 1;
            }
            Err(error) => assert_eq!(error.refusal().code, Code::AlreadyStarted),
        }
    }
    assert_eq!(begun, 1, "one call");
}

#[tokio::test]
async fn a_call_that_would_outlive_its_lease_does_not_begin() {
    let fixture = Fixture::new().await;
    let (id, fence) = won(fixture.reserve("k").await);
    fixture.db.advance_clock(Duration::from_secs(25)).await;
    assert_eq!(code(fixture.engine.start(&fixture.service, id, fence).await), Code::LeaseTooShort);
    fixture.engine.heartbeat(&fixture.service, id, fence).await.unwrap();
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
}

#[tokio::test]
async fn a_lost_worker_makes_it_unknown_and_its_late_words_are_evidence() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    assert_eq!(fixture.engine.take_over_expired().await.unwrap().handled, 0, "the lease is live");
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    assert_eq!(fixture.engine.take_over_expired().await.unwrap().handled, 1);
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(code(fixture.engine.heartbeat(&fixture.service, id, fence).await), Code::FenceLost);
    let late = fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(matches!(late, Finished::LateEvidenceKept { .. }));
    assert_eq!(fixture.status(id).await, "unknown", "an old owner's word settles nothing");
    assert_eq!(fixture.count("select count(*) from evidence where says = 'done'").await, 1);
}

#[tokio::test]
async fn a_beat_keeps_a_slow_call_its_own() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    for _ in 0..5 {
        fixture.db.advance_clock(Duration::from_secs(20)).await;
        fixture.engine.heartbeat(&fixture.service, id, fence).await.unwrap();
        assert_eq!(fixture.engine.take_over_expired().await.unwrap().handled, 0);
    }
    let done = fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(matches!(done, Finished::Done { .. }));
}

#[tokio::test]
async fn finishing_twice_with_the_same_words_is_one_finish() {
    let fixture = Fixture::new().await;
    for (key, outcome, reference) in [
        ("done", FinishOutcome::Done, Some("ch_1")),
        ("rejected", FinishOutcome::Rejected, None),
        ("not-done", FinishOutcome::NotDone, None),
        ("ambiguous", FinishOutcome::Ambiguous, None),
    ] {
        let (id, fence) = fixture.executing(key).await;
        let first = fixture.finish(id, fence, outcome, reference).await.unwrap();
        let again = fixture.finish(id, fence, outcome, reference).await.unwrap();
        assert_eq!(first, again, "{key}");
        assert!(matches!(first, Finished::Done { .. }));
    }
    assert_eq!(fixture.count("select count(*) from evidence").await, 0);
}

#[tokio::test]
async fn a_fence_that_was_never_granted_and_a_call_that_never_began_are_refused() {
    let fixture = Fixture::new().await;
    let (id, fence) = won(fixture.reserve("k").await);
    for fence in [0, -1, fence + 1, i64::MAX] {
        assert_eq!(
            code(fixture.finish(id, fence, FinishOutcome::Done, Some("x")).await),
            Code::FenceLost
        );
        assert_eq!(code(fixture.engine.start(&fixture.service, id, fence).await), Code::FenceLost);
    }
    let unstarted = fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(
        matches!(unstarted, Finished::LateEvidenceKept { .. }),
        "kept, though no call had begun"
    );
    assert_eq!(fixture.status(id).await, "reserved");
    assert_eq!(code(fixture.engine.start(&fixture.service, id, fence).await), Code::FenceLost);
    assert_eq!(fixture.status(id).await, "unknown", "what may have happened is not called again");
}

#[tokio::test]
async fn attempts_end() {
    let fixture = Fixture::new().await;
    let (id, mut fence) = fixture.executing("k").await;
    for attempt in 1..=3 {
        fixture.finish(id, fence, FinishOutcome::NotDone, None).await.unwrap();
        if attempt == 3 {
            break;
        }
        assert_eq!(fixture.status(id).await, "failed_retryable");
        fixture.db.advance_clock(Duration::from_secs(3600)).await;
        (_, fence) = won(fixture.reserve("k").await);
        fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    }
    assert_eq!(fixture.status(id).await, "failed_terminal");
}

#[tokio::test]
async fn done_of_another_amount_is_no_success() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let mut other = finish(fence, FinishOutcome::Done, Some("ch_1"));
    other.amount_minor = Some(129);
    other.currency = Some("EUR".into());
    fixture.engine.finish(&fixture.service, id, other).await.unwrap();
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count("select count(*) from operations where needs_manual").await, 1);
    assert_eq!(
        fixture.count("select count(*) from incidents where cause = 'answer_differs'").await,
        1
    );
}

#[tokio::test]
async fn an_answer_over_its_limit_is_cut_and_marked_and_the_operation_ends_right() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let mut done = finish(fence, FinishOutcome::Done, Some("ch_1"));
    done.response = Some(engine::StoredAnswer {
        status: 200,
        content_type: "text/plain".into(),
        body: vec![b'x'; 5 * 1024 * 1024],
        cut: false,
    });
    fixture.engine.finish(&fixture.service, id, done).await.unwrap();
    assert_eq!(fixture.status(id).await, "succeeded");
    let cut = "select count(*) from operations where response_cut and octet_length(response_body) = 1048576";
    assert_eq!(fixture.count(cut).await, 1);
}

#[tokio::test]
async fn every_final_move_is_told_in_order_in_its_own_transaction() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    let mut done = finish(fence, FinishOutcome::Done, Some("ch_1"));
    done.events = vec![
        engine::NewEvent {
            aggregate: "invoice:INV-1".into(),
            topic: "invoice.paid".into(),
            payload: b"{}".to_vec(),
        },
        engine::NewEvent {
            aggregate: "invoice:INV-1".into(),
            topic: "invoice.closed".into(),
            payload: b"{}".to_vec(),
        },
    ];
    fixture.engine.finish(&fixture.service, id, done).await.unwrap();
    let told: Vec<(String, i64, String)> =
        sqlx::query_as("select aggregate, seq, topic from outbox order by aggregate, seq")
            .fetch_all(fixture.pool())
            .await
            .unwrap();
    let own = id.to_string();
    let expected = [
        (own.as_str(), 1, "operation.succeeded"),
        ("invoice:INV-1", 1, "invoice.paid"),
        ("invoice:INV-1", 2, "invoice.closed"),
    ];
    let mut told: Vec<_> = told.iter().map(|(a, s, t)| (a.as_str(), *s, t.as_str())).collect();
    told.sort_by_key(|(aggregate, seq, _)| (aggregate.starts_with("invoice"), *seq));
    assert_eq!(told, expected);
}

#[tokio::test]
async fn a_worker_that_keeps_dying_on_it_ends_with_a_person() {
    let fixture = Fixture::new().await;
    let (id, _) = fixture.executing("k").await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    fixture.engine.take_over_expired().await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count("select count(*) from operations where needs_manual").await, 1);
    assert_eq!(
        fixture.engine.reconcile_due().await.unwrap().handled,
        0,
        "machines leave it alone now"
    );
}
