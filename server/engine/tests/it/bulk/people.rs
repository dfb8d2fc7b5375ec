//! Whose decision it is: the sum of a set asks for a second person, and a right that is gone stops it.

use domain::{
    access::Role,
    action::Verb,
    bulk::{BulkList, BulkState, Standing},
    problem::Code,
};
use engine::{FreezeRequest, Settling, bulk::FrozenSet, identity::Admin};

use crate::{
    bulk::results,
    fixture::{Fixture, asked, code, done},
};

#[tokio::test]
async fn many_small_amounts_take_a_second_person_together() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let approver = fixture.person("approver", Role::Approver).await;
    let mut ids = Vec::new();
    for n in 0..4 {
        // 129.00 EUR each, below the kind's 500.00; together 516.00.
        ids.push(fixture.unknown_charge(&format!("k-{n}")).await);
    }
    let few = fixture.freeze_picked(&operator, Verb::Reconcile, &ids[..3]).await.unwrap();
    let all = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    assert_eq!(fixture.bulk(&operator, few.id).await.second, None);
    let second = fixture.bulk(&operator, all.id).await.second.unwrap();
    assert!(second.contains("516.00 EUR"), "{second}");

    let request = asked(fixture.decide_bulk(&operator, all.id, Verb::Run).await);
    assert!(request.changes.iter().any(|change| change.contains("516.00 EUR")));
    fixture.advance().await;
    assert_eq!(results(&fixture.bulk(&operator, all.id).await), (BulkState::Ready, 0, 0));
    let own = fixture.engine.approve(&operator, request.id, Settling::default()).await;
    assert_eq!(code(own), Code::PermissionMissing);
    let acted = fixture.engine.approve(&approver, request.id, Settling::default()).await.unwrap();
    assert_eq!(acted.receipt.approved_by.map(|by| by.actor), Some("approver".into()));
    fixture.advance().await;
    let bulk = fixture.bulk(&operator, all.id).await;
    assert_eq!(results(&bulk), (BulkState::Over, 4, 0));
    assert_eq!(bulk.row.run_by.as_deref(), Some("operator"));
}

#[tokio::test]
async fn a_right_that_is_gone_pauses_it_and_comes_back_with_the_right() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let colleague = fixture.person("colleague", Role::Operator).await;
    let mut ids = Vec::new();
    for n in 0..22 {
        ids.push(fixture.unknown_mail(&format!("m-{n}")).await.0);
    }
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &ids).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    fixture.engine.advance_bulks().await.unwrap();
    let mut admin = Admin::connect(&fixture.db.url()).await.unwrap();
    admin.set_role("operator@acme.test", "acme", Role::Viewer).await.unwrap();
    fixture.advance().await;
    let bulk = fixture.bulk(&colleague, frozen.id).await;
    assert_eq!(results(&bulk), (BulkState::Paused, 20, 0));
    let cause = bulk.cause.unwrap();
    assert!(cause.contains("operator does not have the right"), "{cause}");
    let refused = fixture.decide_bulk(&colleague, frozen.id, Verb::Resume).await;
    assert_eq!(code(refused), Code::PermissionMissing, "nobody decides in another's name");
    admin.set_role("operator@acme.test", "acme", Role::Operator).await.unwrap();
    done(fixture.decide_bulk(&colleague, frozen.id, Verb::Resume).await);
    fixture.advance().await;
    assert_eq!(results(&fixture.bulk(&colleague, frozen.id).await), (BulkState::Over, 22, 0));
}

#[tokio::test]
async fn a_message_that_moves_money_is_not_eligible() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    fixture.person("approver", Role::Approver).await;
    let message = fixture.quarantined("m-1").await.id;
    let set = FrozenSet::Picked(vec![message.uuid()]);
    let request = FreezeRequest { list: BulkList::Inbox, verb: Verb::Run, set };
    let frozen = fixture.engine.freeze(&operator, request).await.unwrap();
    fixture.advance().await;
    let rows = fixture.rows(&operator, frozen.id, Standing::Ineligible).await;
    assert_eq!(rows[0].code, Some(Code::SecondPersonRequired));
    assert_eq!(fixture.count("select count(*) from approvals").await, 0);
    assert_eq!(fixture.operations().await, 0);
}
