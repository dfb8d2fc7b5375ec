//! A person runs what machines would not, or drops it: once, at the version shown (N5).

use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
    ids::MessageId,
    inbox::InboxState,
    problem::Code,
};
use engine::{
    ActionRequest, Actor, EngineError, Settling,
    inbox::{Standing, drop_in, run_in},
};

use crate::fixture::{Fixture, asked, code, done};

/// A decision in a transaction of the console's role, as `actions` makes it.
pub async fn decide(
    fixture: &Fixture,
    id: MessageId,
    version: i64,
    run: bool,
) -> Result<(Standing, Standing), EngineError> {
    let mut tx = fixture.pool().begin().await.unwrap();
    sqlx::query("set local role onceover_app").execute(&mut *tx).await.unwrap();
    let tenant = fixture.tenant();
    sqlx::query("select set_config('app.tenant', $1, true)")
        .bind(tenant.to_string())
        .execute(&mut *tx)
        .await
        .unwrap();
    let actor = Actor::new("staff", "operator@acme.test");
    let decided = if run {
        run_in(&mut tx, &fixture.engine, &actor, (tenant, id), version, "seen at the provider")
            .await
    } else {
        drop_in(&mut tx, &actor, (tenant, id), version, "done by hand long ago").await
    };
    match &decided {
        Ok(_) => tx.commit().await.unwrap(),
        Err(_) => tx.rollback().await.unwrap(),
    }
    decided
}

#[tokio::test]
async fn running_a_quarantined_message_twice_is_one_effect() {
    let fixture = Fixture::new().await;
    let id = fixture.quarantined("m-1").await.id;
    let (one, two) = tokio::join!(decide(&fixture, id, 1, true), decide(&fixture, id, 1, true));
    let (won, lost) = if one.is_ok() { (one, two) } else { (two, one) };
    let (before, after) = won.unwrap();
    assert_eq!((before.status, before.version), (InboxState::Quarantined, 1));
    assert_eq!((after.status, after.version), (InboxState::Processed, 2));
    assert!(after.operation_id.is_some());
    assert_eq!(code(lost), Code::Stale);
    assert_eq!(code(decide(&fixture, id, 2, true).await), Code::NotAllowedInState);
    assert_eq!(fixture.operations().await, 1);
    let mut again = fixture.message("m-1").await;
    again.produced_at -= 8 * super::DAY;
    assert!(!fixture.expect(&again, InboxState::Processed).await.first);
    let by_person =
        "select count(*) from machine_events where rule = 'N5' and actor = 'operator@acme.test'
        and detail ->> 'reason' = 'seen at the provider'";
    assert_eq!(fixture.count(by_person).await, 1);
}

#[tokio::test]
async fn a_dropped_message_has_no_effect_and_its_redelivery_none() {
    let fixture = Fixture::new().await;
    let id = fixture.quarantined("m-1").await.id;
    let (_, after) = decide(&fixture, id, 1, false).await.unwrap();
    assert_eq!(after.status, InboxState::Dropped);
    assert_eq!(code(decide(&fixture, id, 2, true).await), Code::NotAllowedInState);
    let mut again = fixture.message("m-1").await;
    again.produced_at -= 8 * super::DAY;
    fixture.expect(&again, InboxState::Dropped).await;
    assert_eq!(fixture.operations().await, 0);
    let unknown = MessageId::new(uuid::Uuid::nil());
    assert_eq!(code(decide(&fixture, unknown, 1, true).await), Code::NotFound);
}

