//! One click, one decision; one audit row per decision and per refusal, none for a replay.

use std::time::Duration;

use domain::{
    access::Role,
    action::{Outcome, Verb},
    problem::Code,
};
use engine::{ActionRequest, EngineError, FinishOutcome};

use crate::fixture::{
    Fixture, action, add_tenant, code, done, happened, mail_request, person, won,
};

const DECISIONS: &str = "select count(*) from audit where action = 'confirm' and result = 'done'";
const REFUSALS: &str = "select count(*) from audit where result = 'denied'";
const RECEIPTS: &str = "select count(*) from operations where console";

#[tokio::test]
async fn fifty_clicks_are_one_decision_with_one_receipt() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    let clicks = (0..50).map(|_| {
        let (engine, operator) = (fixture.engine.clone(), operator.clone());
        tokio::spawn(
            async move { done(engine.act(&operator, happened(id, version, "ch_1")).await) },
        )
    });
    let mut receipts = Vec::new();
    let mut carried_out = 0;
    for click in clicks.collect::<Vec<_>>() {
        let acted = click.await.unwrap();
        carried_out += i32::from(!acted.replayed);
        receipts.push(acted.receipt);
    }
    assert_eq!(carried_out, 1);
    receipts.dedup();
    assert_eq!(receipts.len(), 1, "everybody got the same receipt");
    assert_eq!(fixture.count(DECISIONS).await, 1);
    assert_eq!(fixture.count(REFUSALS).await, 0);
    assert_eq!(fixture.count(RECEIPTS).await, 1);
    assert_eq!(fixture.status(id).await, "succeeded");
    testkit::threat("T25", 50, 0);
}

#[tokio::test]
async fn two_people_with_the_same_decision_share_the_receipt() {
    let fixture = Fixture::new().await;
    let first = fixture.person("first", Role::Operator).await;
    let second = fixture.person("second", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    let one = done(fixture.engine.act(&first, happened(id, version, "ch_1")).await);
    let again = ActionRequest { reason: "I rang them".into(), ..happened(id, version, " ch_1 ") };
    let two = done(fixture.engine.act(&second, again).await);
    assert!(two.replayed);
    assert_eq!(one.receipt.id, two.receipt.id);
    assert_eq!(two.receipt.actor, "first");
    assert_eq!(two.receipt.also_decided_by.len(), 1);
    assert_eq!(two.receipt.also_decided_by[0].reason, "I rang them");
    assert_eq!(fixture.count(DECISIONS).await, 1);
}

#[tokio::test]
async fn of_two_different_decisions_one_wins_and_the_other_is_told() {
    let fixture = Fixture::new().await;
    let first = fixture.person("first", Role::Operator).await;
    let second = fixture.person("second", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    let tasks = [(first, "ch_1"), (second, "ch_2")].map(|(person, reference)| {
        let engine = fixture.engine.clone();
        tokio::spawn(async move {
            let decided = engine.act(&person, happened(id, version, reference)).await?;
            Ok::<_, EngineError>(decided.done().expect("one person may decide it"))
        })
    });
    let mut outcomes = Vec::new();
    for task in tasks {
        outcomes.push(task.await.unwrap());
    }
    let winner = outcomes.iter().find_map(|outcome| outcome.as_ref().ok()).expect("one wins");
    let loser =
        outcomes.iter().find_map(|outcome| outcome.as_ref().err()).expect("one is told").refusal();
    assert_eq!(loser.code, Code::DecidedOtherwise);
    assert_eq!(loser.receipt, Some(winner.receipt.id));
    assert_eq!((fixture.count(DECISIONS).await, fixture.count(REFUSALS).await), (1, 1));
    testkit::threat("T25", 2, 0);
}

#[tokio::test]
async fn a_stale_page_a_viewer_and_another_tenant_change_nothing() {
    let fixture = Fixture::new().await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    for (role, expected) in [
        (Role::Viewer, Code::PermissionMissing),
        (Role::TenantAdmin, Code::PermissionMissing),
        (Role::Auditor, Code::PermissionMissing),
    ] {
        let person = fixture.person(role.as_str(), role).await;
        assert_eq!(
            code(fixture.engine.act(&person, happened(id, version, "ch_1")).await),
            expected
        );
    }
    let stranger = person(&fixture.db, &fixture.engine, "globex", "operator", Role::Operator).await;
    assert_eq!(
        code(fixture.engine.act(&stranger, happened(id, version, "ch_1")).await),
        Code::NotFound
    );
    let stale = fixture
        .engine
        .act(&operator, happened(id, version - 1, "ch_1"))
        .await
        .expect_err("stale")
        .refusal();
    assert_eq!(stale.code, Code::Stale);
    assert_eq!(stale.current.map(|state| state.version), Some(version));
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count(REFUSALS).await, 5, "one row per refusal");
    assert_eq!(fixture.count(RECEIPTS).await, 0);
    testkit::threat("T26", 1, 0);
}

#[tokio::test]
async fn what_is_missing_is_named_and_nothing_is_decided() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    let cases = [
        (ActionRequest { reason: "  ".into(), ..happened(id, version, "ch_1") }, "reason"),
        (ActionRequest { outcome: None, ..happened(id, version, "ch_1") }, "outcome"),
        (happened(id, version, "  "), "external_reference"),
        (ActionRequest { amount_minor: Some(1), ..happened(id, version, "ch_1") }, "amount_minor"),
        (
            ActionRequest {
                amount_minor: Some(1),
                currency: Some("EUR".into()),
                ..happened(id, version, "ch_1")
            },
            "amount_minor",
        ),
        (ActionRequest { reason: "x\0".into(), ..happened(id, version, "ch_1") }, "reason"),
    ];
    for (request, field) in cases {
        let refusal = fixture.engine.act(&operator, request).await.expect_err(field).refusal();
        assert_eq!((refusal.code, refusal.field.as_deref()), (Code::Unprocessable, Some(field)));
    }
    assert_eq!(fixture.status(id).await, "unknown");
}

