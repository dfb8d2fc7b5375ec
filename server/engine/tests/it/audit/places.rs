//! Checks that people ask for, and heads that are kept outside.

use std::{path::PathBuf, time::Duration};

use domain::{access::Role, view::ChainFault};
use engine::{
    Anchors, Engine, EngineError, Settings, StaffCaller,
    audit::{AnchoredHead, Auditor},
};
use sqlx::{AssertSqlSafe, Executor as _};

use crate::{
    fixture::{Fixture, add_tenant, settings},
    outbox::{receiver::Receiver, to},
};

const ASKED: &str = "select count(*) from audit where action = 'verify_audit' and result = 'done'";
const CHECKS: &str = "select count(*) from audit_checks";

async fn plant(fixture: &Fixture, entries: i64) {
    let sql = format!(
        "select audit_add('{}', 'staff', null, 'ann@acme.test', 'note', 'operation', n::text, 'done', null, 'seen',
           null, null, null, '') from generate_series(1, {entries}) n",
        fixture.service.tenant_id()
    );
    fixture.pool().execute(AssertSqlSafe(sql)).await.unwrap();
}

async fn shown(fixture: &Fixture, by: &StaffCaller) -> domain::view::ChainCheck {
    fixture.engine.audit_chain(by).await.unwrap().check.unwrap()
}

#[tokio::test]
async fn a_short_log_is_checked_at_once_and_says_what_was_found() {
    let fixture = Fixture::new().await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    assert_eq!(fixture.engine.audit_chain(&auditor).await.unwrap().check, None);
    fixture.engine.check_audit_chain(&auditor).await.unwrap();
    let check = shown(&fixture, &auditor).await;
    assert_eq!(check.asked_by, "auditor@acme.test");
    assert!(check.ended_at.is_some() && check.findings.is_whole());
    assert!(check.findings.rows > 0 && check.findings.rows == check.findings.seq);
    assert_eq!(fixture.count(ASKED).await, 1);
    let sql = "set session_replication_role = replica; update audit set actor = 'x' where seq = 2;
        set session_replication_role = origin";
    fixture.pool().execute(sql).await.unwrap();
    fixture.engine.check_audit_chain(&auditor).await.unwrap();
    let check = shown(&fixture, &auditor).await;
    assert_eq!(check.findings.faults, [ChainFault::Altered { from: 2, to: 2 }]);
    assert_eq!((fixture.count(ASKED).await, fixture.count(CHECKS).await), (2, 2));
}

#[tokio::test]
async fn a_long_log_is_checked_in_stretches_by_whoever_is_there_and_asked_for_once() {
    let fixture = Fixture::new().await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let admin = fixture.person("admin", Role::TenantAdmin).await;
    plant(&fixture, 5_000).await;
    let sql = "set session_replication_role = replica;
        update audit set reason = 'other' where target_id = '4000';
        set session_replication_role = origin";
    fixture.pool().execute(sql).await.unwrap();
    fixture.engine.check_audit_chain(&auditor).await.unwrap();
    let check = shown(&fixture, &admin).await;
    assert_eq!(check.ended_at, None, "what is long is not waited for");
    assert!(check.findings.rows < 5_000);
    fixture.engine.check_audit_chain(&admin).await.unwrap();
    assert_eq!((fixture.count(ASKED).await, fixture.count(CHECKS).await), (1, 1), "the same one");
    // Another process goes on where this one stopped.
    let other = Engine::connect(settings(&fixture.db)).await.unwrap();
    let mut runs = 0;
    while other.advance_audit_checks().await.unwrap().handled > 0 {
        runs += 1;
        assert!(runs < 100, "it ends");
    }
    let check = shown(&fixture, &admin).await;
    assert!(check.ended_at.is_some());
    let place = fixture.count("select seq from audit where target_id = '4000'").await;
    assert_eq!(check.findings.faults, [ChainFault::Altered { from: place, to: place }]);
    assert!(check.findings.rows >= 5_000);
    let rewritten = fixture.pool().execute("update audit_checks set asked_by = 'x'").await;
    assert!(rewritten.is_err(), "what was found stays as it was found");
}

/// A file of one test's own.
fn place(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("onceover-{name}-{}", std::process::id()))
}

