//! No audit, no effect (T29): every action there is, carried out and refused, with an audit log that
//! cannot be written. The list is the enum's own, so a new action is in it.

use domain::{
    access::{Permission, Role},
    action::{Subject, TargetType, Verb},
    problem::Code,
};
use engine::{ActionRequest, Engine, EngineError, StaffCaller};
use sqlx::Executor as _;

use super::{everything, ready::ready};
use crate::fixture::Fixture;

/// Ways in which an audit log cannot be written, each with what ends it.
const BROKEN: [(&str, &str, &str); 3] = [
    (
        "a trigger that raises",
        "create function audit_breaks() returns trigger language plpgsql as
           'begin raise exception ''no''; end';
         create trigger audit_breaks before insert on audit for each row execute function audit_breaks()",
        "drop trigger audit_breaks on audit; drop function audit_breaks()",
    ),
    (
        "a right that was revoked",
        "revoke execute on function audit_add from onceover_app, onceover_engine",
        "grant execute on function audit_add to onceover_app, onceover_engine",
    ),
    (
        "a full disk",
        "create function audit_breaks() returns trigger language plpgsql as
           'begin raise exception ''could not extend file'' using errcode = ''disk_full''; end';
         create trigger audit_breaks before insert on audit for each row execute function audit_breaks()",
        "drop trigger audit_breaks on audit; drop function audit_breaks()",
    ),
];

#[track_caller]
fn unaudited<T: std::fmt::Debug>(result: Result<T, EngineError>, what: &str) {
    let error = result.expect_err(what);
    assert!(matches!(error, EngineError::Unaudited(_)), "{what}: {error:?}");
    assert_eq!(error.refusal().code, Code::Unavailable, "{what}");
}

/// Does something while the log cannot be written, in each way, and sees that nothing came of it; in how
/// many ways that was.
pub async fn comes_to_nothing<T: std::fmt::Debug>(
    fixture: &Fixture,
    what: &str,
    attempt: impl AsyncFn() -> Result<T, EngineError>,
) -> usize {
    in_each_way(fixture, &BROKEN, what, attempt).await
}

/// The same of what the database's owner does, from whom no right is taken away.
pub async fn comes_to_nothing_by_the_owner<T: std::fmt::Debug>(
    fixture: &Fixture,
    what: &str,
    attempt: impl AsyncFn() -> Result<T, EngineError>,
) -> usize {
    let ways: Vec<_> =
        BROKEN.into_iter().filter(|(_, break_it, _)| !break_it.starts_with("revoke")).collect();
    in_each_way(fixture, &ways, what, attempt).await
}

async fn in_each_way<T: std::fmt::Debug>(
    fixture: &Fixture,
    ways: &[(&str, &'static str, &'static str)],
    what: &str,
    attempt: impl AsyncFn() -> Result<T, EngineError>,
) -> usize {
    let before = everything(fixture).await;
    for (how, break_it, mend) in ways {
        fixture.pool().execute(*break_it).await.unwrap();
        let result = attempt().await;
        fixture.pool().execute(*mend).await.unwrap();
        unaudited(result, &format!("{what}, {how}"));
        assert_eq!(everything(fixture).await, before, "{what}, {how}");
    }
    ways.len()
}

pub fn every_action() -> impl Iterator<Item = (TargetType, Verb)> {
    TargetType::ALL
        .into_iter()
        .flat_map(|target| Verb::on(target).iter().map(move |verb| (target, *verb)))
}

const ROWS: &str = "select count(*) from audit";

/// One after the other, each with a database of its own; how often something was tried.
async fn carried_out(of: impl Fn(TargetType) -> bool) -> usize {
    let mut tried = 0;
    for (target, verb) in every_action().filter(|(target, _)| of(*target)) {
        let what = format!("{verb} of {target}");
        let ready = ready(target, verb).await;
        tried += comes_to_nothing(&ready.fixture, &what, async || ready.act().await).await;
        let rows = ready.fixture.count(ROWS).await;
        ready.act().await.unwrap_or_else(|error| panic!("{what} was not ready: {error:?}"));
        // An approval is one decision, and what it lets happen another.
        let own = if verb == Verb::Approve { 2 } else { 1 };
        assert_eq!(ready.fixture.count(ROWS).await, rows + own, "{what}: its own row");
    }
    tried
}

