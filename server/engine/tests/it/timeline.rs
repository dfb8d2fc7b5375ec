//! One timeline of an operation over all that has to do with it: its step, its events and their deliveries,
//! its messages, requests for a second person, and what people did or were refused that moved nothing.

use std::{collections::BTreeSet, time::Duration};

use axum::{http::StatusCode, response::IntoResponse as _};
use domain::{
    access::Role,
    action::Verb,
    ids::OperationId,
    inbox::InboxState,
    outbox::MAX_ATTEMPTS,
    problem::Code,
    record::RecordType,
    view::{OperationDetail, TimelineItem},
};
use engine::{FinishOutcome, Settling, StaffCaller};

use crate::{
    fixture::{Fixture, action, add_tenant, asked, code, happened, person, won},
    outbox::{receiver::Receiver, relay_to, round, rounds, to},
    workflows::support::{Flow, input, line, stage},
};

/// A charge that one person may not confirm alone.
const LARGE: &str = r#"{"invoice_id":"INV-9","amount_minor":50000,"currency":"EUR"}"#;

async fn page(fixture: &Fixture, by: &StaffCaller, id: OperationId) -> OperationDetail {
    fixture.engine.operation(by, id).await.unwrap()
}

/// What of the timeline belongs to another record of this kind.
fn of(page: &OperationDetail, record: RecordType) -> Vec<&TimelineItem> {
    let belongs = |item: &&TimelineItem| item.of.as_ref().is_some_and(|of| of.record == record);
    page.timeline.iter().filter(belongs).collect()
}

fn rules<'a>(items: &[&'a TimelineItem]) -> Vec<&'a str> {
    items.iter().map(|item| item.rule.as_str()).collect()
}

/// Each item stands once, in its order, under an anchor of its own.
#[track_caller]
fn in_order(page: &OperationDetail) {
    assert!(page.timeline.is_sorted_by(|a, b| a.at <= b.at));
    let anchors: BTreeSet<_> = page.timeline.iter().map(|item| &item.anchor).collect();
    assert_eq!(anchors.len(), page.timeline.len());
    assert_eq!(page.timeline_total, page.timeline.len());
}

#[tokio::test]
async fn an_operation_of_a_step_tells_of_its_step_alone_and_names_its_workflow() {
    let fixture = stage(vec![line()]).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let flow = Flow::start(&fixture, "line", "doc-1", &input()).await;
    flow.turn().await;
    let work = flow.claim().await.remove(0);
    let begun = page(&fixture, &viewer, work.id).await;
    assert_eq!(begun.workflow_key.as_deref(), Some("doc-1"));
    assert_eq!(rules(&of(&begun, RecordType::Workflow)), ["S1"]);

    flow.carry_out(&work, FinishOutcome::Done).await;
    flow.turn().await;
    let over = page(&fixture, &viewer, work.id).await;
    let told = of(&over, RecordType::Workflow);
    let sentences: Vec<_> = told.iter().map(|item| item.sentence.as_str()).collect();
    assert_eq!(sentences, ["Step mail: started.", "Step mail: succeeded."]);
    let flow_of = told[0].of.as_ref().unwrap();
    assert_eq!((flow_of.id.clone(), flow_of.key.as_str()), (flow.id.to_string(), "doc-1"));
    assert!(told.iter().all(|item| item.version.is_none()), "a step's version is not its own");
    in_order(&over);

    // One that no step made names none.
    let (alone, _) = won(fixture.reserve("k").await);
    let alone = page(&fixture, &viewer, alone).await;
    assert_eq!(alone.workflow_key, None);
    assert!(of(&alone, RecordType::Workflow).is_empty());
}

