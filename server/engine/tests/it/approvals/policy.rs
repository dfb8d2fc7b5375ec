//! What takes two people: live leases, money, evidence, corrections, policies and rights.

use super::*;

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
    testkit::threat("T28", 1, 0);
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
    testkit::threat("T27", 1, 0);
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
    testkit::threat("T27", 1, 0);
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
