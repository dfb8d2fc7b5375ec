//! Four eyes (A5 to A7, T23, T24): what takes two people waits for the second, is carried out once,
//! and nobody gets around it.

#![allow(clippy::unwrap_used, reason = "a test ends at the first surprise")]

use std::time::Duration;

use domain::{
    access::Role,
    action::{Outcome, Subject, TargetType, Verb},
    approval::ApprovalStatus,
    ids::{ApprovalId, OperationId},
    problem::Code,
    view::ApprovalView,
};
use engine::{
    Acted, ActionRequest, ApprovalFilter, EngineError, FinishOutcome, Settling, StaffCaller,
    identity::Admin,
};

use crate::evidence::{done as says_done, webhook};
use crate::fixture::{Fixture, action, asked, code, done, happened, person, won};

const LARGE: &str = r#"{"invoice_id":"INV-9","amount_minor":50000,"currency":"EUR"}"#;

/// A tenant with a requester and two who may approve.
struct Scene {
    fixture: Fixture,
    operator: StaffCaller,
    ada: StaffCaller,
    ben: StaffCaller,
}

impl Scene {
    async fn open() -> Self {
        let fixture = Fixture::new().await;
        let operator = fixture.person("operator", Role::Operator).await;
        let ada = fixture.person("ada", Role::Approver).await;
        let ben = fixture.person("ben", Role::Approver).await;
        Self { fixture, operator, ada, ben }
    }

    /// An unknown charge from the kind's threshold on.
    async fn large(&self, key: &str) -> (OperationId, i64) {
        let fixture = &self.fixture;
        let (id, fence) = won(fixture.reserve_as(key, LARGE).await.unwrap());
        fixture.engine.start(&fixture.service, id, fence).await.unwrap();
        fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
        fixture.engine.reconcile_due().await.unwrap();
        (id, self.version(id).await)
    }

    async fn version(&self, id: OperationId) -> i64 {
        let fixture = &self.fixture;
        fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version
    }

    async fn ask(&self, request: ActionRequest) -> ApprovalView {
        asked(self.fixture.engine.act(&self.operator, request).await)
    }

    async fn approve(&self, by: &StaffCaller, id: ApprovalId) -> Result<Acted, EngineError> {
        self.fixture.engine.approve(by, id, Settling::default()).await
    }

    async fn state(&self, id: ApprovalId) -> ApprovalStatus {
        self.fixture.engine.approval(&self.operator, id).await.unwrap().status
    }

    async fn count(&self, sql: &'static str) -> i64 {
        self.fixture.count(sql).await
    }
}

const DECIDED: &str = "select count(*) from audit where action = 'confirm' and result = 'done'";
const SETTLED: &str = "select count(*) from operation_events where move in ('O21', 'O22', 'O23')";
const RECEIPTS: &str = "select count(*) from operations where console";

fn because(reason: &str) -> Settling {
    Settling { version: Some(1), reason: reason.into() }
}

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
}

async fn second_token(scene: &Scene, admin: &mut Admin, email: &str) -> StaffCaller {
    let name = format!("t{}", scene.count("select count(*) from tokens").await);
    let token = admin.add_staff_token(email, "acme", &name, None).await.unwrap();
    match scene.fixture.engine.caller_by_bearer(&token, "r-9").await.unwrap() {
        Some(engine::Caller::Staff(staff)) => staff,
        other => panic!("not a person: {other:?}"),
    }
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

#[tokio::test]
async fn a_live_lease_is_taken_away_by_two_people_only() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let (running, fence) = fixture.executing("running").await;
    let (held, _) = won(fixture.reserve("held").await);
    for (id, after) in [(running, "unknown"), (held, "reserved")] {
        let force =
            ActionRequest { force: true, ..action(id, Verb::Release, scene.version(id).await) };
        let request = scene.ask(force).await;
        assert!(request.force);
        scene.approve(&scene.ada, request.id).await.unwrap();
        assert_eq!(fixture.status(id).await, after);
    }
    let late = fixture.finish(running, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    assert!(matches!(late, engine::Finished::LateEvidenceKept { .. }), "{late:?}");
}

#[tokio::test]
async fn money_that_did_not_move_is_stated_by_two_people() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    for (key, outcome, after) in [
        ("retry", Outcome::NotHappenedRetry, "failed_retryable"),
        ("stop", Outcome::NotHappenedStop, "failed_terminal"),
    ] {
        let (id, version) = fixture.needs_person(key).await;
        let denied = ActionRequest { outcome: Some(outcome), ..action(id, Verb::Confirm, version) };
        let early = fixture.engine.act(&scene.operator, denied.clone()).await;
        assert_eq!(code(early), Code::TooEarly, "no request for what would be refused");
        fixture.db.advance_clock(Duration::from_secs(71)).await;
        let request = scene.ask(denied).await;
        scene.approve(&scene.ben, request.id).await.unwrap();
        assert_eq!(fixture.status(id).await, after);
    }
}

