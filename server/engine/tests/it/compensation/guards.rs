//! What open undos forbid elsewhere: expiry (O27), and an undo of what has expired (C1).

use std::time::Duration;

use domain::{compensation::CompensationState, problem::Code};
use engine::FinishOutcome;

use super::support::{charged, compensate, do_undo, fixture, link_state};
use crate::fixture::code;

const RETENTION: Duration = Duration::from_secs(86_401);

#[tokio::test]
async fn neither_end_of_an_open_undo_expires_and_nothing_expired_is_undone() {
    let fixture = fixture().await;
    let id = charged(&fixture, "k").await;
    let expired = charged(&fixture, "old").await;
    let asked = compensate(&fixture, id).await.unwrap();
    let undo = asked.undo.unwrap();
    do_undo(&fixture, undo, "invoice.refund", FinishOutcome::Rejected).await;
    assert_eq!(link_state(&fixture, asked.link).await, CompensationState::Failed);
    fixture.db.settle_outbox().await;
    fixture.db.advance_clock(RETENTION).await;
    fixture.engine.expire_due().await.unwrap();
    let tombstones = "select count(*) from operations where tombstoned_at is not null";
    assert_eq!(fixture.count(tombstones).await, 1, "both ends of the failed undo are kept");
    let refusal = compensate(&fixture, expired).await.unwrap_err().refusal();
    assert_eq!(refusal.code, Code::NotAllowedInState);
    assert!(refusal.detail.unwrap().contains("expired"));
    let version = super::support::link(&fixture, asked.link).await.version;
    super::staff::accept(&fixture, asked.link, version).await.unwrap();
    fixture.db.settle_outbox().await;
    fixture.engine.expire_due().await.unwrap();
    assert_eq!(fixture.count(tombstones).await, 3, "settled: both ends go");
    assert_eq!(code(compensate(&fixture, id).await), Code::NotAllowedInState);
}
