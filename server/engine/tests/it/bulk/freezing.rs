//! Freezing a set and looking at its rows.

use domain::{
    access::Role,
    action::Verb,
    bulk::{BulkList, BulkState, Standing},
    machine::Machine as _,
    problem::Code,
};
use engine::{FreezeRequest, bulk::FrozenSet};
use uuid::Uuid;

use crate::{
    bulk::results,
    fixture::{Fixture, action, add_tenant, code, done},
};

/// Everything that a decision would have changed.
const EFFECTS: &str = "select (select count(*) from operations) + (select sum(version) from operations)::bigint
  + (select count(*) from operation_events) + (select count(*) from outbox) + (select count(*) from approvals)
  + (select count(*) from audit)";

#[tokio::test]
async fn a_frozen_set_does_not_grow() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.unknown_mail("m-1").await;
    fixture.unknown_mail("m-2").await;
    let filter = [("status", "unknown")];
    let frozen = fixture.freeze_matching(&operator, Verb::Reconcile, &filter).await.unwrap();
    // It came after the set was asked for, and before anything was written down.
    fixture.unknown_mail("m-3").await;
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!((bulk.row.status, bulk.row.total), (BulkState::Ready, 2));
    assert_eq!(bulk.row.eligible, 2);
    let grown = sqlx::query(
        "insert into bulk_rows (tenant_id, bulk_id, place, target_id, version, label, key)
         select tenant_id, $1, 9, id, version, operation, key from operations where key = 'm-3'",
    )
    .bind(frozen.id.uuid())
    .execute(fixture.pool())
    .await;
    assert!(grown.is_err(), "the database refuses what the engine never tries");
}

#[tokio::test]
async fn looking_at_the_rows_writes_nothing_but_what_was_found_out() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (unknown, _) = fixture.unknown_mail("m-1").await;
    let (executing, _) = fixture.executing("k-1").await;
    let frozen =
        fixture.freeze_picked(&operator, Verb::Reconcile, &[unknown, executing]).await.unwrap();
    let before = fixture.count(EFFECTS).await;
    fixture.advance().await;
    assert_eq!(fixture.count(EFFECTS).await, before);
    let eligible = fixture.rows(&operator, frozen.id, Standing::Eligible).await;
    assert_eq!(eligible.iter().map(|row| row.key.as_str()).collect::<Vec<_>>(), ["m-1"]);
    let ineligible = fixture.rows(&operator, frozen.id, Standing::Ineligible).await;
    assert_eq!(ineligible[0].code, Some(Code::NotAllowedInState), "each row says why");
}

#[tokio::test]
async fn what_changed_between_the_list_and_the_look_is_stale() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, version) = fixture.unknown_mail("m-1").await;
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
    done(fixture.engine.act(&operator, action(id, Verb::Reconcile, version)).await);
    fixture.advance().await;
    let rows = fixture.rows(&operator, frozen.id, Standing::Ineligible).await;
    assert_eq!(rows[0].code, Some(Code::Stale));
    let bulk = fixture.bulk(&operator, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Ready, 0, 0));
    let refused = fixture.decide_bulk(&operator, frozen.id, Verb::Run).await;
    assert_eq!(code(refused), Code::NotAllowedInState, "there is nothing to start");
}

#[tokio::test]
async fn a_filter_that_narrows_nothing_and_a_verb_that_is_decided_one_by_one_are_refused() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, _) = fixture.unknown_mail("m-1").await;
    let all: [&[(&str, &str)]; 3] =
        [&[], &[("needs_manual", "false")], &[("status", ""), ("q", "")]];
    for filter in all {
        let refused = fixture.freeze_matching(&operator, Verb::Reconcile, filter).await;
        assert_eq!(code(refused), Code::Unprocessable, "{filter:?}");
    }
    for verb in [Verb::Confirm, Verb::Compensate, Verb::Correct, Verb::Skip] {
        let refused = fixture.freeze_picked(&operator, verb, &[id]).await;
        assert_eq!(code(refused), Code::Unprocessable, "{verb}");
    }
    let nothing = fixture.freeze_picked(&operator, Verb::Reconcile, &[]).await;
    assert_eq!(code(nothing), Code::Unprocessable);
    let unknown = [("status", "unknown"), ("sort", "id")];
    let refused = fixture.freeze_matching(&operator, Verb::Reconcile, &unknown).await;
    assert_eq!(code(refused), Code::FilterInvalid, "a name that the list does not know");
    let viewer = fixture.person("viewer", Role::Viewer).await;
    let refused = fixture.freeze_picked(&viewer, Verb::Reconcile, &[id]).await;
    assert_eq!(code(refused), Code::PermissionMissing);
    assert_eq!(fixture.count("select count(*) from bulks").await, 0);
    let denied = "select count(*) from audit where action = 'freeze' and result = 'denied'";
    assert_eq!(fixture.count(denied).await, 10, "one row per refusal");
}

#[tokio::test]
async fn a_record_of_another_tenant_is_no_record_of_a_set() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let globex = add_tenant(&fixture.db, &fixture.engine, "globex").await;
    let theirs = crate::fixture::mail_request("m-1");
    let (theirs, _) = crate::fixture::won(fixture.engine.reserve(&globex, theirs).await.unwrap());
    let (ours, _) = fixture.unknown_mail("m-2").await;
    for ids in [vec![theirs], vec![ours, theirs]] {
        let refused = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await;
        assert_eq!(code(refused), Code::NotFound);
    }
    let request = FreezeRequest {
        list: BulkList::Operations,
        verb: Verb::Reconcile,
        set: FrozenSet::Picked(vec![Uuid::from_u128(7)]),
    };
    assert_eq!(code(fixture.engine.freeze(&operator, request).await), Code::NotFound);
    assert_eq!(fixture.count("select count(*) from bulks").await, 0);
}

#[tokio::test]
async fn a_bulk_moves_by_the_same_table_here_and_in_the_database() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (id, _) = fixture.unknown_mail("m-1").await;
    for from in BulkState::ALL.iter().copied() {
        for to in BulkState::ALL.iter().copied().filter(|to| *to != from) {
            let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &[id]).await.unwrap();
            let mut tx = fixture.pool().begin().await.unwrap();
            // Planted past the trigger, moved under it.
            sqlx::query("set local session_replication_role = replica")
                .execute(&mut *tx)
                .await
                .unwrap();
            let at = |state: BulkState| if state.is_final() { "now()" } else { "null" };
            // A set expires after its time and is started before it.
            let until = if to == BulkState::Expired { "frozen_at" } else { "expires_at" };
            let plant = format!(
                "update bulks set status = '{}', run_by_id = frozen_by_id, run_by = 'x', run_at = now(),
                   receipt = id, over_at = {}, expires_at = {until} where id = '{}'",
                from.as_str(),
                at(from),
                frozen.id
            );
            sqlx::query(sqlx::AssertSqlSafe(plant)).execute(&mut *tx).await.unwrap();
            sqlx::query("set local session_replication_role = origin")
                .execute(&mut *tx)
                .await
                .unwrap();
            let make = format!(
                "update bulks set status = '{}', version = version + 1, over_at = {} where id = '{}'",
                to.as_str(),
                at(to),
                frozen.id
            );
            let made = sqlx::query(sqlx::AssertSqlSafe(make)).execute(&mut *tx).await.is_ok();
            tx.rollback().await.unwrap();
            let legal =
                BulkState::RULES.iter().any(|rule| rule.from == Some(from) && rule.to == to);
            assert_eq!(made, legal, "from {from:?} to {to:?}");
        }
    }
}
