//! *Waiting for me*: what others asked for, that this person's right is old enough for and not from
//! their hand, and that has not expired.

use engine::store::kind::KindPolicy;

use super::*;
use crate::fixture::charge;

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

#[tokio::test]
async fn a_request_stands_as_long_as_its_kind_says() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    let tenant = admin.ensure_tenant("acme", "acme").await.unwrap();
    let hour = KindPolicy { approval_ttl_ms: 3_600_000, ..charge() };
    admin.put_kind(tenant, &hour).await.unwrap();
    let mut requests = Vec::new();
    for key in ["in time", "late", "unseen"] {
        let (id, version) = scene.large(key).await;
        let request = scene.ask(happened(id, version, "ch_1")).await;
        let stands = (request.expires_at - request.requested_at).num_milliseconds();
        assert_eq!(stands, 3_600_000, "{key}");
        requests.push((id, request.id));
    }
    let [in_time, late, unseen] = requests.try_into().unwrap();

    fixture.db.advance_clock(Duration::from_secs(3_590)).await;
    assert_eq!(fixture.engine.expire_approvals().await.unwrap().handled, 0);
    assert_eq!(waiting(&scene, &scene.ada).await.len(), 3);
    scene.approve(&scene.ada, in_time.1).await.unwrap();

    fixture.db.advance_clock(Duration::from_secs(11)).await;
    assert_eq!(waiting(&scene, &scene.ada).await, []);
    assert_eq!(code(scene.approve(&scene.ada, late.1).await), Code::Stale);
    assert_eq!(fixture.engine.expire_approvals().await.unwrap().handled, 1);
    for (id, request) in [late, unseen] {
        assert_eq!(scene.state(request).await, ApprovalStatus::Expired);
        assert_eq!(fixture.status(id).await, "unknown", "nothing was carried out");
    }
    assert_eq!(fixture.status(in_time.0).await, "succeeded");

    // A longer time holds for what is asked from then on.
    admin.put_kind(tenant, &charge()).await.unwrap();
    let again = scene.ask(happened(late.0, scene.version(late.0).await, "ch_1")).await;
    assert_eq!((again.expires_at - again.requested_at).num_hours(), 24);
    testkit::threat("T24", 2, 0);
}

#[tokio::test]
async fn the_list_narrows_by_state_and_by_the_day_of_asking() {
    let scene = Scene::open().await;
    let (first, version) = scene.large("first").await;
    let first = scene.ask(happened(first, version, "ch_1")).await;
    scene.fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let (second, version) = scene.large("second").await;
    let second = scene.ask(happened(second, version, "ch_2")).await;
    let between = Some(first.requested_at + chrono::TimeDelta::hours(1));
    let list = async |filter: ApprovalFilter| {
        let page = scene.fixture.engine.list_approvals(&scene.ada, &filter).await.unwrap();
        page.items.into_iter().map(|request| request.id).collect::<Vec<_>>()
    };
    let base = ApprovalFilter::default;
    assert_eq!(list(base()).await, [second.id, first.id]);
    assert_eq!(list(ApprovalFilter { to: between, ..base() }).await, [first.id]);
    assert_eq!(list(ApprovalFilter { from: between, ..base() }).await, [second.id]);
    scene.approve(&scene.ben, second.id).await.unwrap();
    let approved = || ApprovalFilter { status: Some(ApprovalStatus::Approved), ..base() };
    assert_eq!(list(approved()).await, [second.id]);
    assert_eq!(list(ApprovalFilter { to: between, ..approved() }).await, []);
    let upside_down = ApprovalFilter { from: between, to: Some(first.requested_at), ..base() };
    let refused = scene.fixture.engine.list_approvals(&scene.ada, &upside_down).await;
    assert_eq!(code(refused), Code::FilterInvalid);
}
