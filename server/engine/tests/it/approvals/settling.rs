//! Asking, approving, rejecting, withdrawing: one request, one decision.

use super::*;

#[tokio::test]
async fn a_large_amount_is_confirmed_by_two_people_and_the_receipt_names_both() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    assert_eq!(request.status, ApprovalStatus::Pending);
    assert_eq!(request.may_approve, ["ada", "ben"]);
    assert_eq!(request.amount.as_ref().map(|money| money.amount_minor), Some(50_000));
    assert_eq!(scene.fixture.status(id).await, "unknown", "nothing but the request was written");
    assert_eq!(scene.count(RECEIPTS).await, 0, "the key is taken when it is carried out");
    let told = "select count(*) from outbox where topic = 'approval.requested'
        and convert_from(payload, 'UTF8')::jsonb @> '{\"may_approve\": [{\"email\": \"ada@acme.test\"}]}'
        and aggregate = convert_from(payload, 'UTF8')::jsonb ->> 'approval_id'";
    assert_eq!(scene.count(told).await, 1, "those who may approve are told, by name");

    let page = scene.fixture.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(page.approvals.len(), 1);
    assert_eq!(page.row.version, version, "a request moves no version");

    let acted = scene.approve(&scene.ada, request.id).await.unwrap();
    assert!(!acted.replayed);
    assert_eq!(acted.receipt.actor, "operator");
    assert_eq!(acted.receipt.approved_by.as_ref().map(|second| second.actor.as_str()), Some("ada"));
    assert_eq!(acted.receipt.action_key, format!("console.confirm:{id}@{version}"));
    assert_eq!(scene.fixture.status(id).await, "succeeded");

    for again in [&scene.ada, &scene.ben] {
        let again = scene.approve(again, request.id).await.unwrap();
        assert!(again.replayed);
        assert_eq!(again.receipt.id, acted.receipt.id);
    }
    let resent =
        done(scene.fixture.engine.act(&scene.operator, happened(id, version, "ch_1")).await);
    assert!(resent.replayed);
    assert_eq!(resent.receipt.id, acted.receipt.id);
    let actors = "select count(*) from audit where action = 'confirm' and result = 'done'
        and actor = 'ada@acme.test' and after ->> 'requested_by' = 'operator@acme.test'";
    assert_eq!(scene.count(actors).await, 1);
    assert_eq!(scene.count(DECIDED).await, 1);
    let rows = "select count(*) from audit where action in ('request.confirm', 'approve') and result = 'done'";
    assert_eq!(scene.count(rows).await, 2);
}

#[tokio::test]
async fn the_requester_never_approves_whatever_the_role_session_or_name() {
    let scene = Scene::open().await;
    let engine = &scene.fixture.engine;
    let (id, version) = scene.large("k").await;
    // An approver who asks is a requester like any other.
    let request = asked(engine.act(&scene.ada, happened(id, version, "ch_1")).await);
    assert_eq!(request.may_approve, ["ben"]);
    let mut denied = Vec::new();
    denied.push(code(scene.approve(&scene.ada, request.id).await));
    // A second session or token of the same person.
    let url = scene.fixture.db.url();
    let mut admin = Admin::connect(&url).await.unwrap();
    let second = second_token(&scene, &mut admin, "ada@acme.test").await;
    denied.push(code(scene.approve(&second, request.id).await));
    // A renamed account is the same person.
    sqlx::query("update staff set email = 'someone.else@acme.test', name = 'Somebody' where email = 'ada@acme.test'")
        .execute(scene.fixture.pool())
        .await
        .unwrap();
    let renamed = second_token(&scene, &mut admin, "someone.else@acme.test").await;
    denied.push(code(scene.approve(&renamed, request.id).await));
    // Another role in between changes nothing.
    admin.set_role("someone.else@acme.test", "acme", Role::TenantAdmin).await.unwrap();
    let as_admin = second_token(&scene, &mut admin, "someone.else@acme.test").await;
    denied.push(code(scene.approve(&as_admin, request.id).await));
    admin.set_role("someone.else@acme.test", "acme", Role::Approver).await.unwrap();
    let back = second_token(&scene, &mut admin, "someone.else@acme.test").await;
    denied.push(code(scene.approve(&back, request.id).await));
    assert_eq!(
        denied,
        [
            Code::SecondPersonRequired,
            Code::SecondPersonRequired,
            Code::SecondPersonRequired,
            Code::PermissionMissing,
            Code::SecondPersonRequired,
        ]
    );
    assert!(denied.iter().all(|code| code.status() == 403));
    let rows = "select count(*) from audit where action = 'approve' and result = 'denied'";
    assert_eq!(scene.count(rows).await, 5, "each refusal stands in the log");
    assert_eq!(scene.fixture.status(id).await, "unknown");
    let by_hand = sqlx::query(
        "update approvals set status = 'approved', decider_id = requester_id, decider = 'me',
           decided_at = now(), receipt = id where status = 'pending'",
    )
    .execute(scene.fixture.pool())
    .await
    .unwrap_err();
    assert!(by_hand.to_string().contains("approvals_by_another"), "{by_hand}");
    let by_nobody = sqlx::query(
        "update approvals set status = 'approved', decided_at = now(), receipt = id where status = 'pending'",
    )
    .execute(scene.fixture.pool())
    .await
    .unwrap_err();
    assert!(by_nobody.to_string().contains("approvals_by_another"), "{by_nobody}");
    testkit::threat("T23", denied.len() + 2, 0);
}

