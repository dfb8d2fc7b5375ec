//! What an operation's move means for undoing, in the same transaction (C6 to C8): the link follows
//! its undo, and a link that waits for its forward operation is looked at again.
//!
//! Guards against the undo that ended while its workflow was told nothing.

use domain::{
    compensation::{CompensationState, follows},
    operation::Status,
};
use serde_json::json;

use super::moves::Moves;
use crate::{
    error::EngineError,
    store::{
        compensation::{self, Link, LinkChange},
        operation::Operation,
        workflow::{self, Address},
    },
};

/// Follows a move that changed where an operation stands or whether it needs a person.
pub(super) async fn follow(
    moves: &mut Moves<'_>,
    row: &Operation,
    was: Status,
) -> Result<(), EngineError> {
    if row.key.starts_with("comp:") {
        follow_undo(moves, row, was).await?;
    }
    if !matches!(row.status, Status::Reserved | Status::Executing | Status::Unknown) {
        compensation::wake(moves.db, row.target).await?;
    }
    Ok(())
}

async fn follow_undo(
    moves: &mut Moves<'_>,
    row: &Operation,
    was: Status,
) -> Result<(), EngineError> {
    // An undo of an earlier n has no link any more: what is learnt of it is evidence (C9).
    let Some(id) = compensation::of_undo(moves.db, row.target).await? else { return Ok(()) };
    let Some(mut link) = compensation::lock(moves.db, row.target.tenant, id).await? else {
        return Ok(());
    };
    if link.undo_id != Some(row.target.id) || link.status != CompensationState::Running {
        return Ok(());
    }
    // An unknown undo that comes to need a person is as unknown as before.
    if let Some((rule, to)) = follows(row.status).filter(|_| was != row.status) {
        let detail = Some(json!({"undo": row.target.id, "rule": rule, "undo_status": row.status}));
        let change = LinkChange { detail, ..LinkChange::default() };
        let actor = moves.actor.clone();
        compensation::advance(moves.db, &mut link, rule, to, &actor, change).await?;
        if to != CompensationState::Running {
            tell_link(moves, row, &link, rule);
        }
    }
    if let Some(id) = link.workflow_id {
        let at = Address { tenant: link.tenant, id };
        workflow::wake(moves.db, at).await?;
    }
    Ok(())
}

/// Tells of a link (⊕), among the events of what it undoes. `row` is the operation that moved.
pub(crate) fn tell_link(moves: &mut Moves<'_>, row: &Operation, link: &Link, rule: &str) {
    let payload = json!({
        "compensation_id": link.id,
        "operation_id": link.operation_id,
        "undo_kind": link.kind,
        "undo_id": link.undo_id,
        "n": link.n,
        "status": link.status,
        "version": link.version,
        "rule": rule,
        "amount_minor": link.amount.as_ref().map(|money| money.amount_minor),
        "currency": link.amount.as_ref().map(|money| &money.currency),
        "workflow_id": link.workflow_id,
        "step_key": link.step_key,
    });
    let aggregate = link.operation_id.to_string();
    let topic = format!("compensation.{}", link.status);
    moves.tell(row, aggregate, topic, payload.to_string().into_bytes());
}
