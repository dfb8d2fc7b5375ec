//! What happened to the record of a request since a second person was asked about it: what the one who
//! decides now did not see when the other asked.

use domain::{
    action::TargetType,
    ids::{OperationId, TenantId},
    told,
    view::{MoveView, SinceAsked, TimelineItem},
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::timeline::{moved, name_actors, name_people};
use crate::{
    error::EngineError,
    store::{Target, approval::Approval, event, evidence, machine_event, outbox_listing},
};

/// Moves that are listed.
const MAX_MOVES: usize = 50;
/// Pieces of evidence that are listed, the last ones.
const MAX_EVIDENCE: i64 = 50;

/// What happened since a request was made; nothing of a record whose moves nobody keeps.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub(super) async fn since(
    db: &mut PgConnection,
    tenant: TenantId,
    asked: &Approval,
) -> Result<Option<SinceAsked>, EngineError> {
    let Ok(id) = Uuid::try_parse(&asked.target.id) else { return Ok(None) };
    match asked.target.kind {
        TargetType::Operation => {
            let target = Target { tenant, id: OperationId::new(id) };
            operation(db, target, asked).await.map(Some)
        }
        TargetType::Workflow
        | TargetType::Compensation
        | TargetType::Outbox
        | TargetType::Inbox => machine(db, tenant, id, asked).await.map(Some),
        _ => Ok(None),
    }
}

async fn operation(
    db: &mut PgConnection,
    target: Target,
    asked: &Approval,
) -> Result<SinceAsked, EngineError> {
    let moves = event::since(db, target, asked.requested_at, one_more()).await?;
    let (mut moves, more) = last(moves.iter().map(moved).collect());
    name_actors(db, &mut moves).await?;
    let mut evidence = evidence::since(db, target, asked.requested_at, MAX_EVIDENCE).await?;
    name_people(db, &mut evidence).await?;
    let now = outbox_listing::operation(db, target.tenant, target.id).await?;
    let (amount, external_reference) =
        now.map_or((None, None), |now| (now.amount, now.external_reference));
    Ok(SinceAsked { moves, more, evidence, amount, external_reference })
}

async fn machine(
    db: &mut PgConnection,
    tenant: TenantId,
    id: Uuid,
    asked: &Approval,
) -> Result<SinceAsked, EngineError> {
    let kind = asked.target.kind;
    let whose = (kind.as_str(), id);
    let moves = machine_event::since(db, tenant, whose, asked.requested_at, one_more()).await?;
    let items = moves.into_iter().enumerate().map(|(index, step)| item(kind, index, step));
    let (moves, more) = last(items.collect());
    Ok(SinceAsked { moves, more, ..SinceAsked::default() })
}

fn item(kind: TargetType, index: usize, step: MoveView) -> TimelineItem {
    let sentence = match kind {
        TargetType::Outbox => told::event(&step.rule, &step.to).to_owned(),
        TargetType::Inbox => told::message(&step.rule, &step.to).to_owned(),
        _ => format!("It is {}.", step.to.replace('_', " ")),
    };
    TimelineItem {
        sentence,
        by_person: step.by_person,
        version: Some(step.version),
        detail: step.detail,
        ..TimelineItem::new(format!("m{}", index + 1), &step.rule, &step.actor, step.at)
    }
}

fn one_more() -> i64 {
    i64::try_from(MAX_MOVES + 1).unwrap_or(i64::MAX)
}

/// The last of these, and whether there were more.
fn last(mut moves: Vec<TimelineItem>) -> (Vec<TimelineItem>, bool) {
    let over = moves.len().saturating_sub(MAX_MOVES);
    moves.drain(..over);
    (moves, over > 0)
}
