//! What the second person is shown of the time between: moves and evidence that came after the request was
//! made, and what is on record now.

use std::time::Duration;

use domain::{
    access::Role,
    action::{Outcome, Subject, TargetType, Verb},
    approval::ApprovalStatus,
    listing::ApprovalFilter,
    view::{ApprovalView, SinceAsked},
};
use engine::{ActionRequest, FinishOutcome, StaffCaller};

use super::{Scene, says_done, webhook};
use crate::{
    compensation,
    fixture::{Fixture, action, asked, done, happened},
    inbox,
    workflows::{
        drift,
        support::{all_done, line, stage},
    },
};

const MINUTE: Duration = Duration::from_secs(60);

#[tokio::test]
async fn who_decides_sees_what_moved_and_what_evidence_came_since_it_was_asked_for() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let denies = ActionRequest {
        outcome: Some(Outcome::NotHappenedStop),
        ..action(id, Verb::Confirm, version)
    };
    scene.fixture.db.advance_clock(Duration::from_secs(120)).await;
    let request = scene.ask(denies).await;
    let engine = &scene.fixture.engine;
    let before = engine.approval(&scene.ada, request.id).await.unwrap();
    let since = before.since.unwrap();
    assert!(since.moves.is_empty() && since.evidence.is_empty() && !since.more, "{since:?}");
    assert_eq!(since.amount, before.amount);
    assert_eq!(since.external_reference, None);

    // The provider's own word comes before anybody agreed.
    let body = says_done("evt_1", &id.to_string(), "ch_9", 50_000).replace("INV-1", "INV-9");
    webhook(&scene.fixture, &body).await;
    let after = engine.approval(&scene.ada, request.id).await.unwrap();
    let since = after.since.unwrap();
    let rules: Vec<_> = since.moves.iter().map(|item| item.rule.as_str()).collect();
    assert!(rules.contains(&"O16"), "{rules:?}");
    let moved = since.moves.iter().find(|item| item.rule == "O16").unwrap();
    assert!(moved.version.is_some_and(|now| now > after.seen.version));
    assert_eq!(since.external_reference.as_deref(), Some("ch_9"));
    let evidence: Vec<_> = since
        .evidence
        .iter()
        .map(|evidence| (evidence.source.as_str(), evidence.says.as_str()))
        .collect();
    assert_eq!(evidence, [("webhook", "done")]);
    assert_ne!(after.now.unwrap().version, after.seen.version);
    assert_eq!(after.status, ApprovalStatus::Pending, "looking at it settles nothing");
}

#[tokio::test]
async fn what_moved_before_it_was_asked_for_is_not_told_as_new_and_many_moves_are_bounded() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    sqlx::query(
        "insert into operation_events (tenant_id, operation_id, at, move, from_status, to_status, version, fence,
           attempt, actor_kind, actor)
         select tenant_id, id, onceover_now() + n * interval '1 second', 'O19', 'unknown', 'unknown', $2, 1, 1,
           'reconciler', 'w-' || n
         from operations, generate_series(1, 80) n where id = $1",
    )
    .bind(id.uuid())
    .bind(version)
    .execute(scene.fixture.pool())
    .await
    .unwrap();
    let shown = scene.fixture.engine.approval(&scene.ben, request.id).await.unwrap();
    let since = shown.since.unwrap();
    assert!(since.more);
    let actors: Vec<_> = since.moves.iter().map(|item| item.actor.as_str()).collect();
    assert_eq!((actors.len(), actors.first(), actors.last()), (50, Some(&"w-31"), Some(&"w-80")));
    let listed =
        scene.fixture.engine.list_approvals(&scene.ben, &ApprovalFilter::default()).await.unwrap();
    assert!(listed.items.iter().all(|row| row.since.is_none()), "a list asks for none of it");
}

/// What the second person reads of what moved since they were asked.
async fn since(fixture: &Fixture, reader: &StaffCaller, request: &ApprovalView) -> SinceAsked {
    let shown = fixture.engine.approval(reader, request.id).await.unwrap();
    shown.since.expect("the moves of its record are kept")
}

/// A request that stands for a minute, in which nothing moved.
async fn asked_in_peace(
    fixture: &Fixture,
    (operator, reader): (&StaffCaller, &StaffCaller),
    wanted: ActionRequest,
) -> ApprovalView {
    fixture.db.advance_clock(MINUTE).await;
    let request = asked(fixture.engine.act(operator, wanted).await);
    fixture.db.advance_clock(MINUTE).await;
    let before = since(fixture, reader, &request).await;
    assert!(before.moves.is_empty() && before.evidence.is_empty() && !before.more, "{before:?}");
    request
}

/// The last of what moved: its rule, its sentence, and whether a person did it.
fn last(since: &SinceAsked) -> (&str, &str, bool) {
    assert!(since.moves.iter().all(|item| item.version.is_some()), "{since:?}");
    let item = since.moves.last().unwrap_or_else(|| panic!("nothing moved: {since:?}"));
    (item.rule.as_str(), item.sentence.as_str(), item.by_person)
}

#[tokio::test]
async fn who_decides_about_an_undo_sees_that_somebody_accepted_meanwhile_that_it_stays_done() {
    let fixture = compensation::support::fixture().await;
    let people = compensation::decisions::people(&fixture).await;
    let (id, version) = compensation::decisions::failed(&fixture, &people).await;
    let on = |verb| compensation::decisions::on(id, verb, version);
    let (operator, ada) = &people;
    let request = asked_in_peace(&fixture, (operator, ada), on(Verb::Retry)).await;
    done(fixture.engine.act(operator, on(Verb::Accept)).await);
    let after = since(&fixture, ada, &request).await;
    assert_eq!(last(&after), ("C10", "It is accepted undone not.", true));
    let now = fixture.engine.approval(ada, request.id).await.unwrap().now.unwrap();
    assert_eq!(now.status.as_str(), "accepted_undone_not");
    assert!(now.version > request.seen.version);
}

#[tokio::test]
async fn who_decides_about_a_message_sees_that_it_was_dropped_meanwhile() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let id = fixture.quarantined("m-1").await.id;
    let target = Subject::new(TargetType::Inbox, id.to_string());
    let run = ActionRequest::new(target, Verb::Run, 1, "seen at the provider");
    let request = asked_in_peace(&fixture, (&operator, &ada), run).await;
    inbox::staff::decide(&fixture, id, 1, false).await.unwrap();
    let after = since(&fixture, &ada, &request).await;
    assert_eq!(last(&after), ("N5", "Dropped: it has no effect.", true));
}

#[tokio::test]
async fn who_decides_about_a_workflow_sees_that_it_came_to_its_end_meanwhile() {
    let fixture = stage(vec![line()]).await;
    let operator = fixture.person("operator", Role::Operator).await;
    let ada = fixture.person("ada", Role::Approver).await;
    let flow = drift::mailed(&fixture).await;
    flow.turn().await;
    let charge = flow.claim().await.remove(0);
    flow.carry_out(&charge, FinishOutcome::Done).await;
    let version = fixture.engine.workflow(&operator, flow.id).await.unwrap().row.version;
    let target = Subject::new(TargetType::Workflow, flow.id.to_string());
    let cancel = ActionRequest::new(target, Verb::Cancel, version, "the customer asked for it");
    let request = asked_in_peace(&fixture, (&operator, &ada), cancel).await;
    flow.drive(&all_done).await;
    let after = since(&fixture, &ada, &request).await;
    let (_, sentence, by_person) = last(&after);
    assert_eq!((sentence, by_person), ("It is completed.", false));
}
