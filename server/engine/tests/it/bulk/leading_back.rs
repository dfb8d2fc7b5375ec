//! What was done within a bulk leads back to it: the receipt, the audit log, the record's own page; what a
//! person did by hand does not.

use domain::{access::Role, action::Verb, bulk::Standing, listing::AuditFilter, problem::Code};

use crate::fixture::{Fixture, action, done, happened};

#[tokio::test]
async fn receipt_audit_row_and_record_lead_back_to_the_bulk() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let auditor = fixture.person("auditor", Role::Auditor).await;
    let (decided, _) = fixture.unknown_mail("m-1").await;
    let (moved, _) = fixture.unknown_mail("m-2").await;
    let (by_hand, version) = fixture.unknown_mail("m-3").await;
    let set = [decided, moved, by_hand];
    let frozen = fixture.freeze_picked(&operator, Verb::Reconcile, &set).await.unwrap();
    fixture.advance().await;
    done(fixture.decide_bulk(&operator, frozen.id, Verb::Run).await);
    let confirm = happened(moved, fixture.version_of(moved).await, "mail-1");
    done(fixture.engine.act(&operator, confirm).await);
    let own = done(fixture.engine.act(&operator, action(by_hand, Verb::Reconcile, version)).await);
    fixture.advance().await;

    let rows = fixture.rows(&operator, frozen.id, Standing::Done).await;
    let receipt = async |place: usize| {
        let id = rows[place].receipt.unwrap();
        fixture.engine.receipt(&operator, id).await.unwrap()
    };
    assert_eq!(receipt(0).await.bulk, Some(frozen.id));
    let taken_before = receipt(1).await;
    assert_eq!((taken_before.id, taken_before.bulk), (own.receipt.id, None));

    let page = fixture.engine.operation(&operator, decided).await.unwrap();
    assert_eq!(page.audit[0].bulk, Some(frozen.id));
    let page = fixture.engine.operation(&operator, by_hand).await.unwrap();
    assert_eq!(page.audit[0].bulk, None);
    // What was refused within a bulk leads to it as well.
    let page = fixture.engine.operation(&operator, moved).await.unwrap();
    assert_eq!((page.audit[0].code, page.audit[0].bulk), (Some(Code::Stale), Some(frozen.id)));
    assert_eq!(page.audit[1].bulk, None, "the confirmation is a decision of its own");

    let log = fixture.engine.list_audit(&auditor, &AuditFilter::default()).await.unwrap().items;
    let within: Vec<_> = log.iter().filter(|row| row.bulk == Some(frozen.id)).collect();
    let targets: Vec<_> = within.iter().map(|row| (row.target.clone(), row.denied)).collect();
    assert_eq!(targets, [(moved.to_string(), true), (decided.to_string(), false)]);
}
