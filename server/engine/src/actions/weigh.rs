//! Weighing a decision against the table of moves and the rule of two people, before anything is
//! written: what it would do, and whether one person may do it (A4, A5).

use chrono::{DateTime, Utc};
use domain::{
    action::{TargetType, Verb},
    ids::{CompensationId, MessageId, TenantId},
    operation::Event,
    problem::Code,
    reconciliation::ProviderAnswer,
};

use uuid::Uuid;

use super::{ActionRequest, bulk, held::Held, incident, kind, member, operation, token};
use crate::{
    Engine,
    compensation::{check_retry, retry_needs_second_person},
    database::Tx,
    error::EngineError,
    inbox::needs_second_person,
    store::{inbox, subject::Locked},
};

/// What a decision would do.
#[derive(Debug, Default)]
pub(super) struct Weighed {
    /// The operation's move, where it makes one.
    pub(super) event: Option<Event>,
    /// Why it takes a second person; `None`: one may do it.
    pub(super) second: Option<String>,
    /// What contradicts it and is overridden.
    pub(super) contradiction: Option<String>,
    /// What would change, a sentence each, where the move alone does not tell.
    pub(super) changes: Vec<String>,
    /// When the lease had run out that it ends.
    pub(super) lapsed: Option<DateTime<Utc>>,
}

/// Weighs a decision on a locked record.
pub(super) async fn weigh(
    engine: &Engine,
    tx: &mut Tx,
    tenant: TenantId,
    held: &Held,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
) -> Result<Weighed, EngineError> {
    match held {
        Held::Operation(held) => operation::weigh(tx, &held.0, &held.1, request, says).await,
        Held::Record(kind, locked) => {
            record(engine, tx, tenant, held, (*kind, locked), request).await
        }
        Held::Kind(_, current) => kind::weigh(current.as_deref(), request),
        Held::Member(member) => member::weigh(member, request),
        Held::NewIncident(id) => incident::weigh_opening(tx, tenant, *id, request).await,
        Held::Bulk(held) => bulk::weigh(tx, held, request).await,
        Held::NewToken { id, .. } => token::weigh_issue(tx, tenant, *id, request).await,
        Held::Token(_) => token::weigh_revoke(held, request),
    }
}

/// The states that a verb leaves from. The machine's own function and the database's trigger hold
/// the same; here it keeps a request for approval from being written for nothing.
pub(crate) fn leaves(kind: TargetType, verb: Verb) -> &'static [&'static str] {
    match (kind, verb) {
        (TargetType::Workflow, Verb::Cancel) => &["running", "waiting"],
        (TargetType::Workflow, Verb::Resume | Verb::Compensate) => &["blocked"],
        (TargetType::Compensation, Verb::Retry | Verb::Accept) => &["failed"],
        // Running: its outcome is unknown and needs a person, which its function looks at.
        (TargetType::Compensation, Verb::Continue) => &["failed", "running"],
        (TargetType::Outbox, Verb::Requeue | Verb::Skip) => &["dead"],
        (TargetType::Inbox, Verb::Run | Verb::Drop) => &["dead", "quarantined"],
        (TargetType::Incident, Verb::Close | Verb::Add | Verb::Remove) => &["open"],
        (TargetType::Token, Verb::Revoke) => &["active"],
        (TargetType::Bulk, Verb::Run) => &["ready"],
        (TargetType::Bulk, Verb::Pause) => &["running"],
        (TargetType::Bulk, Verb::Resume) => &["paused"],
        (TargetType::Bulk, Verb::Abandon) => {
            &["freezing", "checking", "ready", "running", "paused"]
        }
        _ => &[],
    }
}

async fn record(
    engine: &Engine,
    tx: &mut Tx,
    tenant: TenantId,
    held: &Held,
    (kind, locked): (TargetType, &Locked),
    request: &ActionRequest,
) -> Result<Weighed, EngineError> {
    let verb = request.verb;
    if !leaves(kind, verb).contains(&locked.state.status.as_str()) {
        return Err(held.refused(Code::NotAllowedInState));
    }
    if kind == TargetType::Incident && verb != Verb::Close {
        return incident::weigh(tx, tenant, locked, request).await;
    }
    let second = match (kind, verb) {
        (TargetType::Workflow, Verb::Cancel | Verb::Compensate) if locked.money => {
            Some("Steps of it may have moved money; what can be paid back is paid back.")
        }
        (TargetType::Compensation, Verb::Retry)
            if undo_takes_two(tx, tenant, locked.id, request.version).await? =>
        {
            Some(
                "It pays money back under a new key. The earlier try is on record as failed: were that \
                 wrong, it would be paid twice.",
            )
        }
        (TargetType::Inbox, Verb::Run | Verb::Drop)
            if message_takes_two(engine, tx, tenant, locked.id).await? =>
        {
            Some("The message moves money, or nobody can tell whether it does.")
        }
        _ => None,
    };
    Ok(Weighed { second: second.map(str::to_owned), ..Weighed::default() })
}

/// Whether trying an undo again moves money (C9); one that cannot be tried again is refused here.
async fn undo_takes_two(
    tx: &mut Tx,
    tenant: TenantId,
    id: Uuid,
    version: i64,
) -> Result<bool, EngineError> {
    let id = CompensationId::new(id);
    check_retry(tx, (tenant, id), version).await?;
    retry_needs_second_person(tx, tenant, id).await
}

/// Whether a message moves money (N5): what nobody can tell counts as if it did.
async fn message_takes_two(
    engine: &Engine,
    tx: &mut Tx,
    tenant: TenantId,
    id: Uuid,
) -> Result<bool, EngineError> {
    let Some(waiting) = inbox::lock(tx, tenant, MessageId::new(id)).await? else {
        return Ok(false);
    };
    let (payload, effect) = (waiting.payload.as_deref(), waiting.effect.as_deref());
    needs_second_person(engine, tx, tenant, payload, effect).await
}
