//! Events: the claim of heads, the release of what a lost publisher held, and the dead ones, which
//! wait for a person. One behind its head waits for that alone.

use std::time::Duration;

use engine::{
    Actor,
    store::{
        aggregate::{self, Claim, Rooms, Routes},
        outbox::{self, Losses},
    },
};
use uuid::Uuid;

use super::{Found, INSTANTS, MANY, planting};
use crate::fixture::Fixture;

#[tokio::test]
async fn every_event_that_is_not_settled_is_claimed_released_or_in_the_list_of_the_dead() {
    let fixture = Fixture::new().await;
    let tenant = fixture.service.tenant_id();
    let mut found = Found::default();
    let mut tx = planting(&fixture).await;
    let mut number = 0;
    for status in ["pending", "publishing", "dead"] {
        for owner in ["null", "'w'"] {
            for lease in INSTANTS {
                // An aggregate always has its instant: the column takes no NULL.
                for next_at in &INSTANTS[1..] {
                    number += 1;
                    let what = format!("{status} owner {owner} lease {lease} next_at {next_at}");
                    let event = format!(
                        "insert into outbox (tenant_id, aggregate, seq, topic, payload, status, owner, lease_until)
                         values ('{tenant}', 'a-{number}', 2, 'thing.happened', '1', '{status}', {owner}, {lease})
                         returning id"
                    );
                    if found.plant(&mut tx, &what, event).await.is_none() {
                        continue;
                    }
                    sqlx::query(sqlx::AssertSqlSafe(format!(
                        "insert into aggregates (tenant_id, aggregate, next_seq, head_seq, blocked, next_at)
                         values ('{tenant}', 'a-{number}', 4, 2, '{status}' = 'dead', {next_at})"
                    )))
                    .execute(&mut *tx)
                    .await
                    .unwrap();
                }
            }
        }
    }
    tx.commit().await.unwrap();
    fixture.db.advance_clock(Duration::from_secs(7_200)).await;

    let one = |text: &str| vec![text.to_owned()];
    let routes = Routes { prefixes: one(""), destinations: one("main"), ..Routes::default() };
    let rooms = Rooms { destinations: one("main"), rooms: vec![MANY], wait_ms: vec![0] };
    let claim = Claim { owner: "w", lease_ms: 30_000, max: MANY, unrouted_ms: 1_000 };
    let mut tx = fixture.pool().begin().await.unwrap();
    for event in aggregate::claim_heads(&mut tx, claim, &routes, &rooms).await.unwrap().events {
        found.look("claim", event.id.uuid());
    }
    tx.rollback().await.unwrap();

    let mut tx = fixture.pool().begin().await.unwrap();
    let losses = Losses { max_takeovers: 12, backoff_ms: 2_000, batch: MANY };
    outbox::release_lapsed(&mut tx, &Actor::new("publisher", "w"), losses).await.unwrap();
    let released: Vec<Uuid> = sqlx::query_scalar("select id from outbox where version > 1")
        .fetch_all(&mut *tx)
        .await
        .unwrap();
    tx.rollback().await.unwrap();
    for id in released {
        found.look("release", id);
    }
    // Their own index; the page of dead events reads by it.
    let dead: Vec<Uuid> = sqlx::query_scalar("select id from outbox where status = 'dead'")
        .fetch_all(fixture.pool())
        .await
        .unwrap();
    for id in dead {
        found.look("a person", id);
    }
    // Two owners and two instants each: a lease without a publisher, a publisher without a lease.
    found.judge(4 + 4 + 4, 8 + 8 + 8);
}
