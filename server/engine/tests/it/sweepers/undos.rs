//! Links of undos: the engine's turn, the undo whose move settles them, and the failed ones, which wait
//! for a person.

use std::time::Duration;

use engine::store::compensation;
use uuid::Uuid;

use super::{Found, INSTANTS, MANY, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_undo_that_is_not_settled_has_a_turn_a_person_or_an_operation_that_settles_it() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id();
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    for status in ["requested", "waiting_forward", "running", "failed"] {
        for next_at in INSTANTS {
            for undo in ["null", "gen_random_uuid()"] {
                for workflow in ["null", "gen_random_uuid()"] {
                    for passed in INSTANTS {
                        let what = format!(
                            "{status} next_at {next_at} undo {undo} workflow {workflow} passed {passed}"
                        );
                        let link = format!(
                            "insert into compensations (tenant_id, operation_id, kind, status, next_at, undo_id,
                               workflow_id, passed_at, requested_by_kind, requested_by)
                             values ('{tenant}', gen_random_uuid(), 'invoice.refund', '{status}', {next_at}, {undo},
                               {workflow}, {passed}, 'test', 'test') returning id"
                        );
                        found.plant(&mut tx, &what, link).await;
                    }
                }
            }
        }
    }
    tx.commit().await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;
    let mut db = fixture.pool().acquire().await.unwrap();
    for (_, id) in compensation::take_due(&mut db, MANY, 1_000).await.unwrap() {
        found.look("a turn", id.uuid());
    }
    for (looker, sql) in [
        (
            "its undo",
            "select id from compensations where status = 'running' and undo_id is not null",
        ),
        // Their own index; the page of failed undos reads by it.
        ("a person", "select id from compensations where status = 'failed'"),
    ] {
        let ids: Vec<Uuid> = sqlx::query_scalar(sql).fetch_all(fixture.pool()).await.unwrap();
        for id in ids {
            found.look(looker, id);
        }
    }
    // Refused: waiting without an instant, running without an undo.
    found.judge(24 + 24 + 18 + 36, 12 + 12 + 18);
}
