//! Carrying a weighed decision out, whatever record it is about. To wire a machine's verb, name it
//! here: its own function locks, checks and moves the record inside this transaction.

use domain::{
    action::{TargetType, Verb},
    ids::{CompensationId, EventId, MessageId, OperationId, WorkflowId},
    problem::Code,
    reconciliation::ProviderAnswer,
    view::ReceiptState,
};

use super::{
    ActionRequest, bulk, hand::Hand, held::Held, kind, member, operation, token, weigh::Weighed,
};
use crate::{
    Engine, compensation,
    database::Tx,
    error::EngineError,
    inbox, outbox,
    store::{incident, subject::Locked, workflow::Address},
    workflows,
};

/// What a decision did.
pub(super) struct Effect {
    /// State and version before.
    pub(super) before: ReceiptState,
    /// State and version after.
    pub(super) after: ReceiptState,
    /// What follows, in words that claim nothing which is not committed with it.
    pub(super) followed: Vec<String>,
}

/// Carries it out; `id` is the receipt's.
pub(super) async fn out(
    engine: &Engine,
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    held: &mut Held,
    (weighed, says): (&Weighed, Option<&ProviderAnswer>),
    id: OperationId,
) -> Result<Effect, EngineError> {
    match held {
        Held::Operation(held) => {
            let (row, kind) = &mut **held;
            let settings = &engine.settings;
            operation::carry_out(tx, settings, hand, request, (row, kind), (weighed, says), id)
                .await
        }
        Held::Record(kind, locked) => record(engine, tx, hand, request, *kind, locked).await,
        Held::Kind(..) => kind::put(tx, hand, held, request).await,
        Held::NewIncident(id) => {
            let id = *id;
            super::incident::open(tx, hand, held, id, request).await
        }
        Held::Member(member) => {
            let member = member.clone();
            member::grant(tx, hand, held, &member, request).await
        }
        Held::Bulk(bulk) => bulk::carry_out(tx, hand, request, bulk, id).await,
        Held::NewToken { id, .. } => {
            let id = *id;
            token::issue(tx, hand, held, id, request).await
        }
        Held::Token(_) => token::revoke(tx, hand, held, request).await,
    }
}

async fn record(
    engine: &Engine,
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    kind: TargetType,
    locked: &Locked,
) -> Result<Effect, EngineError> {
    let (tenant, version, reason, actor) =
        (hand.tenant(), request.version, request.reason.as_str(), hand.actor());
    let event = EventId::new(locked.id);
    let flow = Address { tenant, id: WorkflowId::new(locked.id) };
    let mut followed = follows(kind, request.verb).to_owned();
    match (kind, request.verb) {
        (TargetType::Incident, Verb::Add | Verb::Remove) => {
            followed = super::incident::change(tx, hand, locked, request).await?;
        }
        (TargetType::Incident, Verb::Close) => {
            if !incident::close(tx, tenant, locked.id, version, &actor.name, reason).await? {
                return Err(EngineError::refused(Code::Stale));
            }
        }
        (TargetType::Workflow, Verb::Cancel) => {
            workflows::cancel_in(tx, flow, version, reason, &actor).await?;
        }
        (TargetType::Workflow, Verb::Compensate) => {
            workflows::compensate_in(tx, flow, version, reason, &actor).await?;
        }
        (TargetType::Workflow, Verb::Resume) => {
            let (registry, limits) = (&engine.workflows, &engine.settings.limits);
            workflows::resume_in(tx, registry, limits, flow, version, reason, &actor).await?;
        }
        (TargetType::Compensation, Verb::Retry | Verb::Accept | Verb::Continue) => {
            let (settings, at) = (&engine.settings, (tenant, CompensationId::new(locked.id)));
            match request.verb {
                Verb::Retry => {
                    compensation::retry_in(tx, settings, &actor, at, version, reason).await
                }
                Verb::Accept => {
                    compensation::accept_in(tx, settings, &actor, at, version, reason).await
                }
                _ => compensation::continue_in(tx, settings, &actor, at, version, reason).await,
            }?;
        }
        (TargetType::Outbox, Verb::Requeue) => {
            outbox::requeue_in(tx, tenant, event, version, reason, &actor).await?;
        }
        (TargetType::Outbox, Verb::Skip) => {
            outbox::skip_in(tx, tenant, event, version, reason, &actor).await?;
        }
        (TargetType::Inbox, Verb::Run) => {
            let message = (tenant, MessageId::new(locked.id));
            inbox::run_in(tx, engine, &actor, message, version, reason).await?;
        }
        (TargetType::Inbox, Verb::Drop) => {
            let message = (tenant, MessageId::new(locked.id));
            inbox::drop_in(tx, &actor, message, version, reason).await?;
        }
        _ => return Err(EngineError::refused(Code::NotFound)),
    }
    let after = Held::lock(tx, tenant, &request.target).await?.state();
    Ok(Effect { before: locked.state.clone(), after, followed: vec![followed] })
}

/// What follows, in words that claim nothing which has not been committed.
const fn follows(kind: TargetType, verb: Verb) -> &'static str {
    match (kind, verb) {
        (TargetType::Incident, _) => "The incident is closed. What it was about keeps its state.",
        (TargetType::Workflow, Verb::Resume) => {
            "It goes on at its first unfinished step; what is finished is not done again."
        }
        (TargetType::Workflow, _) => {
            "No further step begins. What can be undone is undone by operations of their own, which may fail; what cannot stays done."
        }
        (TargetType::Compensation, Verb::Retry) => {
            "It is undone by a new operation under a new key, which may fail as well."
        }
        (TargetType::Compensation, Verb::Accept) => {
            "It stays done and is listed as such. A workflow of it never ends as undone."
        }
        (TargetType::Compensation, _) => {
            "What else is left to undo is undone without it; where nothing is left, the workflow is closed. What became of this one stays as true as it was."
        }
        (TargetType::Outbox, Verb::Requeue) => {
            "The event is told again in its place; its attempts begin anew."
        }
        (TargetType::Outbox, _) => {
            "The events behind it go on. Consumers are never told of this one."
        }
        (TargetType::Inbox, Verb::Run) => {
            "The message is taken in; what it starts is an operation or workflow with its own outcome."
        }
        (TargetType::Inbox, _) => "The message has no effect, and never will.",
        _ => "It is done.",
    }
}