#[tokio::test]
async fn fifty_approvals_by_two_people_move_it_once() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    let clicks = (0..50).map(|n| {
        let engine = scene.fixture.engine.clone();
        let by = if n % 2 == 0 { scene.ada.clone() } else { scene.ben.clone() };
        let id = request.id;
        tokio::spawn(async move { engine.approve(&by, id, Settling::default()).await.unwrap() })
    });
    let (mut carried_out, mut receipts) = (0, Vec::new());
    for click in clicks.collect::<Vec<_>>() {
        let acted = click.await.unwrap();
        carried_out += i32::from(!acted.replayed);
        receipts.push(acted.receipt.id);
    }
    receipts.dedup();
    assert_eq!((carried_out, receipts.len()), (1, 1));
    assert_eq!(scene.count(SETTLED).await, 1);
    assert_eq!(scene.count(DECIDED).await, 1);
    assert_eq!(scene.count(RECEIPTS).await, 1);
    let refused = "select count(*) from audit where result = 'denied'";
    assert_eq!(scene.count(refused).await, 0);
    testkit::threat("T23", 50, 0);
}

#[tokio::test]
async fn a_request_that_the_record_has_left_behind_is_void() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    done(fixture.engine.act(&scene.ben, action(id, Verb::Reconcile, version)).await);
    let refusal = scene.approve(&scene.ada, request.id).await.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::Stale);
    assert_eq!(
        refusal.current.map(|state| state.status.as_str().to_owned()).as_deref(),
        Some("stale")
    );
    assert_eq!(scene.state(request.id).await, ApprovalStatus::Stale);
    assert_eq!(code(scene.approve(&scene.ada, request.id).await), Code::Stale, "for good");
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(scene.count(SETTLED).await, 0);
    // The way is free for another request at the version that stands now.
    fixture.engine.reconcile_due().await.unwrap();
    let next = scene.ask(happened(id, scene.version(id).await, "ch_1")).await;
    scene.approve(&scene.ada, next.id).await.unwrap();
    assert_eq!(fixture.status(id).await, "succeeded");
    testkit::threat("T24", 2, 0);
}

#[tokio::test]
async fn an_expired_a_withdrawn_and_a_rejected_request_carry_nothing_out() {
    let scene = Scene::open().await;
    let engine = &scene.fixture.engine;
    let (id, version) = scene.large("k").await;

    let withdrawn = scene.ask(happened(id, version, "ch_1")).await.id;
    let not_mine = engine.withdraw(&scene.ada, withdrawn, Settling::default()).await;
    assert_eq!(code(not_mine), Code::PermissionMissing);
    engine.withdraw(&scene.operator, withdrawn, Settling::default()).await.unwrap();
    let again = engine.withdraw(&scene.operator, withdrawn, Settling::default()).await.unwrap();
    assert!(again.replayed);
    assert_eq!(code(scene.approve(&scene.ada, withdrawn).await), Code::NotAllowedInState);

    let rejected = scene.ask(happened(id, version, "ch_1")).await.id;
    let own = engine.reject(&scene.operator, rejected, because("no")).await;
    assert_eq!(code(own), Code::PermissionMissing);
    assert_eq!(
        code(engine.reject(&scene.ada, rejected, Settling::default()).await),
        Code::Unprocessable
    );
    let receipt =
        engine.reject(&scene.ada, rejected, because("wrong invoice")).await.unwrap().receipt;
    assert_eq!((receipt.target_type, receipt.verb), (TargetType::Approval, Verb::Reject));
    let refusal = scene.approve(&scene.ben, rejected).await.unwrap_err().refusal();
    assert_eq!((refusal.code, refusal.receipt), (Code::DecidedOtherwise, Some(receipt.id)));

    let late = scene.ask(happened(id, version, "ch_1")).await.id;
    scene.fixture.db.advance_clock(Duration::from_secs(86_401)).await;
    assert_eq!(code(scene.approve(&scene.ada, late).await), Code::Stale);
    assert_eq!(scene.state(late).await, ApprovalStatus::Expired);

    let unseen = scene.ask(happened(id, version, "ch_1")).await.id;
    assert_eq!(engine.expire_approvals().await.unwrap().handled, 0);
    scene.fixture.db.advance_clock(Duration::from_secs(86_401)).await;
    assert_eq!(engine.expire_approvals().await.unwrap().handled, 1);
    assert_eq!(scene.state(unseen).await, ApprovalStatus::Expired);

    assert_eq!(scene.fixture.status(id).await, "unknown");
    assert_eq!(scene.count(SETTLED).await, 0);
    let moved = "select count(*) from machine_events where machine = 'approval' and rule = 'A7'";
    assert_eq!(scene.count(moved).await, 4);
    testkit::threat("T24", 7, 0);
}

