//! Starting a workflow once under (tenant, kind, key) (W1): the same input again is the same
//! workflow, another is refused.

use domain::{
    idempotency::{IdempotencyKey, InvalidKey, canonical},
    ids::{TenantId, WorkflowId},
    problem::Code,
    workflow::WorkflowState,
};
use sha2::{Digest as _, Sha256};
use sqlx::PgConnection;

use super::{Definition, Registry};
use crate::{
    Engine,
    actor::Actor,
    caller::ServiceCaller,
    definition::Work,
    error::EngineError,
    operations::{parse_payload, retrying},
    settings::Settings,
    store::{
        kind,
        step::{self, NewStep},
        workflow::{self, Address},
    },
};

/// What is asked for.
pub(crate) struct StartRequest<'a> {
    pub(crate) tenant: TenantId,
    /// The definition's name.
    pub(crate) kind: &'a str,
    pub(crate) key: &'a str,
    /// JSON, as sent.
    pub(crate) input: &'a [u8],
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begun {
    /// It was started now.
    Fresh(WorkflowId),
    /// It was started before, with the same input.
    Known(WorkflowId, WorkflowState),
    /// The key stands for another input: nothing was done.
    Reused(WorkflowId),
}

/// Starts a workflow inside a transaction, by the newest version of its kind; executors carry it on
/// once that commits.
///
/// # Errors
/// Refused, with nothing stored: `kind_unknown` where this process has no such workflow or the
/// tenant lacks the kind of one of its steps, `key_missing`, `key_reserved`, `key_invalid`,
/// `payload_invalid`.
pub(crate) async fn start_in(
    db: &mut PgConnection,
    registry: &Registry,
    settings: &Settings,
    actor: &Actor,
    ask: &StartRequest<'_>,
) -> Result<Begun, EngineError> {
    let definition = known(registry, ask.kind)?;
    let limit = settings.limits.key_chars;
    let key = IdempotencyKey::from_service(ask.key, limit).map_err(|error| {
        let code = match error {
            InvalidKey::Missing => Code::KeyMissing,
            InvalidKey::Reserved => Code::KeyReserved,
            InvalidKey::TooLong { .. } | InvalidKey::ControlCharacter => Code::KeyInvalid,
        };
        EngineError::field(code, "key", error.to_string())
    })?;
    let input_hash =
        Sha256::digest(canonical(&parse_payload(ask.input, &settings.limits)?)).to_vec();
    let new = workflow::NewWorkflow {
        tenant: ask.tenant,
        kind: ask.kind,
        key: key.as_str(),
        definition_version: definition.version(),
        input: ask.input,
        input_hash: &input_hash,
        actor,
    };
    loop {
        // Asked first: a repeat must be answered even where a kind was taken away since.
        if let Some((id, status, hash)) =
            workflow::find_by_key(db, ask.tenant, ask.kind, key.as_str()).await?
        {
            let same = hash == input_hash;
            return Ok(if same { Begun::Known(id, status) } else { Begun::Reused(id) });
        }
        for operation in definition.operations() {
            if kind::find(db, ask.tenant, operation).await?.is_none() {
                let missing = format!("{} needs the operation kind {operation}", ask.kind);
                return Err(EngineError::field(Code::KindUnknown, "kind", missing));
            }
        }
        if let Some(id) = workflow::insert(db, &new).await? {
            let at = Address { tenant: ask.tenant, id };
            for step in definition.steps() {
                let operation = match &step.work {
                    Work::Operation(kind) => Some(kind.as_str()),
                    Work::Decision(..) => None,
                };
                let new = NewStep {
                    key: &step.key,
                    position: step.position,
                    after: &step.after,
                    operation,
                };
                step::insert(db, at, &new, actor).await?;
            }
            return Ok(Begun::Fresh(id));
        }
    }
}

fn known<'a>(registry: &'a Registry, kind: &str) -> Result<&'a Definition, EngineError> {
    registry.newest(kind).ok_or_else(|| {
        EngineError::field(
            Code::KindUnknown,
            "kind",
            format!("no workflow named {kind} is registered here"),
        )
    })
}

impl Engine {
    /// Starts a workflow for a service, whose token must cover every operation that it may do.
    ///
    /// # Errors
    /// As [`start_in`]; `token_scope`.
    pub async fn start_workflow(
        &self,
        by: &ServiceCaller,
        kind: &str,
        key: &str,
        input: &[u8],
    ) -> Result<Begun, EngineError> {
        known(&self.workflows, kind)?
            .operations()
            .try_for_each(|operation| by.require(operation))?;
        let (engine, by) = (self.clone(), by.clone());
        let (kind, key, input) = (kind.to_owned(), key.to_owned(), input.to_owned());
        Self::detached(async move {
            let ask =
                StartRequest { tenant: by.tenant_id(), kind: &kind, key: &key, input: &input };
            retrying(|| async {
                let mut tx = engine.pools.begin_engine().await?;
                let begun =
                    start_in(&mut tx, &engine.workflows, &engine.settings, &by.actor(), &ask)
                        .await?;
                tx.commit().await?;
                Ok(begun)
            })
            .await
        })
        .await
    }
}