#[tokio::test]
async fn a_run_whose_effect_is_refused_leaves_the_message_where_it_stood() {
    let fixture = Fixture::new().await;
    fixture.put_consumer(|policy| policy.max_failures = 1).await;
    let mut message = fixture.message("m-1").await;
    message.then = Some(br#"{"operation":{"operation":"letter.send"}}"#.into());
    let dead = fixture.expect(&message, InboxState::Dead).await;
    assert_eq!(code(decide(&fixture, dead.id, 1, true).await), Code::KindUnknown);
    fixture.expect(&message, InboxState::Dead).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let seen = fixture.engine.message(&operator, dead.id).await.unwrap();
    assert!(seen.needs_second_person, "what nobody can tell counts as money");
}

#[tokio::test]
async fn a_message_offers_what_its_state_allows_and_names_the_missing_right() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let waits = fixture.quarantined("m-1").await.id;
    let offered = fixture.engine.message(&operator, waits).await.unwrap().actions;
    let verbs: Vec<_> = offered.iter().map(|offer| (offer.verb, offer.refusal)).collect();
    assert_eq!(verbs, [(Verb::Run, None), (Verb::Drop, None)]);
    let denied = fixture.engine.message(&viewer, waits).await.unwrap().actions;
    assert_eq!(denied.len(), 2, "what a right is missing for stays visible");
    for offer in denied {
        assert_eq!(offer.refusal, Some(Code::PermissionMissing));
        assert_eq!(offer.missing, Some(offer.verb.permission_on(TargetType::Inbox)));
    }
    let done = fixture.expect(&fixture.message("m-2").await, InboxState::Processed).await.id;
    assert_eq!(fixture.engine.message(&operator, done).await.unwrap().actions, []);
}

#[tokio::test]
async fn a_person_sees_what_may_have_been_done_already_and_whether_it_is_money() {
    let fixture = Fixture::new().await;
    // Done long ago under another key: the same invoice.
    let (done, fence) = fixture.executing("INV-1/1").await;
    fixture.finish(done, fence, engine::FinishOutcome::Done, Some("ch_1")).await.unwrap();
    let id = fixture.quarantined("m-1").await.id;
    let operator = fixture.person("operator", Role::Operator).await;
    let seen = fixture.engine.message(&operator, id).await.unwrap();
    assert_eq!(seen.related.iter().map(|row| row.id).collect::<Vec<_>>(), [done]);
    assert!(seen.needs_second_person);
    let mut mail = fixture.message("m-2").await;
    mail.produced_at -= 8 * super::DAY;
    mail.then = Some(br#"{"operation":{"operation":"campaign.send"}}"#.into());
    mail.payload = br#"{"campaign_id":"c","recipient_id":"r","reference":"ch_1"}"#.into();
    let mail = fixture.expect(&mail, InboxState::Quarantined).await;
    let seen = fixture.engine.message(&operator, mail.id).await.unwrap();
    assert!(!seen.needs_second_person);
    assert_eq!(seen.related.len(), 1, "the same reference");
}

#[tokio::test]
async fn a_message_about_money_is_run_or_dropped_by_two_people_once() {
    for (verb, after, effects) in [(Verb::Run, "processed", 1), (Verb::Drop, "dropped", 0)] {
        let fixture = Fixture::new().await;
        let operator = fixture.person("operator", Role::Operator).await;
        let approver = fixture.person("approver", Role::Approver).await;
        let id = fixture.quarantined("m-1").await.id;
        let target = Subject::new(TargetType::Inbox, id.to_string());
        let request = ActionRequest::new(target, verb, 1, "seen at the provider");
        let stale = ActionRequest { version: 2, ..request.clone() };
        assert_eq!(code(fixture.engine.act(&operator, stale).await), Code::Stale);
        let waits = asked(fixture.engine.act(&operator, request.clone()).await);
        assert_eq!(fixture.operations().await, 0, "nothing but the request was written");
        let settling = Settling::default();
        let acted = fixture.engine.approve(&approver, waits.id, settling).await.unwrap();
        assert_eq!(acted.receipt.after.status.as_str(), after);
        let again = done(fixture.engine.act(&operator, request).await);
        assert!(again.replayed);
        assert_eq!(again.receipt.id, acted.receipt.id);
        assert_eq!(fixture.operations().await, effects);
    }
}
