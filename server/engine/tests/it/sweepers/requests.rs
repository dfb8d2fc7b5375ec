//! Requests for a second person: in the list while they wait, and expired by the sweep when their time
//! is over. One that gives way to another leaves no trace in the timeline.

use std::time::Duration;

use domain::{
    access::Role,
    action::{Subject, TargetType, Verb},
};
use engine::store::approval::{self, Narrowing, NewApproval};

use super::{Found, INSTANTS, MANY, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_request_that_waits_is_in_the_list_and_expires() {
    let fixture = Fixture::new().await;
    fixture.person("operator", Role::Operator).await;
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    let mut number = 0;
    for expires in &INSTANTS[1..] {
        for decided in INSTANTS {
            for decider in ["null", "gen_random_uuid()"] {
                number += 1;
                let what = format!("expires {expires} decided {decided} decider {decider}");
                let request = format!(
                    "insert into approvals (tenant_id, verb, target_type, target_id, version, decision, binds, seen,
                       reason, status, requester_id, requester, expires_at, decided_at, decider_id)
                     select m.tenant_id, 'confirm', 'operation', 't-{number}', 1, '{{}}', sha256(''), '{{}}', 'why',
                       'pending', m.staff_id, 'operator', {expires}, {decided}, {decider}
                     from memberships m limit 1 returning id"
                );
                found.plant(&mut tx, &what, request).await;
            }
        }
    }
    tx.commit().await.unwrap();
    let waiting = Narrowing {
        tenant: fixture.service.tenant_id(),
        statuses: vec!["pending".into()],
        by: None,
        not_by: None,
        may: None,
        span: (uuid::Uuid::nil(), uuid::Uuid::max()),
        cursor: None,
        limit: MANY,
    };
    let mut db = fixture.pool().acquire().await.unwrap();
    for id in approval::ids(&mut db, &waiting).await.unwrap() {
        found.look("a person", id);
    }
    drop(db);
    found.judge(4, 8);
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    assert_eq!(fixture.engine.expire_approvals().await.unwrap().handled, 4);
}

#[tokio::test]
async fn a_request_that_gives_way_to_one_that_waits_stands_in_no_timeline() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let tenant = fixture.service.tenant_id();
    let target = Subject { kind: TargetType::Operation, id: "t-1".into() };
    let nothing = serde_json::json!({});
    let ask = || NewApproval {
        tenant,
        verb: Verb::Confirm,
        target: &target,
        version: 1,
        decision: &nothing,
        binds: &[0; 32],
        seen: &nothing,
        amount: None,
        reason: "why",
        evidence: None,
        requester: (operator.staff_id(), "operator"),
        ttl_ms: 60_000,
    };
    let mut db = fixture.pool().acquire().await.unwrap();
    let first = approval::insert(&mut db, ask()).await.unwrap().expect("nobody else asked");
    assert_eq!(approval::insert(&mut db, ask()).await.unwrap(), None, "one waits already");
    drop(db);
    let told: Vec<(uuid::Uuid, String, String)> = sqlx::query_as(
        "select record_id, rule, actor from machine_events where machine = 'approval'",
    )
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    assert_eq!(told, [(first.uuid(), "A5".to_owned(), "operator".to_owned())]);
    fixture.db.advance_clock(Duration::from_secs(61)).await;
    fixture.engine.expire_approvals().await.unwrap();
    assert_eq!(
        fixture
            .count("select count(*) from machine_events where rule = 'A7' and actor = 'engine'")
            .await,
        1
    );
}