#[tokio::test]
async fn its_events_and_each_delivery_of_them_stand_in_its_timeline() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let receiver = Receiver::answering(|_| {
        Box::pin(async { StatusCode::INTERNAL_SERVER_ERROR.into_response() })
    })
    .await;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    let (other, fence) = fixture.executing("other").await;
    fixture.finish(other, fence, FinishOutcome::Done, Some("ch_2")).await.unwrap();
    let written = page(&fixture, &viewer, id).await;
    assert_eq!(rules(&of(&written, RecordType::Event)), ["X1"], "the other's event is not told");
    in_order(&written);

    let mut relay = relay_to(&fixture, vec![to(&receiver.url)]).await;
    round(&mut relay).await;
    let refused = page(&fixture, &viewer, id).await;
    let told = of(&refused, RecordType::Event);
    assert_eq!(rules(&told), ["X1", "delivery"]);
    assert!(told[0].sentence.contains("operation.succeeded"), "{}", told[0].sentence);
    assert!(told[1].sentence.ends_with("a delivery: refused."), "{}", told[1].sentence);
    assert_eq!(told[1].says("Destination"), Some("main"));
    assert!(told[1].says("Error").is_some(), "{:?}", told[1].detail);
    let event = told[1].of.clone().unwrap();

    for _ in 1..MAX_ATTEMPTS {
        fixture.db.advance_clock(Duration::from_secs(3_601)).await;
        rounds(&mut relay, &fixture).await;
    }
    let dead = page(&fixture, &viewer, id).await;
    let told = of(&dead, RecordType::Event);
    let deliveries = told.iter().filter(|item| item.rule == "delivery").count();
    assert_eq!(deliveries, 10, "the last of them; the event's own page has all");
    assert_eq!(told.iter().filter(|item| item.rule == "X6").count(), 1);
    assert!(told.iter().all(|item| item.of.as_ref() == Some(&event)), "each leads to its event");
    in_order(&dead);

    let links = fixture.engine.operation_links(&viewer, id).await.unwrap();
    let linked: Vec<_> = links.events.iter().map(|one| (&one.id, one.status.as_str())).collect();
    assert_eq!(linked, [(&event.id, "dead")]);
    assert!(!links.more_events && links.messages.is_empty());
}

#[tokio::test]
async fn the_message_that_brought_it_stands_in_its_timeline_and_is_linked() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let message = fixture.message("m-1").await;
    let received = fixture.expect(&message, InboxState::Processed).await;
    fixture.expect(&fixture.message("m-2").await, InboxState::Processed).await;
    let id = received.operation_id.unwrap();
    let brought = page(&fixture, &viewer, id).await;
    let told = of(&brought, RecordType::Message);
    assert_eq!(rules(&told), ["N2"]);
    assert_eq!(told[0].sentence, "Message to billing: Its effect is done.");
    let message = told[0].of.as_ref().unwrap();
    assert_eq!((message.id.clone(), message.key.as_str()), (received.id.to_string(), "m-1"));
    in_order(&brought);
    let links = fixture.engine.operation_links(&viewer, id).await.unwrap();
    let linked: Vec<_> = links.messages.iter().map(|one| (&one.id, one.key.as_str())).collect();
    assert_eq!(linked, [(&message.id, "m-1")]);
}

