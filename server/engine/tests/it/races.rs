//! A person, the provider's webhook and the reconciler at once: one of them settles it, the others
//! agree or are told, and nothing is settled twice.

use domain::{access::Role, problem::Code};

use crate::{
    evidence::{done, webhook},
    fixture::{Fixture, happened},
};

#[tokio::test]
async fn of_staff_webhook_and_reconciler_one_settles_it() {
    let fixture = Fixture::new().await;
    let operator = fixture.person("operator", Role::Operator).await;
    let (mut by_person, mut by_proof) = (0, 0);
    for n in 0..40 {
        let (id, version) = fixture.needs_person(&format!("k-{n}")).await;
        let body = done(&format!("evt_{n}"), &id.to_string(), "ch_1", 12_900);
        let (acted, told, reconciled) = tokio::join!(
            fixture.engine.act(&operator, happened(id, version, "ch_1")),
            webhook(&fixture, &body),
            fixture.engine.reconcile_due(),
        );
        reconciled.unwrap();
        match acted {
            Ok(acted) => {
                assert!(!acted.done().unwrap().replayed);
                by_person += 1;
            }
            Err(error) => {
                let refusal = error.refusal();
                assert!(
                    matches!(refusal.code, Code::Stale | Code::NotAllowedInState),
                    "{refusal:?}"
                );
                assert_eq!(told, engine::WebhookTaken::Proved);
                by_proof += 1;
            }
        }
        assert_eq!(fixture.status(id).await, "succeeded");
    }
    assert_eq!(by_person + by_proof, 40);
    assert_eq!(fixture.count("select count(*) from incidents").await, 0, "all of them agreed");
    let settled = "select count(*) from operation_events where to_status = 'succeeded' and from_status = 'unknown'";
    assert_eq!(fixture.count(settled).await, 40, "each was settled once");
    let rows = "select count(*) from audit where action = 'confirm'";
    assert_eq!(fixture.count(rows).await, 40, "one row per decision or refusal");
    testkit::threat("T27", 120, 0);
}