#[tokio::test]
async fn where_nobody_could_approve_nothing_is_asked_and_nothing_decided() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    for outcome in [Outcome::NotHappenedRetry, Outcome::NotHappenedStop] {
        let denied = ActionRequest { outcome: Some(outcome), ..action(id, Verb::Confirm, version) };
        assert_eq!(code(fixture.engine.act(&operator, denied.clone()).await), Code::TooEarly);
    }
    fixture.db.advance_clock(Duration::from_secs(71)).await;
    for outcome in [Outcome::NotHappenedRetry, Outcome::NotHappenedStop] {
        let denied = ActionRequest { outcome: Some(outcome), ..action(id, Verb::Confirm, version) };
        assert_eq!(code(fixture.engine.act(&operator, denied).await), Code::SecondPersonRequired);
    }
    let large = r#"{"invoice_id":"INV-2","amount_minor":50000,"currency":"EUR"}"#;
    let (big, fence) = won(fixture.reserve_as("big", large).await.unwrap());
    fixture.engine.start(&fixture.service, big, fence).await.unwrap();
    fixture.finish(big, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    let version =
        fixture.engine.operation_for_service(&fixture.service, big).await.unwrap().version;
    assert_eq!(
        code(fixture.engine.act(&operator, happened(big, version, "ch_9")).await),
        Code::SecondPersonRequired
    );
    assert_eq!(fixture.status(big).await, "unknown");
}

#[tokio::test]
async fn a_mail_that_was_not_sent_may_be_tried_again_by_one_person() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, fence) =
        won(fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap());
    fixture.engine.start(&fixture.service, id, fence).await.unwrap();
    fixture.finish(id, fence, FinishOutcome::Ambiguous, None).await.unwrap();
    fixture.engine.reconcile_due().await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(71)).await;
    let version = fixture.engine.operation_for_service(&fixture.service, id).await.unwrap().version;
    let retry = ActionRequest {
        outcome: Some(Outcome::NotHappenedRetry),
        ..action(id, Verb::Confirm, version)
    };
    let acted = done(fixture.engine.act(&operator, retry).await);
    assert_eq!(acted.receipt.after.status.as_str(), "failed_retryable");
    won(fixture.engine.reserve(&fixture.service, mail_request("m")).await.unwrap());
}

#[tokio::test]
async fn release_makes_an_executing_operation_unknown_and_a_reserved_one_claimable() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let version = |id| {
        let (engine, service) = (fixture.engine.clone(), fixture.service.clone());
        async move { engine.operation_for_service(&service, id).await.unwrap().version }
    };
    let (running, fence) = fixture.executing("running").await;
    let (held, _) = won(fixture.reserve("held").await);
    for id in [running, held] {
        let early = action(id, Verb::Release, version(id).await);
        assert_eq!(
            code(fixture.engine.act(&operator, early.clone()).await),
            Code::NotAllowedInState,
            "fresh beats"
        );
        let force = ActionRequest { force: true, ..early };
        assert_eq!(code(fixture.engine.act(&operator, force).await), Code::SecondPersonRequired);
    }
    fixture.db.advance_clock(Duration::from_secs(31)).await;
    let release = action(running, Verb::Release, version(running).await);
    fixture.engine.act(&operator, release.clone()).await.unwrap();
    assert_eq!(fixture.status(running).await, "unknown");
    assert!(done(fixture.engine.act(&operator, release).await).replayed);
    assert_eq!(
        code(fixture.engine.heartbeat(&fixture.service, running, fence).await),
        Code::FenceLost,
        "the old holder is out"
    );
    fixture.engine.act(&operator, action(held, Verb::Release, version(held).await)).await.unwrap();
    assert_eq!(fixture.status(held).await, "reserved");
    let kinds = vec!["invoice.charge".to_owned()];
    let work = fixture.engine.claim(&fixture.service, &kinds, 5, None).await.unwrap();
    assert_eq!(
        work.iter().map(|work| work.id).collect::<Vec<_>>(),
        [held],
        "the unknown one is not runnable"
    );
}

