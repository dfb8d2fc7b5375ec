//! Expiry: contents go, the key stays closed for ever.

use std::time::Duration;

use domain::{access::Role, problem::Code};
use engine::{Admission, FinishOutcome};

use crate::fixture::{Fixture, PAYLOAD, code};

const RETENTION: Duration = Duration::from_secs(86_401);

#[tokio::test]
async fn a_tombstone_answers_410_and_422_and_keeps_no_contents() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    assert_eq!(
        code(fixture.reserve_as("k", &PAYLOAD.replace("12900", "1")).await),
        Code::KeyReused
    );
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.engine.add_note(&operator, id, "form-1", "personal words").await.unwrap();
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 1);
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0);
    match fixture.reserve("k").await {
        Admission::Tombstoned { id: same, external_reference, .. } => {
            assert_eq!((same, external_reference.as_deref()), (id, Some("ch_1")));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(
        code(fixture.reserve_as("k", &PAYLOAD.replace("12900", "2")).await),
        Code::KeyReused
    );
    for left in [
        "select count(*) from operations where payload is not null or response_body is not null",
        "select count(*) from operation_terms",
        "select count(*) from payload_conflicts where payload is not null and first_at < onceover_now() - interval '1 hour'",
        "select count(*) from notes where text <> ''",
    ] {
        assert_eq!(fixture.count(left).await, 0, "{left}");
    }
}

#[tokio::test]
async fn what_is_not_final_not_told_or_disputed_does_not_expire() {
    let fixture = Fixture::new().await;
    let (_, _) = fixture.executing("running").await;
    let (untold, fence) = fixture.executing("untold").await;
    fixture.finish(untold, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    fixture.db.advance_clock(RETENTION).await;
    assert_eq!(
        fixture.engine.expire_due().await.unwrap().handled,
        0,
        "its event has not been told"
    );
    fixture.db.settle_outbox().await;
    fixture.finish(untold, fence, FinishOutcome::Done, Some("ch_2")).await.unwrap();
    fixture.db.settle_outbox().await;
    assert_eq!(fixture.engine.expire_due().await.unwrap().handled, 0, "an incident is open");
}
