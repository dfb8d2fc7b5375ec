//! Every row that is not final is matched by exactly one sweep or staff view (I5): a test over rows
//! in all states, planted with the guards off, NULL wherever the engine's own moves leave one. A
//! retry, a question and a running call always have their date: each move into those states sets it.
//!
//! Guards against the row that no query sees: a NULL in a comparison is neither before nor after
//! anything, and such a row waits for ever.

use std::{collections::BTreeMap, time::Duration};

use domain::{access::Role, listing::OperationFilter};
use engine::store::{due, lease};
use sqlx::AssertSqlSafe;

use crate::fixture::Fixture;

/// More than are planted.
const MANY: i64 = 1_000;

#[tokio::test]
async fn every_row_that_is_not_final_is_matched_by_one_sweep_or_one_person() {
    let fixture = Fixture::new().await;
    let instants =
        ["null", "onceover_now() - interval '1 hour'", "onceover_now() + interval '1 hour'"];
    let mut planted = BTreeMap::new();
    let mut tx = fixture.pool().begin().await.unwrap();
    sqlx::query("set local session_replication_role = replica").execute(&mut *tx).await.unwrap();
    for status in ["reserved", "executing", "failed_retryable", "unknown"] {
        for next_at in instants {
            for next_reconcile_at in instants {
                for manual in [false, true] {
                    // A lease that lapsed, one that lasts, and none.
                    for lease in instants {
                        let dateless = match status {
                            "failed_retryable" => next_at == "null",
                            "unknown" => !manual && next_reconcile_at == "null",
                            "executing" => lease == "null",
                            _ => false,
                        };
                        if dateless || manual && status != "unknown" {
                            continue;
                        }
                        let what = format!(
                            "{status} next_at {next_at} next_reconcile_at {next_reconcile_at} manual {manual} lease {lease}"
                        );
                        let key = format!("k-{}", planted.len());
                        let id: uuid::Uuid = sqlx::query_scalar(AssertSqlSafe(format!(
                            "insert into operations (tenant_id, operation, key, hash, hash_version, status, max_attempts,
                               attempt, next_at, next_reconcile_at, needs_manual, created_by_kind, created_by)
                             select tenant_id, name, '{key}', sha256('{key}'), 1, '{status}', 3, 1, {next_at},
                               {next_reconcile_at}, {manual}, 'test', 'test'
                             from operation_kinds where name = 'campaign.send' returning id"
                        )))
                        .fetch_one(&mut *tx)
                        .await
                        .unwrap();
                        if lease != "null" {
                            sqlx::query(AssertSqlSafe(format!(
                                "insert into leases (tenant_id, operation_id, fence, owner, lease_until)
                                 select tenant_id, id, fence, 'w', {lease} from operations where key = '{key}'"
                            )))
                            .execute(&mut *tx)
                            .await
                            .unwrap();
                        }
                        planted.insert(id, what);
                    }
                }
            }
        }
    }
    tx.commit().await.unwrap();
    // All that any of them waits for is over.
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let mut seen: BTreeMap<uuid::Uuid, Vec<&str>> = BTreeMap::new();
    let mut look = |looker, id: uuid::Uuid| seen.entry(id).or_default().push(looker);
    let tenant = fixture.service.tenant_id();
    let kinds = vec!["campaign.send".to_owned()];
    let mut db = fixture.pool().acquire().await.unwrap();
    for id in due::claimable(&mut db, tenant, &kinds, MANY).await.unwrap() {
        look("claim", id.uuid());
    }
    for id in due::due_for_retry(&mut db, tenant, &kinds, MANY).await.unwrap() {
        look("retry", id.uuid());
    }
    for target in lease::lapsed_calls(&mut db, MANY).await.unwrap() {
        look("take over", target.id.uuid());
    }
    for question in due::due_for_reconcile(&mut db, &[], MANY, MANY).await.unwrap() {
        look("reconcile", question.target.id.uuid());
    }
    let operator = fixture.person("operator", Role::Operator).await;
    let mut filter = OperationFilter { needs_manual: true, ..OperationFilter::default() };
    loop {
        let page = fixture.engine.list_operations(&operator, &filter).await.unwrap();
        for row in &page.items {
            look("a person", row.id.uuid());
        }
        if page.next.is_none() {
            break;
        }
        filter.cursor = page.next;
    }
    let wrong: Vec<String> = planted
        .iter()
        .filter(|(id, _)| seen.get(id).is_none_or(|lookers| lookers.len() != 1))
        .map(|(id, what)| format!("{what}: {:?}", seen.get(id)))
        .collect();
    assert!(wrong.is_empty(), "{} of {} rows: {wrong:#?}", wrong.len(), planted.len());
}