#[tokio::test]
async fn evidence_is_overridden_by_two_people_by_name_and_stays_disputed() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    // The former holder says it happened; it names no amount, so it is no proof.
    let (id, fence) = fixture.executing("k").await;
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    fixture.engine.take_over_expired().await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(71)).await;
    let stop = ActionRequest {
        outcome: Some(Outcome::NotHappenedStop),
        ..action(id, Verb::Confirm, scene.version(id).await)
    };
    let alone = fixture.engine.act(&scene.operator, stop.clone()).await;
    assert_eq!(code(alone), Code::ProviderContradicts);
    let request = scene.ask(ActionRequest { overrides: true, ..stop }).await;
    assert!(request.overrides);
    assert_eq!(scene.count("select count(*) from evidence where refuted_at is not null").await, 0);
    scene.approve(&scene.ada, request.id).await.unwrap();
    assert_eq!(fixture.status(id).await, "failed_terminal");
    let refuted = "select count(*) from evidence where says = 'done'
        and refuted_by = 'operator@acme.test, approved by ada@acme.test'";
    assert_eq!(scene.count(refuted).await, 1);
    let disputed = "select count(*) from incidents where cause = 'confirmation_contradicted' and closed_at is null";
    assert_eq!(scene.count(disputed).await, 1);
    let page = fixture.engine.operation(&scene.operator, id).await.unwrap();
    assert!(page.verdict.sentence.starts_with("Disputed"), "{}", page.verdict.sentence);
}

#[tokio::test]
async fn a_wrong_confirmation_is_corrected_by_two_people_and_keeps_its_state() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let (id, version) = fixture.needs_person("k").await;
    let confirmed = done(fixture.engine.act(&scene.operator, happened(id, version, "ch_1")).await);
    let correct = |outcome, reference: Option<&str>, version| ActionRequest {
        outcome: Some(outcome),
        external_reference: reference.map(str::to_owned),
        ..action(id, Verb::Correct, version)
    };
    let version = confirmed.receipt.after.version;
    let same = fixture
        .engine
        .act(&scene.operator, correct(Outcome::Happened, Some("ch_1"), version))
        .await;
    assert_eq!(code(same), Code::Unprocessable, "it says so already");
    let request = scene.ask(correct(Outcome::NotHappenedStop, None, version)).await;
    let acted = scene.approve(&scene.ada, request.id).await.unwrap();
    assert_eq!(acted.receipt.before, acted.receipt.after);
    assert_eq!(fixture.status(id).await, "succeeded");
    assert_eq!(scene.version(id).await, version);
    let page = fixture.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(
        page.verdict.sentence,
        "Confirmed as: it happened; corrected to: it did not happen, by operator, approved by ada."
    );
    assert_eq!(page.corrections.len(), 1);
    let told = "select count(*) from outbox where topic = 'operation.corrected' and aggregate = operation_id::text";
    assert_eq!(scene.count(told).await, 1);
    let again = done(
        fixture.engine.act(&scene.operator, correct(Outcome::NotHappenedStop, None, version)).await,
    );
    assert!(again.replayed);
    let other = fixture
        .engine
        .act(&scene.operator, correct(Outcome::Happened, Some("ch_2"), version))
        .await;
    assert_eq!(code(other), Code::DecidedOtherwise);
    // What a machine found out is not a person's to correct.
    let (charged, fence) = fixture.executing("done").await;
    fixture.finish(charged, fence, FinishOutcome::Done, Some("ch_3")).await.unwrap();
    let by_machine = ActionRequest {
        outcome: Some(Outcome::NotHappenedStop),
        ..action(charged, Verb::Correct, scene.version(charged).await)
    };
    assert_eq!(
        code(fixture.engine.act(&scene.operator, by_machine).await),
        Code::NotAllowedInState
    );
}