#[tokio::test]
async fn retry_cancel_reconcile_and_correct_follow_the_table() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let act = |id, verb| {
        let (engine, service, operator) =
            (fixture.engine.clone(), fixture.service.clone(), operator.clone());
        async move {
            let version = engine.operation_for_service(&service, id).await.unwrap().version;
            engine.act(&operator, action(id, verb, version)).await
        }
    };
    let (failed, fence) = fixture.executing("failed").await;
    fixture.finish(failed, fence, FinishOutcome::NotDone, None).await.unwrap();
    act(failed, Verb::Retry).await.unwrap();
    won(fixture.reserve("failed").await);
    act(failed, Verb::Cancel).await.unwrap();
    assert_eq!(fixture.status(failed).await, "failed_terminal");
    assert_eq!(code(act(failed, Verb::Cancel).await), Code::NotAllowedInState);
    assert_eq!(code(act(failed, Verb::Correct).await), Code::Unprocessable, "to what?");
    let (unknown, _) = fixture.needs_person("unknown").await;
    act(unknown, Verb::Reconcile).await.unwrap();
    assert_eq!(fixture.count("select count(*) from operations where needs_manual").await, 0);
    assert_eq!(fixture.engine.reconcile_due().await.unwrap().handled, 1);
    assert_eq!(code(act(unknown, Verb::Retry).await), Code::NotAllowedInState);
}

#[tokio::test]
async fn without_its_audit_row_no_action_happens() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    sqlx::query("revoke execute on function audit_add from onceover_app")
        .execute(fixture.pool())
        .await
        .unwrap();
    assert!(fixture.engine.act(&operator, happened(id, version, "ch_1")).await.is_err());
    assert!(fixture.engine.take(&operator, id, true).await.is_err());
    assert!(fixture.engine.add_note(&operator, id, "f", "words").await.is_err());
    assert_eq!(fixture.status(id).await, "unknown");
    assert_eq!(fixture.count(RECEIPTS).await, 0);
    assert_eq!(
        fixture
            .count("select (select count(*) from notes) + (select count(*) from operation_takes)")
            .await,
        0
    );
    testkit::threat("T29", 3, 0);
}

#[tokio::test]
async fn notes_and_takes_are_audited_once_and_move_no_version() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let (id, version) = fixture.needs_person("k").await;
    for _ in 0..2 {
        fixture.engine.add_note(&operator, id, "form-1", "I ring the provider").await.unwrap();
        fixture.engine.take(&operator, id, true).await.unwrap();
    }
    assert_eq!(
        code(fixture.engine.add_note(&viewer, id, "form-2", "x").await),
        Code::PermissionMissing
    );
    fixture.engine.add_note(&operator, id, "form-1", "I rang them").await.unwrap();
    let detail = fixture.engine.operation(&viewer, id).await.unwrap();
    assert_eq!(detail.row.version, version);
    let notes: Vec<_> = detail.notes.iter().map(|note| note.text.as_str()).collect();
    assert_eq!(notes, ["I ring the provider", "I rang them"], "sent twice, once; changed, kept");
    assert_eq!(detail.row.taken_by.as_deref(), Some("operator"));
    assert_eq!(
        fixture.count("select count(*) from audit where action in ('note', 'take')").await,
        4
    );
}

#[tokio::test]
async fn the_audit_chain_links_every_row_and_nobody_can_change_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.needs_person("k").await;
    fixture.engine.act(&operator, happened(id, version, "ch_1")).await.unwrap();
    for sql in ["update audit set reason = 'x'", "delete from audit", "truncate audit"] {
        assert!(sqlx::query(sql).execute(fixture.pool()).await.is_err(), "{sql}");
    }
    let broken = "select count(*) from (select hash <> sha256(coalesce(lag(hash) over w, '') || convert_to(
        (jsonb_build_array(tenant_id, seq, extract(epoch from at), actor_kind, actor_id, actor, action, target_type,
          target_id, result, code, reason, before, after, receipt, request_id)
          || case when client is null then '[]' else jsonb_build_array(client) end)::text, 'UTF8')) as broken
        from audit window w as (partition by tenant_id order by seq)) links where broken";
    assert_eq!(fixture.count(broken).await, 0);
    testkit::threat("T30", 3, 0);
}