#[tokio::test]
async fn what_people_did_or_were_refused_stands_in_its_timeline_once() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let (id, fence) = won(fixture.reserve_as("k", LARGE).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    let engine = &fixture.engine;
    let version = page(&fixture, &viewer, id).await.row.version;

    engine.take(&operator, id, true).await.unwrap();
    assert_eq!(code(engine.take(&viewer, id, true).await), Code::PermissionMissing);
    engine.add_note(&operator, id, "f", "rang them").await.unwrap();
    let request = asked(engine.act(&operator, happened(id, version, "ch_1")).await);
    let no = Settling { version: Some(1), reason: "no page shows it".into() };
    engine.reject(&approver, request.id, no).await.unwrap();
    engine.take(&operator, id, false).await.unwrap();
    let again = asked(engine.act(&operator, happened(id, version, "ch_1")).await);
    engine.approve(&approver, again.id, Settling::default()).await.unwrap();
    let released = engine.act(&operator, action(id, Verb::Release, version)).await;
    assert!(released.is_err());

    let shown = page(&fixture, &viewer, id).await;
    in_order(&shown);
    let by_people: Vec<_> = shown
        .timeline
        .iter()
        .filter(|item| item.by_person && item.rule != "evidence")
        .map(|item| (item.rule.as_str(), item.actor.split(' ').next().unwrap()))
        .collect();
    assert_eq!(
        by_people,
        [
            ("audit", "operator"),
            ("audit", "viewer"),
            ("note", "operator"),
            ("request", "operator"),
            ("request", "approver"),
            ("audit", "operator"),
            ("request", "operator"),
            ("O21", "operator"),
            ("request", "approver"),
            ("audit", "operator"),
        ]
    );
    let sentence = |at: usize| {
        let audit = shown.timeline.iter().filter(|item| item.rule == "audit");
        audit.map(|item| item.sentence.as_str()).nth(at).unwrap()
    };
    assert_eq!((sentence(0), sentence(2)), ("Took it on.", "Let it go."));
    assert!(sentence(1).starts_with("Wanted to take it on, refused: "), "{}", sentence(1));
    assert!(sentence(3).starts_with("Wanted to release the lease, refused: "), "{}", sentence(3));
    let requests = of(&shown, RecordType::Approval);
    let settled: Vec<_> = requests.iter().map(|item| item.sentence.as_str()).collect();
    assert_eq!(
        settled,
        [
            "Asked for a second person to decide: confirm.",
            "The request to confirm: rejected; nothing was done.",
            "Asked for a second person to decide: confirm.",
            "The request to confirm: approved, and carried out once.",
        ]
    );
    assert_eq!(requests[1].says("Reason"), Some("no page shows it"));
    assert!(requests[1].receipt.is_some());
    assert_eq!(requests[0].of.as_ref().unwrap().id, request.id.to_string());
    let called = |actor: &str| actor.ends_with("@acme.test)");
    assert!(requests.iter().all(|item| called(&item.actor)), "people by name: {requests:?}");
}

#[tokio::test]
async fn the_timeline_of_another_tenant_is_not_found() {
    let fixture = Fixture::new().await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let stranger = person(&fixture.db, &fixture.engine, "globex", "stranger", Role::Approver).await;
    let message = fixture.message("m-1").await;
    let id = fixture.expect(&message, InboxState::Processed).await.operation_id.unwrap();
    assert_eq!(code(fixture.engine.operation(&stranger, id).await), Code::NotFound);
    let links = fixture.engine.operation_links(&stranger, id).await.unwrap();
    assert!(links.messages.is_empty() && links.events.is_empty() && links.workflow.is_none());
}

#[tokio::test]
async fn where_a_worker_was_lost_the_timeline_says_when_its_lease_ran_out() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (swept, _) = fixture.executing("swept").await;
    let (released, _) = fixture.executing("released").await;
    let until = |page: &OperationDetail| page.row.lease.lease_until.unwrap();
    let (of_swept, of_released) = (
        until(&page(&fixture, &operator, swept).await),
        until(&page(&fixture, &operator, released).await),
    );
    fixture.db.advance_clock(Duration::from_secs(720)).await;
    let version = page(&fixture, &operator, released).await.row.version;
    fixture.engine.act(&operator, action(released, Verb::Release, version)).await.unwrap();
    fixture.engine.take_over_expired().await.unwrap();
    for (id, rule, lease_until) in [(swept, "O11", of_swept), (released, "O12", of_released)] {
        let shown = page(&fixture, &operator, id).await;
        let lost = shown.timeline.iter().find(|item| item.rule == rule).unwrap();
        assert_eq!(lost.lease_until, Some(lease_until), "{rule}");
        assert!(lost.at - lease_until > chrono::TimeDelta::minutes(10), "{rule}");
    }
}