#[tokio::test]
async fn loosening_a_kind_takes_two_people_and_tightening_one() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let put = |policy: engine::store::kind::KindPolicy, version| {
        let target = Subject::new(TargetType::OperationKind, policy.name.clone());
        ActionRequest {
            policy: Some(Box::new(policy)),
            ..ActionRequest::new(target, Verb::PutKind, version, "the finance team asked for it")
        }
    };
    let charge = crate::fixture::charge;
    let version = 1;
    let mut loose = charge();
    loose.approval_threshold_minor = Some(90_000);
    assert_eq!(
        code(fixture.engine.act(&scene.operator, put(loose.clone(), version)).await),
        Code::PermissionMissing
    );
    let request = asked(fixture.engine.act(&admin, put(loose, version)).await);
    assert_eq!(request.changes, ["One person could confirm larger amounts."]);
    let in_force = "select count(*) from operation_kinds where approval_threshold_minor = 90000";
    assert_eq!(scene.count(in_force).await, 0);
    let mut tight = charge();
    tight.approval_threshold_minor = Some(10_000);
    assert_eq!(
        code(fixture.engine.act(&admin, put(tight.clone(), version)).await),
        Code::ApprovalPending
    );
    scene.approve(&scene.ada, request.id).await.unwrap();
    assert_eq!(scene.count(in_force).await, 1);
    assert_eq!(
        code(fixture.engine.act(&admin, put(tight.clone(), version)).await),
        Code::DecidedOtherwise
    );
    done(fixture.engine.act(&admin, put(tight.clone(), 2)).await);
    let mut broken = tight;
    broken.call_deadline_ms = broken.lease_ms + 1;
    assert_eq!(code(fixture.engine.act(&admin, put(broken, 3)).await), Code::Unprocessable);
    let mut fresh = charge();
    fresh.name = "invoice.dispute".into();
    done(fixture.engine.act(&admin, put(fresh, 0)).await);
}

#[tokio::test]
async fn granting_the_right_to_approve_takes_two_people() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let carl = fixture.person("carl", Role::Viewer).await;
    let grant = |role, version| ActionRequest {
        role: Some(role),
        ..ActionRequest::new(
            Subject::new(TargetType::Staff, carl.staff_id().to_string()),
            Verb::Grant,
            version,
            "joins the desk",
        )
    };
    assert_eq!(
        code(fixture.engine.act(&scene.operator, grant(Role::Approver, 1)).await),
        Code::PermissionMissing
    );
    done(fixture.engine.act(&admin, grant(Role::Operator, 1)).await);
    let request = asked(fixture.engine.act(&admin, grant(Role::Approver, 2)).await);
    scene.approve(&scene.ada, request.id).await.unwrap();
    let role = "select count(*) from memberships m join staff s on s.id = m.staff_id
        join staff g on g.id = m.granted_by_id
        where s.name = 'carl' and m.role = 'approver' and m.version = 3 and g.name = 'admin'";
    assert_eq!(scene.count(role).await, 1, "the right remembers whose hand it came from");
    // And so it cannot answer that hand's requests.
    let mut loose = crate::fixture::charge();
    loose.money = false;
    let put = ActionRequest {
        policy: Some(Box::new(loose)),
        ..ActionRequest::new(
            Subject::new(TargetType::OperationKind, "invoice.charge"),
            Verb::PutKind,
            1,
            "simpler",
        )
    };
    let request = asked(fixture.engine.act(&admin, put).await);
    assert_eq!(request.may_approve, ["ada", "ben"]);
    let mut owner = Admin::connect(&fixture.db.url()).await.unwrap();
    let carl = second_token(&scene, &mut owner, "carl@acme.test").await;
    assert_eq!(code(scene.approve(&carl, request.id).await), Code::SecondPersonRequired);
}

