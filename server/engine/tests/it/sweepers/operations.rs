//! Operations: claims, retries, take-overs, reconciliation and the list of those that need a person.

use std::time::Duration;

use domain::{access::Role, listing::OperationFilter};
use engine::store::{due, lease};

use super::{Found, INSTANTS, MANY, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_row_that_is_not_final_is_matched_by_one_sweep_or_one_person() {
    let fixture = Fixture::new().await;
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    let mut number = 0;
    for status in ["reserved", "executing", "failed_retryable", "unknown"] {
        for next_at in INSTANTS {
            for next_reconcile_at in INSTANTS {
                for (manual, attempt) in [(false, 1), (true, 1), (false, 3)] {
                    // A lease that lapsed, one that lasts, and none, which no call may be without:
                    // that is a trigger's to refuse, and tested with those.
                    for lease in INSTANTS {
                        let leaseless = status == "executing" && lease == "null";
                        let of_others = attempt == 3 && status != "failed_retryable";
                        if leaseless || of_others || manual && status != "unknown" {
                            continue;
                        }
                        let what = format!(
                            "{status} next_at {next_at} next_reconcile_at {next_reconcile_at} manual {manual} \
                             lease {lease} attempt {attempt}"
                        );
                        number += 1;
                        let key = format!("k-{number}");
                        let row = format!(
                            "insert into operations (tenant_id, operation, key, hash, hash_version, status, max_attempts,
                               attempt, next_at, next_reconcile_at, needs_manual, created_by_kind, created_by)
                             select tenant_id, name, '{key}', sha256('{key}'), 1, '{status}', 3, {attempt}, {next_at},
                               {next_reconcile_at}, {manual}, 'test', 'test'
                             from operation_kinds where name = 'campaign.send' returning id"
                        );
                        let planted = found.plant(&mut tx, &what, row).await;
                        if planted.is_some() && lease != "null" {
                            sqlx::query(sqlx::AssertSqlSafe(format!(
                                "insert into leases (tenant_id, operation_id, fence, owner, lease_until)
                                 select tenant_id, id, fence, 'w', {lease} from operations where key = '{key}'"
                            )))
                            .execute(&mut *tx)
                            .await
                            .unwrap();
                        }
                    }
                }
            }
        }
    }
    tx.commit().await.unwrap();
    // All that any of them waits for is over.
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let tenant = fixture.service.tenant_id();
    let kinds = vec!["campaign.send".to_owned()];
    let mut db = fixture.pool().acquire().await.unwrap();
    for id in due::claimable(&mut db, tenant, &kinds, MANY).await.unwrap() {
        found.look("claim", id.uuid());
    }
    for id in due::due_for_retry(&mut db, tenant, &kinds, MANY).await.unwrap() {
        found.look("retry", id.uuid());
    }
    for target in lease::lapsed_calls(&mut db, MANY).await.unwrap() {
        found.look("take over", target.id.uuid());
    }
    for question in due::due_for_reconcile(&mut db, &[], MANY, MANY).await.unwrap() {
        found.look("reconcile", question.target.id.uuid());
    }
    let operator = fixture.person("operator", Role::Operator).await;
    let mut filter = OperationFilter { needs_manual: true, ..OperationFilter::default() };
    loop {
        let page = fixture.engine.list_operations(&operator, &filter).await.unwrap();
        for row in &page.items {
            found.look("a person", row.id.uuid());
        }
        if page.next.is_none() {
            break;
        }
        filter.cursor = page.next;
    }
    // Refused: a retry without its instant (of three leases and three other instants) or without an
    // attempt left, an unknown outcome that neither a machine nor a person is to look at.
    found.judge(27 + 18 + 18 + 18 + 27, 9 + 27 + 9);
}
