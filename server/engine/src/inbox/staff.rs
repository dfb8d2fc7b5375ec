//! What people decide about messages that machines will not touch (N5): run one after all, or drop
//! it. Running does the stored effect in the transaction of the decision, so two people, or one
//! person twice, make one effect.
//!
//! Rights, receipts and the second person are `actions`' affair; here are the guards of the state
//! and the version, and what a person must see first.

use domain::{
    ids::{MessageId, OperationId, TenantId, WorkflowId},
    inbox::InboxState,
    json::Json,
    problem::Code,
};
use serde::Serialize;
use serde_json::json;
use sqlx::PgConnection;

use super::effect::{Done, Effect, Origin};
use crate::{
    Engine,
    actor::Actor,
    error::EngineError,
    operations::terms_of,
    settings::Settings,
    store::{
        Target, evidence,
        inbox::{self, Address, Settling, Waiting},
        inbox_listing::Likeness,
        kind, operation,
    },
};

/// Members of a payload that are looked up among other operations' search terms.
const MAX_TERMS: usize = 10;

/// A message as a receipt and the audit show it, before and after.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Standing {
    /// Where it stands.
    pub status: InboxState,
    /// The version that a page shows.
    pub version: i64,
    /// The operation that it started or was about.
    pub operation_id: Option<OperationId>,
    /// The workflow that it started.
    pub workflow_id: Option<WorkflowId>,
}

/// Runs a message that waits for a person.
///
/// # Errors
/// Refused: `not_found`, `stale`, `not_allowed_in_state`, and whatever its effect refuses.
pub async fn run_in(
    tx: &mut PgConnection,
    engine: &Engine,
    actor: &Actor,
    (tenant, id): (TenantId, MessageId),
    version: i64,
    reason: &str,
) -> Result<(Standing, Standing), EngineError> {
    let waiting = locked(tx, tenant, id, version).await?;
    let address = Address {
        tenant,
        consumer: &waiting.consumer,
        source: &waiting.source,
        message_id: &waiting.message_id,
    };
    let payload = waiting.payload.as_deref().unwrap_or_default();
    let done = match &waiting.effect {
        None => Done::default(),
        Some(bytes) => {
            let origin = Origin { address, payload, actor };
            Effect::parse(bytes)?.carry_out(tx, engine, origin).await?
        }
    };
    settle(tx, actor, (tenant, id), &waiting, InboxState::Processed, reason, &done).await
}

/// Drops a message that waits for a person: it has no effect, and never will.
///
/// # Errors
/// Refused: `not_found`, `stale`, `not_allowed_in_state`.
pub async fn drop_in(
    tx: &mut PgConnection,
    actor: &Actor,
    (tenant, id): (TenantId, MessageId),
    version: i64,
    reason: &str,
) -> Result<(Standing, Standing), EngineError> {
    let waiting = locked(tx, tenant, id, version).await?;
    let done = Done::default();
    settle(tx, actor, (tenant, id), &waiting, InboxState::Dropped, reason, &done).await
}

async fn locked(
    tx: &mut PgConnection,
    tenant: TenantId,
    id: MessageId,
    version: i64,
) -> Result<Waiting, EngineError> {
    let waiting =
        inbox::lock(tx, tenant, id).await?.ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let refused = |code| {
        EngineError::refused_with(code, |refusal| {
            refusal.detail = Some(format!(
                "The message is {} at version {}.",
                waiting.state.label(),
                waiting.version
            ));
        })
    };
    if waiting.version != version {
        return Err(refused(Code::Stale));
    }
    if !waiting.state.needs_person() {
        return Err(refused(Code::NotAllowedInState));
    }
    Ok(waiting)
}