#[tokio::test]
async fn nobody_moves_money_alone() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let small = r#"{"invoice_id":"INV-1","amount_minor":49999,"currency":"EUR"}"#;
    let mut n = 0;
    for (payload, large) in [(small, false), (LARGE, true)] {
        for outcome in Outcome::ALL {
            for by in [&viewer, &admin, &auditor, &scene.operator, &scene.ada] {
                n += 1;
                let (id, fence) =
                    won(fixture.reserve_as(&format!("m-{n}"), payload).await.unwrap());
                fixture.engine.start(&fixture.service, id, fence).await.unwrap();
                fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
                fixture.db.advance_clock(Duration::from_secs(71)).await;
                let request = ActionRequest {
                    outcome: Some(outcome),
                    external_reference: (outcome == Outcome::Happened).then(|| "ch_1".into()),
                    ..action(id, Verb::Confirm, scene.version(id).await)
                };
                let decided = fixture.engine.act(by, request).await;
                let name = by.name();
                if !by.permits(Verb::Confirm.permission()) {
                    assert_eq!(code(decided), Code::PermissionMissing, "{name} {outcome:?}");
                } else if outcome == Outcome::Happened && !large {
                    done(decided);
                    assert_eq!(fixture.status(id).await, "succeeded");
                    continue;
                } else {
                    let request = asked(decided);
                    assert_eq!(code(scene.approve(by, request.id).await).status(), 403, "{name}");
                }
                assert_eq!(fixture.status(id).await, "unknown", "{name} {outcome:?} {payload}");
            }
        }
    }
    assert_eq!(scene.count(SETTLED).await, 2, "below the threshold, with the provider's reference");
    let denied = "select count(*) from audit where result = 'denied' and action = 'confirm'";
    assert_eq!(scene.count(denied).await, 18, "one row for each refusal");
}

#[tokio::test]
async fn an_incident_is_closed_once_by_a_person_with_a_reason() {
    let scene = Scene::open().await;
    let fixture = &scene.fixture;
    let (id, fence) = fixture.executing("k").await;
    fixture.finish(id, fence, FinishOutcome::Done, Some("ch_1")).await.unwrap();
    webhook(fixture, &says_done("evt_1", &id.to_string(), "ch_2", 12_900)).await;
    let page = fixture.engine.operation(&scene.operator, id).await.unwrap();
    let incident = page.incidents.first().expect("two references").clone();
    let close = |reason: &str, version| {
        let target = Subject::new(TargetType::Incident, incident.id.to_string());
        ActionRequest::new(target, Verb::Close, version, reason)
    };
    assert_eq!(code(fixture.engine.act(&scene.operator, close(" ", 1)).await), Code::Unprocessable);
    let viewer = fixture.person("viewer", Role::Viewer).await;
    assert_eq!(code(fixture.engine.act(&viewer, close("seen", 1)).await), Code::PermissionMissing);
    assert_eq!(code(fixture.engine.act(&scene.operator, close("seen", 9)).await), Code::Stale);
    let acted = done(fixture.engine.act(&scene.operator, close("refunded ch_2 by hand", 1)).await);
    assert_eq!(acted.receipt.after.status.as_str(), "closed");
    assert!(done(fixture.engine.act(&scene.ada, close("me too", 1)).await).replayed);
    assert_eq!(
        code(fixture.engine.act(&scene.operator, close("again", 2)).await),
        Code::NotAllowedInState
    );
    let page = fixture.engine.operation(&scene.operator, id).await.unwrap();
    assert_eq!(page.incidents[0].closed_by.as_deref(), Some("operator@acme.test"));
    assert!(!page.row.open_incident);
}
