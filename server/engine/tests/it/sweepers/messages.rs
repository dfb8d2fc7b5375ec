//! Messages: what is dead or quarantined waits for a person; what is settled is shrunk when its window
//! is over.

use domain::{access::Role, inbox::InboxState, listing::InboxFilter};

use super::{Found, INSTANTS, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_message_that_is_not_settled_is_in_a_list_of_a_person() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id();
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    let mut number = 0;
    for status in ["dead", "quarantined"] {
        for window in &INSTANTS[1..] {
            for settled in INSTANTS {
                for shrunk in INSTANTS {
                    for payload in ["null", "'{}'"] {
                        number += 1;
                        let what = format!(
                            "{status} window {window} settled {settled} shrunk {shrunk} payload {payload}"
                        );
                        let message = format!(
                            "insert into inbox (tenant_id, consumer, source, message_id, hash, hash_version, status,
                               produced_at, window_until, payload, settled_at, shrunk_at)
                             values ('{tenant}', 'mailer', 'shop', 'm-{number}', sha256(''), 1, '{status}',
                               onceover_now(), {window}, {payload}, {settled}, {shrunk}) returning id"
                        );
                        found.plant(&mut tx, &what, message).await;
                    }
                }
            }
        }
    }
    tx.commit().await.unwrap();
    fixture.db.advance_clock(std::time::Duration::from_secs(200 * 86_400)).await;
    fixture.engine.shrink_inbox().await.unwrap();
    let operator = fixture.person("operator", Role::Operator).await;
    for status in [InboxState::Dead, InboxState::Quarantined] {
        let filter = InboxFilter { status: Some(status), ..InboxFilter::default() };
        for row in fixture.engine.list_messages(&operator, &filter).await.unwrap().items {
            assert_eq!((row.status, row.shrunk_at), (status, None));
            found.look("a person", row.id.uuid());
        }
    }
    // Neither settled nor shrunk while they wait; with their payload or, empty, without.
    found.judge(8, 64);
}
