//! What takes more than one row to tell is refused by triggers, whoever writes.

use sqlx::Executor as _;

use crate::fixture::{Fixture, mail_request, won};

/// One transaction of these statements; what the database said, at the latest at its end.
async fn refused(fixture: &Fixture, statements: &[&'static str]) -> String {
    let mut tx = fixture.pool().begin().await.unwrap();
    for sql in statements {
        if let Err(error) = tx.execute(*sql).await {
            return error.to_string();
        }
    }
    match tx.commit().await {
        Err(error) => error.to_string(),
        Ok(()) => panic!("written: {statements:?}"),
    }
}

#[tokio::test]
async fn a_call_without_a_lease_cannot_be_written() {
    let fixture = Fixture::new().await;
    let reserved = fixture.engine.reserve(&fixture.service, mail_request("k")).await.unwrap();
    let (id, fence) = won(reserved);
    let start = "update operations set status = 'executing', attempt = attempt + 1, started_at = onceover_now(),
      version = version + 1, move = 'O2'";
    let said = refused(&fixture, &["delete from leases", start]).await;
    assert!(said.contains("only under the lease"), "{said}");
    let said = refused(&fixture, &["update leases set fence = 7", start]).await;
    assert!(said.contains("only under the lease"), "another's: {said}");
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    let said = refused(&fixture, &["delete from leases"]).await;
    assert!(said.contains("for as long as its call"), "{said}");
    assert_eq!(fixture.count("select count(*) from leases").await, 1);
}

#[tokio::test]
async fn no_event_is_passed_over_and_no_aggregate_is_blocked_without_one_to_decide_about() {
    let fixture = Fixture::new().await;
    crate::outbox::tell(&fixture, "a", "thing.happened").await;
    let said = refused(&fixture, &["update aggregates set head_seq = head_seq + 1"]).await;
    assert!(said.contains("only past an event that was told"), "{said}");
    let said = refused(&fixture, &["update aggregates set blocked = true"]).await;
    assert!(said.contains("by a dead event alone"), "{said}");
    let said = refused(&fixture, &["update aggregates set head_seq = 9"]).await;
    assert!(said.contains("aggregates_head_is_within"), "{said}");
}

#[tokio::test]
async fn a_message_is_never_left_half_taken_in() {
    let fixture = Fixture::new().await;
    let said = refused(
        &fixture,
        &["insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status, produced_at,
             window_until, move)
           select id, 'mailer', 'shop', 'm-1', sha256(''), 1, 'processing', onceover_now(), onceover_now(), 'N1'
           from tenants limit 1"],
    )
    .await;
    assert!(said.contains("with its effect or not at all"), "{said}");
}

#[tokio::test]
async fn no_workflow_rests_on_nothing_and_none_ends_before_its_steps() {
    let fixture = Fixture::new().await;
    let start = "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, next_at,
        created_by_kind, created_by, move)
      select id, 'line', 'w', 1, sha256(''), 'running', onceover_now(), 'test', 'test', 'W1' from tenants limit 1";
    let step = "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, operation, move)
      select tenant_id, id, 'mail', 1, 'pending', 'campaign.send', 'S0' from workflows";
    fixture.pool().execute(start).await.unwrap();
    fixture.pool().execute(step).await.unwrap();
    let said = refused(&fixture, &["update workflows set next_at = null"]).await;
    assert!(said.contains("only while an operation of it is open"), "{said}");
    let said = refused(
        &fixture,
        &["update workflows set status = 'completed', completed_at = onceover_now(), next_at = null,
             version = version + 1, move = 'W7'"],
    )
    .await;
    assert!(said.contains("with all of its steps"), "{said}");
    let said = refused(
        &fixture,
        &["update workflow_steps set status = 'running', version = version + 1, move = 'S1'"],
    )
    .await;
    assert!(said.contains("workflow_steps_open_has_an_operation"), "{said}");
    let said = refused(
        &fixture,
        &[
            "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, move)
               select tenant_id, id, 'decide', 2, 'pending', 'S0' from workflows",
            "update workflow_steps set status = 'running', version = version + 1, move = 'S1'
               where step_key = 'decide'",
        ],
    )
    .await;
    assert!(said.contains("in the transaction that begins it"), "{said}");
}
