//! A worker is paused until its lease is another's, by the clock or by people, and wakes up: it changes
//! nothing, and what it knows is kept.

use domain::{access::Role, action::Verb, ids::OperationId, operation::Status};
use engine::{
    ActionRequest, Caller, Decided, RequestOrigin, Settling, StaffCaller,
    identity::{Admin, NewStaff},
};
use sandbox::{
    Provider,
    providers::{Mode, Rule},
};
use testkit::eventually;

use super::{
    processes::Process,
    scene::{Effect, LIMIT, PAST_LEASE, Scene},
};

/// A worker that stands still with its call at the provider, which has done the effect.
async fn paused_in_a_call(scene: &Scene) -> (Process, OperationId) {
    let slow = Rule::once(Mode::Slow { ms: 3_000 });
    scene.providers.add(Provider::Payments, slow).await.unwrap();
    let paused = scene.worker("w-paused");
    let id = scene.queue(Effect::Charge, "k-1").await;
    // Executing is written before the first byte is sent: paused in between, nothing would happen at
    // all. The rule is used up once the request has arrived.
    eventually("the provider has the request", LIMIT, async || {
        scene.providers.modes().await.unwrap().0.values().all(Vec::is_empty)
    })
    .await;
    paused.pause();
    scene.until_applied(id).await;
    (paused, id)
}

/// Wakes it, and sees that what it says is kept and changes nothing.
async fn it_wakes_up_too_late(scene: &Scene, paused: &Process, id: OperationId) {
    let before = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert!(before.evidence.is_empty());
    paused.wake();
    eventually("its late answer is kept", LIMIT, async || {
        !scene.engine.operation(&scene.operator, id).await.unwrap().evidence.is_empty()
    })
    .await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    let evidence = &page.evidence[0];
    assert_eq!((evidence.source.as_str(), evidence.says.as_str()), ("worker", "done"));
    assert!(
        evidence.fence.is_some_and(|fence| fence < page.row.lease.fence),
        "it carried the fence it had lost"
    );
    assert_eq!(page.row.status, Status::Unknown, "an old owner's word is no proof");
    assert!(page.row.version > before.row.version, "a page shown before is stale now");
    assert!(page.timeline.iter().any(|item| item.rule == "O24"));
    assert_eq!(scene.effects(id).await, 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_worker_changes_nothing_and_its_answer_is_shown_as_evidence() {
    let scene = Scene::open(false).await;
    let (paused, id) = paused_in_a_call(&scene).await;
    scene.database.advance_clock(PAST_LEASE).await;
    let _second = scene.worker("w-2");
    scene.until_needs_person(id).await;
    it_wakes_up_too_late(&scene, &paused, id).await;
    testkit::threat("T28", 1, 0);
}

async fn approver(scene: &Scene) -> StaffCaller {
    let mut admin = Admin::connect(&scene.database.url()).await.unwrap();
    let email = "ada@acme.test";
    let new = NewStaff {
        email,
        name: "Ada",
        password_hash: "none",
        tenant_slug: "acme",
        role: Role::Approver,
    };
    admin.add_staff(&new).await.unwrap();
    let token = admin.add_staff_token(email, "acme", "ada", None).await.unwrap();
    match scene.engine.caller_by_bearer(&token, RequestOrigin::here("r")).await.unwrap() {
        Some(Caller::Staff(staff)) => staff,
        other => panic!("not a person: {other:?}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_paused_worker_whose_live_lease_two_people_released_changes_nothing() {
    let scene = Scene::open(false).await;
    let ada = approver(&scene).await;
    let (paused, id) = paused_in_a_call(&scene).await;
    let version = scene.engine.operation_for_service(&scene.service, id).await.unwrap().version;
    let release = ActionRequest {
        force: true,
        ..ActionRequest::new(id, Verb::Release, version, "its worker stands still")
    };
    let approval = match scene.engine.act(&scene.operator, release).await.unwrap() {
        Decided::Asked { approval, .. } => approval,
        done @ Decided::Done(_) => panic!("one person did it: {done:?}"),
    };
    assert_eq!(scene.status(id).await, "executing", "nobody moved the clock: the lease is live");
    let settling = Settling { version: Some(1), reason: "it does not answer".into() };
    scene.engine.approve(&ada, approval.id, settling).await.unwrap();
    assert_eq!(scene.status(id).await, "unknown");
    it_wakes_up_too_late(&scene, &paused, id).await;
    testkit::threat("T28", 1, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_call_stays_its_workers_and_happens_once() {
    let scene = Scene::open(false).await;
    scene.mode(Effect::Mail, Mode::Slow { ms: 2_000 }).await;
    let _slow = scene.worker("w-slow");
    let _other = scene.worker("w-other");
    let id = scene.queue(Effect::Mail, "k-1").await;
    scene.until_status(id, "succeeded").await;
    let page = scene.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(page.takeovers, 0);
    assert_eq!(scene.effects(id).await, 1);
}
