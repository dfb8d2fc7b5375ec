//! *Waiting for me*: what others asked for, that this person's right is old enough for and not from
//! their hand, and that has not expired.

use super::*;

async fn waiting(scene: &Scene, by: &StaffCaller) -> Vec<ApprovalId> {
    let filter = ApprovalFilter { waiting: true, ..ApprovalFilter::default() };
    let page = scene.fixture.engine.list_approvals(by, &filter).await.unwrap();
    page.items.into_iter().map(|request| request.id).collect()
}

#[tokio::test]
async fn only_what_a_person_may_decide_waits_for_them() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    assert_eq!(waiting(&scene, &scene.ada).await, [request.id]);
    assert_eq!(waiting(&scene, &scene.operator).await, [], "no right, and their own");
    // A right that is younger than the request does not count.
    let late = scene.fixture.person("late", Role::Approver).await;
    assert_eq!(waiting(&scene, &late).await, []);
    let (own, version) = scene.large("own").await;
    let of_ada = asked(scene.fixture.engine.act(&scene.ada, happened(own, version, "ch_2")).await);
    assert_eq!(waiting(&scene, &scene.ada).await, [request.id], "not one's own");
    assert_eq!(waiting(&scene, &scene.ben).await, [of_ada.id, request.id]);
    scene.approve(&scene.ben, request.id).await.unwrap();
    assert_eq!(waiting(&scene, &scene.ada).await, [], "decided");
    scene.fixture.db.advance_clock(Duration::from_secs(90_000)).await;
    assert_eq!(waiting(&scene, &scene.ben).await, [], "expired");
    let both = ApprovalFilter { waiting: true, mine: true, ..ApprovalFilter::default() };
    let refused = scene.fixture.engine.list_approvals(&scene.ada, &both).await;
    assert_eq!(code(refused), Code::FilterInvalid);
}
