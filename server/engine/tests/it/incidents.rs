//! Incidents: what must not be forgotten is opened once, told once, and only a person ends it.

use domain::{
    access::Role,
    action::{Outcome, Verb},
};
use engine::{ActionRequest, FinishOutcome};

use crate::{
    evidence::{done, webhook},
    fixture::{Fixture, action, happened, mail_request, won},
};

async fn told(fixture: &Fixture) -> i64 {
    fixture.count("select count(*) from outbox where topic = 'incident.opened'").await
}

async fn causes(fixture: &Fixture) -> Vec<String> {
    sqlx::query_scalar("select cause from incidents where closed_at is null order by cause")
        .fetch_all(fixture.pool())
        .await
        .unwrap()
}

#[tokio::test]
async fn the_same_cause_twice_is_one_incident_and_one_event() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    for other in ["ch_2", "ch_3"] {
        webhook(&fixture, &done(other, &id.to_string(), other, 12_900)).await;
    }
    assert_eq!(causes(&fixture).await, ["double_effect_suspected"]);
    assert_eq!(told(&fixture).await, 1);
    let order: Vec<String> =
        sqlx::query_scalar("select topic from outbox where aggregate = $1 order by seq")
            .bind(id.to_string())
            .fetch_all(fixture.pool())
            .await
            .unwrap();
    assert_eq!(
        order[0], "operation.succeeded",
        "the outcome is told before what casts doubt on it"
    );
    let sql = "update incidents set closed_at = onceover_now(), closed_by = 'Olga', reason = 'refunded by hand',
        version = version + 1";
    sqlx::query(sql).execute(fixture.pool()).await.unwrap();
    webhook(&fixture, &done("ch_4", &id.to_string(), "ch_4", 12_900)).await;
    assert_eq!(
        causes(&fixture).await.len(),
        1,
        "after it was closed, the next finding opens another"
    );
    assert_eq!(told(&fixture).await, 2);
}

#[tokio::test]
async fn an_open_incident_is_neither_removed_nor_rewritten_nor_reopened() {
    let fixture = Fixture::new().await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    webhook(&fixture, &done("e", &id.to_string(), "ch_2", 12_900)).await;
    for sql in [
        "delete from incidents",
        "update incidents set cause = 'nothing', version = version + 1",
        "update incidents set closed_at = onceover_now(), version = version + 1",
        "insert into incidents (tenant_id, cause, summary) select tenant_id, 'x', 'about nothing' from incidents",
    ] {
        assert!(sqlx::query(sql).execute(fixture.pool()).await.is_err(), "{sql}");
    }
    let close = "update incidents set closed_at = onceover_now(), closed_by = 'Olga', reason = 'seen', version = version + 1";
    sqlx::query(close).execute(fixture.pool()).await.unwrap();
    let reopen = "update incidents set closed_at = null, closed_by = null, reason = null, version = version + 1";
    assert!(sqlx::query(reopen).execute(fixture.pool()).await.is_err());
}

#[tokio::test]
async fn evidence_against_a_persons_word_names_the_confirmation() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;

    let (id, version) = fixture.needs_person("happened").await;
    fixture.engine.act(&operator, happened(id, version, "ch_1")).await.unwrap();
    webhook(&fixture, &done("e-1", &id.to_string(), "ch_other", 12_900)).await;
    assert_eq!(causes(&fixture).await, ["confirmation_contradicted", "double_effect_suspected"]);
    assert_eq!(fixture.status(id).await, "succeeded", "final is final");

    let (id, fence) =
        won(fixture.engine.reserve(&fixture.service, mail_request("denied")).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    fixture.db.advance_clock(std::time::Duration::from_secs(120)).await;
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    let denied = ActionRequest {
        outcome: Some(Outcome::NotHappenedRetry),
        ..action(id, Verb::Confirm, version)
    };
    fixture.engine.act(&operator, denied).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Done, Some("m_1")).await.unwrap();
    assert_eq!(
        fixture.status(id).await,
        "unknown",
        "the retry that a person asked for is halted (O30)"
    );
    let sql = "select count(*) from incidents where cause = 'confirmation_contradicted' and operation_id = (
        select id from operations where key = 'denied')";
    assert_eq!(fixture.count(sql).await, 1);
}