async fn anchoring(fixture: &Fixture, anchors: Anchors, url: Option<&str>) -> Engine {
    let destinations = url.map(to).into_iter().collect();
    Engine::connect(Settings { anchors, destinations, ..settings(&fixture.db) }).await.unwrap()
}

fn lines(path: &PathBuf) -> Vec<AnchoredHead> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[tokio::test]
async fn heads_go_to_the_file_when_they_are_due_by_one_of_all_processes() {
    let fixture = Fixture::new().await;
    add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let path = place("due");
    let anchors = Anchors { file: Some(path.clone()), destination: None, every_minutes: 60 };
    let one = anchoring(&fixture, anchors.clone(), None).await;
    let two = anchoring(&fixture, anchors, None).await;
    let (first, second) = tokio::join!(one.anchor_due(), two.anchor_due());
    assert_eq!(first.unwrap().handled + second.unwrap().handled, 2);
    assert_eq!(one.anchor_due().await.unwrap().handled, 0, "not due");
    fixture.person("ann", Role::Viewer).await;
    fixture.db.advance_clock(Duration::from_secs(3_601)).await;
    assert_eq!(two.anchor_due().await.unwrap().handled, 2);
    assert_eq!(one.anchor_now().await.unwrap().handled, 2, "whoever asks is not told to wait");
    let heads = lines(&path);
    std::fs::remove_file(&path).unwrap();
    let of = |slug: &str| -> Vec<i64> {
        heads.iter().filter(|head| head.tenant == slug).map(|head| head.seq).collect()
    };
    let (acme, globex) = (of("acme"), of("globex"));
    assert!(acme[0] < acme[1] && acme[1] == acme[2] && globex[0] == globex[2], "{heads:?}");
    let mut auditor = Auditor::connect(&fixture.db.url()).await.unwrap();
    assert_eq!(auditor.compare(&heads).await.unwrap(), vec![None; 6]);
    let auditor = fixture.person("auditor", Role::Auditor).await;
    assert!(one.audit_chain(&auditor).await.unwrap().anchored_at.is_some());
}

#[tokio::test]
async fn a_place_that_is_not_reached_fails_the_task_and_is_tried_again_and_the_other_is_reached() {
    let fixture = Fixture::new().await;
    let path = place("retried");
    let receiver = Receiver::start().await;
    let anchors = Anchors {
        file: Some("/nonexistent/folder/heads".into()),
        destination: Some(to(&receiver.url).name),
        every_minutes: 60,
    };
    let engine = anchoring(&fixture, anchors.clone(), Some(&receiver.url)).await;
    let failed = engine.anchor_due().await.unwrap_err();
    assert!(matches!(&failed, EngineError::Anchor("file", _)), "{failed:?}");
    assert_eq!(receiver.came().len(), 1, "the destination has them");
    assert_eq!(engine.anchor_due().await.unwrap().handled, 0, "not at once again");
    let mended = Anchors { file: Some(path.clone()), ..anchors };
    let engine = anchoring(&fixture, mended, Some(&receiver.url)).await;
    fixture.db.advance_clock(Duration::from_secs(61)).await;
    assert_eq!(engine.anchor_due().await.unwrap().handled, 1);
    assert_eq!(lines(&path).len(), 1);
    std::fs::remove_file(&path).unwrap();
    assert_eq!(receiver.came().len(), 1, "that one was not due");
}

#[tokio::test]
async fn heads_are_sent_as_one_document() {
    let fixture = Fixture::new().await;
    let receiver = Receiver::start().await;
    let destination = Some(to(&receiver.url).name);
    let anchors = Anchors { file: None, destination, every_minutes: 60 };
    let engine = anchoring(&fixture, anchors, Some(&receiver.url)).await;
    engine.anchor_now().await.unwrap();
    let document = receiver.came().remove(0).event;
    assert_eq!(document["type"], "audit.anchored");
    let heads: Vec<AnchoredHead> =
        serde_json::from_value(document["data"]["heads"].clone()).unwrap();
    assert_eq!(heads.len(), 1);
    let mut auditor = Auditor::connect(&fixture.db.url()).await.unwrap();
    assert_eq!(auditor.compare(&heads).await.unwrap(), [None]);
}
