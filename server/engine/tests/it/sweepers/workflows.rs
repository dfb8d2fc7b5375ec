//! Workflows: the executors' turn, the turn of those that are undone, the list of the blocked; and one
//! that rests on an operation, whose move wakes it. A step is its workflow's.

use std::time::Duration;

use domain::{access::Role, listing::WorkflowFilter, workflow::WorkflowState};
use engine::store::{unwind, workflow};
use uuid::Uuid;

use super::{Found, INSTANTS, MANY, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_workflow_that_is_not_over_has_a_turn_a_person_or_an_operation_that_wakes_it() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id();
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    let mut number = 0;
    for status in ["running", "waiting", "blocked", "compensating", "compensation_stuck"] {
        for next_at in INSTANTS {
            for lease in INSTANTS {
                for owner in ["null", "'w'"] {
                    number += 1;
                    let what = format!("{status} next_at {next_at} lease {lease} owner {owner}");
                    let flow = format!(
                        "insert into workflows (tenant_id, kind, key, definition_version, input_hash, status, next_at,
                           lease_until, owner, created_by_kind, created_by)
                         values ('{tenant}', 'line', 'w-{number}', 1, sha256(''), '{status}', {next_at}, {lease},
                           {owner}, 'test', 'test') returning id"
                    );
                    let Some(id) = found.plant(&mut tx, &what, flow).await else { continue };
                    if next_at == "null" && status != "blocked" {
                        sqlx::query(
                            "insert into workflow_steps (tenant_id, workflow_id, step_key, position, status, operation,
                               operation_id)
                             values ($1, $2, 'mail', 1, 'running', 'campaign.send', gen_random_uuid())",
                        )
                        .bind(tenant.uuid())
                        .bind(id)
                        .execute(&mut *tx)
                        .await
                        .unwrap();
                    }
                }
            }
        }
    }
    tx.commit().await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let mut db = fixture.pool().acquire().await.unwrap();
    let kinds = ["line".to_owned()];
    for at in workflow::due(&mut db, &kinds, &[1], MANY).await.unwrap() {
        found.look("a turn", at.id.uuid());
    }
    for at in unwind::take_due(&mut db, MANY, 1_000).await.unwrap() {
        found.look("unwinding", at.id.uuid());
    }
    let resting: Vec<Uuid> = sqlx::query_scalar(
        "select w.id from workflows w join workflow_steps s on s.tenant_id = w.tenant_id and s.workflow_id = w.id
         where w.next_at is null and s.status = 'running' and s.operation_id is not null",
    )
    .fetch_all(fixture.pool())
    .await
    .unwrap();
    for id in resting {
        found.look("its operation", id);
    }
    let operator = fixture.person("operator", Role::Operator).await;
    let filter =
        WorkflowFilter { status: Some(WorkflowState::Blocked), ..WorkflowFilter::default() };
    for row in fixture.engine.list_workflows(&operator, &filter).await.unwrap().items {
        found.look("a person", row.id.uuid());
    }
    // Refused: what is undone without its instant, of three leases and two owners, in two states.
    found.judge(18 + 18 + 18 + 12 + 12, 12);
}