async fn settle(
    tx: &mut PgConnection,
    actor: &Actor,
    (tenant, id): (TenantId, MessageId),
    waiting: &Waiting,
    to: InboxState,
    reason: &str,
    done: &Done,
) -> Result<(Standing, Standing), EngineError> {
    let mut detail = done.detail().unwrap_or_else(|| json!({}));
    detail["reason"] = json!(reason);
    let settling = Settling {
        id,
        from: waiting.state,
        to,
        rule: "N5",
        operation_id: done.operation_id,
        workflow_id: done.workflow_id,
        failures: waiting.failures,
        actor,
        detail: Some(detail),
    };
    if !inbox::settle(tx, tenant, settling).await? {
        return Err(EngineError::Unreadable("a locked message moved".into()));
    }
    let before = Standing {
        status: waiting.state,
        version: waiting.version,
        operation_id: waiting.operation_id,
        workflow_id: None,
    };
    let after = Standing {
        status: to,
        version: waiting.version + 1,
        operation_id: done.operation_id.or(waiting.operation_id),
        workflow_id: done.workflow_id,
    };
    Ok((before, after))
}

/// Whether a decision about a message needs a second person (N5): its effect moves money, or nobody
/// can tell what it is, which counts as above every threshold (A5).
///
/// # Errors
/// The database's.
pub(crate) async fn needs_second_person(
    engine: &Engine,
    db: &mut PgConnection,
    tenant: TenantId,
    payload: Option<&[u8]>,
    effect: Option<&[u8]>,
) -> Result<bool, EngineError> {
    let Some(bytes) = effect else { return Ok(false) };
    match Effect::parse(bytes) {
        Ok(Effect::Operation(effect)) => {
            let kind = kind::find(db, tenant, &effect.operation).await?;
            Ok(kind.is_none_or(|kind| kind.money))
        }
        Ok(Effect::Workflow(effect)) => {
            let Some(definition) = engine.workflows.newest(&effect.kind) else { return Ok(true) };
            for operation in definition.operations() {
                if kind::find(db, tenant, operation).await?.is_none_or(|kind| kind.money) {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        Ok(Effect::Webhook(_)) => {
            let Some(id) = provider_key(payload) else { return Ok(true) };
            let Some(name) = operation::kind_name(db, Target { tenant, id }).await? else {
                return Ok(true);
            };
            Ok(kind::find(db, tenant, &name).await?.is_none_or(|kind| kind.money))
        }
        Err(_) => Ok(true),
    }
}

/// The operation that a provider's message speaks of.
pub(super) fn provider_key(payload: Option<&[u8]>) -> Option<OperationId> {
    let payload = Json::parse(payload?).ok()?;
    evidence::target_of(payload.pointer("/provider_key")?.scalar_text()?)
}

/// In which words operations that a message may already have led to are found: by the key it gives,
/// the provider's key or reference in it, and what its kind, or a name that ends in `_id`, makes a
/// search term.
///
/// # Errors
/// The database's.
pub(crate) async fn likeness(
    db: &mut PgConnection,
    settings: &Settings,
    address: Address<'_>,
    payload: Option<&[u8]>,
    effect: Option<&[u8]>,
) -> Result<Likeness, EngineError> {
    let mut like = Likeness::default();
    like.ids.extend(provider_key(payload).map(OperationId::uuid));
    let message = payload.and_then(|bytes| Json::parse(bytes).ok());
    let effect = effect.and_then(|bytes| Effect::parse(bytes).ok());
    let mut asked = None;
    if let Some(Effect::Operation(effect)) = &effect {
        like.key = Some((effect.operation.clone(), effect.key_at(address)));
        asked = Json::parse(effect.payload_or(payload.unwrap_or_default())).ok();
        if let (Some(kind), Some(asked)) =
            (kind::find(db, address.tenant, &effect.operation).await?, &asked)
        {
            like.terms.extend(terms_of(&kind, asked, &settings.search_secret));
        }
    }
    if let Some(Effect::Workflow(effect)) = &effect {
        asked = Json::parse(effect.input_or(payload.unwrap_or_default())).ok();
    }
    for value in [message, asked].into_iter().flatten() {
        let Json::Object(members) = value else { continue };
        for (name, value) in &members {
            let Some(text) = value.scalar_text().filter(|text| !text.is_empty()) else { continue };
            if matches!(name.as_str(), "reference" | "external_reference") {
                like.references.push(text.to_owned());
            } else if name.ends_with("_id") {
                like.terms.push(text.to_owned());
            }
        }
    }
    for words in [&mut like.references, &mut like.terms] {
        words.sort_unstable();
        words.dedup();
        words.truncate(MAX_TERMS);
    }
    Ok(like)
}