#[tokio::test]
async fn one_request_waits_per_record_and_verb() {
    let scene = Scene::open().await;
    let engine = &scene.fixture.engine;
    let (id, version) = scene.large("k").await;
    let first = scene.ask(happened(id, version, "ch_1")).await;
    let twice =
        scene.ask(ActionRequest { reason: "again".into(), ..happened(id, version, "ch_1") }).await;
    assert_eq!(first.id, twice.id, "the same person asking for the same is one request");
    let other = engine.act(&scene.operator, happened(id, version, "ch_2")).await;
    assert_eq!(code(other), Code::ApprovalPending);
    assert_eq!(
        code(engine.act(&scene.ben, happened(id, version, "ch_1")).await),
        Code::ApprovalPending
    );
    assert_eq!(scene.count("select count(*) from approvals").await, 1);
    done(engine.act(&scene.ben, action(id, Verb::Reconcile, version)).await);
    assert_eq!(
        scene.state(first.id).await,
        ApprovalStatus::Pending,
        "another verb is another matter"
    );
}

#[tokio::test]
async fn a_right_to_approve_that_is_younger_or_from_the_requesters_hand_does_not_count() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    let young = fixture.person("young", Role::Approver).await;
    assert_eq!(code(scene.approve(&young, request.id).await), Code::SecondPersonRequired);
    // Ben's right came from the requester.
    sqlx::query("update memberships set granted_by_id = $1 where staff_id = $2")
        .bind(scene.operator.staff_id().uuid())
        .bind(scene.ben.staff_id().uuid())
        .execute(fixture.pool())
        .await
        .unwrap();
    assert_eq!(code(scene.approve(&scene.ben, request.id).await), Code::SecondPersonRequired);
    let shown = fixture.engine.approval(&scene.operator, request.id).await.unwrap();
    assert_eq!(shown.may_approve, ["ada"]);
    // A right that was taken away since is gone, whatever the session says.
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.set_role("ada@acme.test", "acme", Role::Viewer).await.unwrap();
    assert_eq!(code(scene.approve(&scene.ada, request.id).await), Code::PermissionMissing);
    assert_eq!(fixture.status(id).await, "unknown");
}

#[tokio::test]
async fn a_requester_who_lost_the_right_decides_nothing_any_more() {
    let scene = Scene::open().await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await;
    let mut admin = Admin::connect(&scene.fixture.db.url()).await.unwrap();
    admin.set_role("operator@acme.test", "acme", Role::Viewer).await.unwrap();
    assert_eq!(code(scene.approve(&scene.ada, request.id).await), Code::Stale);
    assert_eq!(scene.fixture.status(id).await, "unknown");
}

#[tokio::test]
async fn another_tenants_request_is_no_request() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    crate::fixture::add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let stranger = person(&fixture.db, &fixture.engine, "globex", "eve", Role::Approver).await;
    let (id, version) = scene.large("k").await;
    let request = scene.ask(happened(id, version, "ch_1")).await.id;
    assert_eq!(code(scene.approve(&stranger, request).await), Code::NotFound);
    assert_eq!(code(fixture.engine.approval(&stranger, request).await), Code::NotFound);
    let list = fixture.engine.list_approvals(&stranger, &ApprovalFilter::default()).await.unwrap();
    assert!(list.items.is_empty());
}

#[tokio::test]
async fn the_lists_tell_mine_from_others_and_page_both_ways() {
    let scene = Scene::open().await;
    let engine = &scene.fixture.engine;
    let mut ids = Vec::new();
    for n in 0..5 {
        let (id, version) = scene.large(&format!("k-{n}")).await;
        ids.push(scene.ask(happened(id, version, "ch_1")).await.id);
    }
    scene.approve(&scene.ada, ids[0]).await.unwrap();
    let list = async |by: &StaffCaller, filter: ApprovalFilter| {
        let page = engine.list_approvals(by, &filter).await.unwrap();
        (page.items.iter().map(|item| item.id).collect::<Vec<_>>(), page.next, page.previous)
    };
    let newest = |from: usize, to: usize| ids[from..to].iter().rev().copied().collect::<Vec<_>>();
    let mine = || ApprovalFilter { mine: true, limit: Some(2), ..ApprovalFilter::default() };
    let (first, next, _) = list(&scene.operator, mine()).await;
    assert_eq!(first, newest(3, 5));
    let (second, last, previous) =
        list(&scene.operator, ApprovalFilter { cursor: next, ..mine() }).await;
    assert_eq!((second, last), (newest(1, 3), None));
    let (back, _, none) =
        list(&scene.operator, ApprovalFilter { cursor: previous, ..mine() }).await;
    assert_eq!((back, none), (newest(3, 5), None));
    let others = ApprovalFilter { others: true, ..ApprovalFilter::default() };
    assert!(list(&scene.operator, others.clone()).await.0.is_empty());
    assert_eq!(list(&scene.ada, others).await.0.len(), 4);
    let decided = ApprovalFilter { decided: true, ..ApprovalFilter::default() };
    assert_eq!(list(&scene.ada, decided).await.0, [ids[0]]);
}
