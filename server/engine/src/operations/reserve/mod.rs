//! Claiming a key, and answering everybody who sends it again (O1, O4, O13; D01 to D11).

mod repeat;

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use domain::{
    idempotency::{Fingerprint, HASH_VERSION, IdempotencyKey, InvalidKey},
    ids::{OperationId, TenantId, WorkflowId},
    json::Json,
    money::Money,
    operation::Status,
    problem::Code,
};
use uuid::Uuid;

use repeat::admit_repeat;

use super::{commit_unless_fault, payload, retrying};
use crate::{
    Engine,
    caller::ServiceCaller,
    database::Tx,
    error::EngineError,
    store::{
        Target,
        answer::StoredAnswer,
        kind::{self, KindPolicy},
        lease,
        operation::{self, NewOperation},
        term, workflow,
    },
};

/// The longest that a repeat may wait for the first to end (D03).
const MAX_WAIT: Duration = Duration::from_secs(2);

/// A service's request to do an effect once.
#[derive(Clone, Debug)]
pub struct Reserve {
    /// The kind's name.
    pub operation: String,
    /// The client's key.
    pub key: String,
    /// Bytes of the payload value as sent.
    pub payload: Vec<u8>,
    /// Amount beside the payload, in minor units.
    pub amount_minor: Option<i64>,
    /// Currency beside the payload.
    pub currency: Option<String>,
    /// Leave it for a worker instead of leasing it to the caller.
    pub queued: bool,
    /// The workflow that it is a step of; one of the tenant's own.
    pub workflow_id: Option<Uuid>,
    /// The step's key.
    pub step_key: Option<String>,
    /// How long to wait where it is in progress; at most two seconds.
    pub wait: Duration,
}

/// The answer to [`Reserve`].
#[derive(Clone, Debug)]
pub enum Admission {
    /// The caller holds it and may start.
    Won {
        /// The operation.
        id: OperationId,
        /// Every further call carries it.
        fence: i64,
        /// Until when, unless renewed.
        lease_until: DateTime<Utc>,
        /// The key to send to the provider (D15).
        provider_key: String,
    },
    /// A worker will do it.
    Queued {
        /// The operation.
        id: OperationId,
    },
    /// It happened before; this is the stored answer.
    Replayed {
        /// The operation.
        id: OperationId,
        /// Byte for byte what the first caller got.
        answer: StoredAnswer,
    },
    /// It failed for good before.
    FailedTerminal {
        /// The operation.
        id: OperationId,
        /// The stored error, where there is one.
        answer: Option<StoredAnswer>,
        /// Whether a new key cannot do the effect twice, computed now (D07).
        safe_new_key: bool,
    },
    /// Somebody is at it.
    InProgress {
        /// The operation.
        id: OperationId,
        /// When to ask again, in seconds.
        retry_after_s: u64,
    },
    /// It will be tried again later.
    RetryLater {
        /// The operation.
        id: OperationId,
        /// When, in seconds.
        retry_after_s: u64,
    },
    /// Nobody knows whether it happened.
    OutcomeUnknown {
        /// The operation.
        id: OperationId,
    },
    /// It ended long ago.
    Tombstoned {
        /// The operation.
        id: OperationId,
        /// How it ended.
        status: Status,
        /// The provider's reference.
        external_reference: Option<String>,
    },
}

impl Admission {
    /// The operation whose final answer this is, given once more. A failure without a stored answer may be
    /// told for the first time here (its last claim was one too many), so it is not counted.
    const fn given_again(&self) -> Option<OperationId> {
        match self {
            Self::Replayed { id, .. }
            | Self::FailedTerminal { id, answer: Some(_), .. }
            | Self::Tombstoned { id, .. } => Some(*id),
            _ => None,
        }
    }
}

/// A request that passed every check that needs no row.
struct Read {
    key: IdempotencyKey,
    payload: Json,
}

/// A request that may burn its key.
struct Checked<'a> {
    target_tenant: TenantId,
    kind: KindPolicy,
    key: &'a IdempotencyKey,
    payload: &'a Json,
    amount: Option<Money>,
}

impl Checked<'_> {
    fn fingerprint(&self, version: i16) -> Option<Fingerprint> {
        Fingerprint::of(
            version,
            &self.target_tenant.to_string(),
            &self.kind.name,
            self.amount.as_ref().map(|money| money.amount_minor),
            self.amount.as_ref().map(|money| money.currency.as_str()),
            self.payload,
        )
    }
}