#[tokio::test]
async fn no_decision_about_an_operation_is_carried_out_unaudited() {
    let tried = carried_out(|target| target == TargetType::Operation).await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn no_decision_about_a_flow_or_a_message_is_carried_out_unaudited() {
    use TargetType::{Compensation, Inbox, Outbox, Workflow};
    let tried =
        carried_out(|target| matches!(target, Workflow | Compensation | Outbox | Inbox)).await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn no_other_decision_is_carried_out_unaudited() {
    use TargetType::{Compensation, Inbox, Operation, Outbox, Workflow};
    let others = |target: TargetType| {
        !matches!(target, Operation | Workflow | Compensation | Outbox | Inbox)
    };
    let tried = carried_out(others).await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn no_refusal_is_told_unaudited() {
    let fixture = Fixture::new().await;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let nowhere = "01937000-0000-7000-8000-00000000dead";
    let mut tried = 0;
    for (target, verb) in every_action() {
        let what = format!("refused {verb} of {target}");
        let request = ActionRequest {
            summary: Some("x".into()),
            ..ActionRequest::new(Subject::new(target, nowhere), verb, 1, "seen")
        };
        tried += comes_to_nothing(&fixture, &what, async || {
            refused(&fixture.engine, &viewer, request.clone()).await
        })
        .await;
        let denied = fixture.count(DENIED).await;
        refused(&fixture.engine, &viewer, request.clone()).await.expect_err(&what);
        assert_eq!(fixture.count(DENIED).await, denied + 1, "{what}");
    }
    testkit::threat("T29", tried, 0);
}

const DENIED: &str = "select count(*) from audit where result = 'denied'";

/// By the door that the verb has.
async fn refused(
    engine: &Engine,
    by: &StaffCaller,
    request: ActionRequest,
) -> Result<(), EngineError> {
    let settling = || engine::Settling { version: Some(1), reason: "seen".into() };
    let id = || request.target.id.parse().unwrap();
    match (request.target.kind, request.verb) {
        (TargetType::Approval, Verb::Approve) => {
            engine.approve(by, id(), settling()).await.map(drop)
        }
        (TargetType::Approval, Verb::Reject) => engine.reject(by, id(), settling()).await.map(drop),
        (TargetType::Approval, _) => engine.withdraw(by, id(), settling()).await.map(drop),
        _ => engine.act(by, request).await.map(drop),
    }
}

#[tokio::test]
async fn a_look_without_the_right_is_refused_only_where_it_can_be_written_down() {
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let nowhere = "01937000-0000-7000-8000-00000000dead";
    let mut tried = 0;
    tried += comes_to_nothing(&fixture, "people", async || engine.members(&viewer).await).await;
    tried += comes_to_nothing(&fixture, "tokens", async || engine.tokens(&viewer).await).await;
    tried += comes_to_nothing(&fixture, "one token", async || {
        engine.token(&viewer, nowhere.parse().unwrap()).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a reveal", async || {
        engine.revealed(&viewer, nowhere.parse().unwrap()).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a revealed artifact", async || {
        engine.revealed_artifact(&viewer, nowhere.parse().unwrap()).await
    })
    .await;
    tried +=
        comes_to_nothing(&fixture, "the chain", async || engine.audit_chain(&viewer).await).await;
    testkit::threat("T29", tried, 0);
}

#[tokio::test]
async fn what_people_do_beside_decisions_comes_to_nothing_unaudited() {
    let fixture = Fixture::new().await;
    let engine = &fixture.engine;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let (id, _) = fixture.needs_person("k").await;
    assert!(!operator.permits(Permission::ReadAudit));
    let mut tried = 0;
    tried += comes_to_nothing(&fixture, "a note", async || {
        engine.add_note(&operator, id, "form-1", "rang them").await
    })
    .await;
    tried +=
        comes_to_nothing(&fixture, "taking", async || engine.take(&operator, id, true).await).await;
    tried += comes_to_nothing(&fixture, "freezing", async || {
        fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "reading the log without the right", async || {
        engine.list_audit(&operator, &Default::default()).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a check of the chain", async || {
        engine.check_audit_chain(&auditor).await
    })
    .await;
    tried += comes_to_nothing(&fixture, "a check without the right", async || {
        engine.check_audit_chain(&approver).await
    })
    .await;
    testkit::threat("T29", tried, 0);
}