impl Engine {
    /// Claims a key for its first caller and answers every other by what became of it.
    ///
    /// # Errors
    /// Refused: `key_*`, `kind_unknown`, `payload_invalid`, `amount_mismatch`, `token_scope`, and
    /// `not_found` for a workflow that the tenant does not have, with nothing stored; `key_reused` with the conflict kept (D08).
    pub async fn reserve(
        &self,
        by: &ServiceCaller,
        request: Reserve,
    ) -> Result<Admission, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move { engine.reserve_waiting(&by, &request).await }).await
    }

    async fn reserve_waiting(
        &self,
        by: &ServiceCaller,
        request: &Reserve,
    ) -> Result<Admission, EngineError> {
        let read = self.read_reserve(by, request)?;
        let until = Instant::now() + request.wait.min(MAX_WAIT);
        loop {
            let admission = retrying(|| self.reserve_once(by, request, &read)).await?;
            if !matches!(admission, Admission::InProgress { .. }) || Instant::now() >= until {
                if let Some(id) = admission.given_again() {
                    self.replays.count(Target { tenant: by.tenant_id(), id });
                }
                return Ok(admission);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What can be refused without a connection.
    fn read_reserve(&self, by: &ServiceCaller, request: &Reserve) -> Result<Read, EngineError> {
        if request.operation.starts_with("console.") {
            return Err(EngineError::refused(Code::KeyReserved));
        }
        let limits = &self.settings.limits;
        let key =
            IdempotencyKey::from_service(&request.key, limits.key_chars).map_err(|error| {
                let code = match error {
                    InvalidKey::Missing => Code::KeyMissing,
                    InvalidKey::Reserved => Code::KeyReserved,
                    InvalidKey::TooLong { .. } | InvalidKey::ControlCharacter => Code::KeyInvalid,
                };
                EngineError::field(code, "key", error.to_string())
            })?;
        by.require(&request.operation)?;
        Ok(Read { key, payload: payload::parse(&request.payload, limits)? })
    }

    /// The kind is read in the transaction that claims: whoever waits for a connection waits once (R16).
    async fn reserve_once(
        &self,
        by: &ServiceCaller,
        request: &Reserve,
        read: &Read,
    ) -> Result<Admission, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let checked = check(&mut tx, by, request, read).await?;
        let admission = match insert(&mut tx, by, request, &checked).await? {
            Some(_) if !has_workflow(&mut tx, by, request).await? => {
                tx.rollback().await?;
                return Err(EngineError::field(
                    Code::NotFound,
                    "workflow_id",
                    "There is no workflow of this id.",
                ));
            }
            Some(id) => Some(self.admit_first(&mut tx, by, request, &checked, id).await),
            None => admit_repeat(&mut tx, by, request, &checked).await?,
        };
        let Some(admission) = admission else {
            // The rival rolled back between the two statements: the key is free again.
            tx.rollback().await?;
            return Box::pin(self.reserve_once(by, request, read)).await;
        };
        commit_unless_fault(tx, admission).await
    }

    async fn admit_first(
        &self,
        tx: &mut Tx,
        by: &ServiceCaller,
        request: &Reserve,
        checked: &Checked<'_>,
        id: OperationId,
    ) -> Result<Admission, EngineError> {
        let target = Target { tenant: by.tenant_id(), id };
        let terms = payload::terms(&checked.kind, checked.payload, &self.settings.search_secret);
        if !terms.is_empty() {
            term::insert(tx, target, &terms).await?;
        }
        if request.queued {
            return Ok(Admission::Queued { id });
        }
        let lease_until = lease::grant(tx, target, 1, by.name(), checked.kind.lease_ms).await?;
        Ok(Admission::Won { id, fence: 1, lease_until, provider_key: id.to_string() })
    }
}

/// What the kind refuses before a row exists: a typo must not burn the key (D08).
async fn check<'a>(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    read: &'a Read,
) -> Result<Checked<'a>, EngineError> {
    let kind = kind::find(tx, by.tenant_id(), &request.operation)
        .await?
        .ok_or_else(|| EngineError::refused(Code::KindUnknown))?;
    let (beside, currency) = (request.amount_minor, request.currency.as_deref());
    let amount = payload::amount(&kind, &read.payload, beside, currency)?;
    Ok(Checked {
        target_tenant: by.tenant_id(),
        kind,
        key: &read.key,
        payload: &read.payload,
        amount,
    })
}

/// Whether the workflow that a first claim names is one of the tenant's (T20). Only a first claim is asked: a
/// repeat gets its answer even where the workflow has been purged since.
async fn has_workflow(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
) -> Result<bool, EngineError> {
    let Some(id) = request.workflow_id else { return Ok(true) };
    workflow::exists(tx, workflow::Address { tenant: by.tenant_id(), id: WorkflowId::new(id) })
        .await
}

async fn insert(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked<'_>,
) -> Result<Option<OperationId>, EngineError> {
    let fingerprint = checked
        .fingerprint(HASH_VERSION)
        .ok_or_else(|| EngineError::Unreadable("own hash version".into()))?;
    operation::insert(
        tx,
        NewOperation {
            id: None,
            tenant: by.tenant_id(),
            operation: &checked.kind.name,
            key: checked.key.as_str(),
            hash: &fingerprint.hash,
            hash_version: fingerprint.version,
            status: Status::Reserved,
            queued: request.queued,
            amount: checked.amount.as_ref(),
            payload: &request.payload,
            workflow_id: request.workflow_id,
            step_key: request.step_key.as_deref(),
            max_attempts: checked.kind.max_attempts,
            answer: None,
            actor: &by.actor(),
        },
    )
    .await
}
