//! Claiming a key, and answering everybody who sends it again (O1, O4, O13; D01 to D11).

use std::time::{Duration, Instant};

use chrono::{DateTime, Utc};
use domain::{
    idempotency::{Fingerprint, HASH_VERSION, IdempotencyKey, InvalidKey},
    ids::OperationId,
    json::Json,
    money::Money,
    operation::{Event, Status},
    problem::Code,
};
use uuid::Uuid;

use super::{
    classify::{Class, classify, is_proven_failure},
    commit_unless_fault,
    moves::Moves,
    payload, retrying,
};
use crate::{
    Engine,
    caller::ServiceCaller,
    database::Tx,
    error::EngineError,
    store::{
        Target, answer,
        answer::StoredAnswer,
        conflict::{self, Conflict},
        event, evidence, incident, kind,
        kind::KindPolicy,
        lease,
        operation::{self, Change, NewOperation, Operation},
        term,
    },
};

/// The longest that a repeat may wait for the first to end (D03).
const MAX_WAIT: Duration = Duration::from_secs(2);
/// How much of a conflicting payload is kept.
const MAX_CONFLICT_BYTES: usize = 64 * 1024;

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
    /// The workflow that it is a step of.
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

/// A request that passed every check that needs no row.
struct Checked {
    target_tenant: domain::ids::TenantId,
    kind: KindPolicy,
    key: IdempotencyKey,
    payload: Json,
    amount: Option<Money>,
}

impl Checked {
    fn fingerprint(&self, version: i16) -> Option<Fingerprint> {
        Fingerprint::of(
            version,
            &self.target_tenant.to_string(),
            &self.kind.name,
            self.amount.as_ref().map(|money| money.amount_minor),
            self.amount.as_ref().map(|money| money.currency.as_str()),
            &self.payload,
        )
    }
}

impl Engine {
    /// Claims a key for its first caller and answers every other by what became of it.
    ///
    /// # Errors
    /// Refused: `key_*`, `kind_unknown`, `payload_invalid`, `amount_mismatch`, `token_scope` with
    /// nothing stored; `key_reused` with the conflict kept (D08).
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
        let checked = self.check_reserve(by, request).await?;
        let until = Instant::now() + request.wait.min(MAX_WAIT);
        loop {
            let admission = retrying(|| self.reserve_once(by, request, &checked)).await?;
            if !matches!(admission, Admission::InProgress { .. }) || Instant::now() >= until {
                return Ok(admission);
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Everything that can be refused before a row exists: a typo must not burn the key (D08).
    async fn check_reserve(
        &self,
        by: &ServiceCaller,
        request: &Reserve,
    ) -> Result<Checked, EngineError> {
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
        let mut db = self.pools.engine().acquire().await?;
        let kind = kind::find(&mut db, by.tenant_id(), &request.operation)
            .await?
            .ok_or_else(|| EngineError::refused(Code::KindUnknown))?;
        drop(db);
        let payload = payload::parse(&request.payload, limits)?;
        let amount =
            payload::amount(&kind, &payload, request.amount_minor, request.currency.as_deref())?;
        Ok(Checked { target_tenant: by.tenant_id(), kind, key, payload, amount })
    }

    async fn reserve_once(
        &self,
        by: &ServiceCaller,
        request: &Reserve,
        checked: &Checked,
    ) -> Result<Admission, EngineError> {
        let mut tx = self.pools.begin_engine().await?;
        let admission = match insert(&mut tx, by, request, checked).await? {
            Some(id) => Some(self.admit_first(&mut tx, by, request, checked, id).await),
            None => admit_repeat(&mut tx, by, request, checked).await?,
        };
        let Some(admission) = admission else {
            // The rival rolled back between the two statements: the key is free again.
            tx.rollback().await?;
            return Box::pin(self.reserve_once(by, request, checked)).await;
        };
        commit_unless_fault(tx, admission).await
    }

    async fn admit_first(
        &self,
        tx: &mut Tx,
        by: &ServiceCaller,
        request: &Reserve,
        checked: &Checked,
        id: OperationId,
    ) -> Result<Admission, EngineError> {
        let target = Target { tenant: by.tenant_id(), id };
        let terms = payload::terms(&checked.kind, &checked.payload, &self.settings.search_secret);
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

async fn insert(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked,
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

/// The second statement of D23 and the gate. The inner result is a refusal that must commit.
async fn admit_repeat(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked,
) -> Result<Option<Result<Admission, EngineError>>, EngineError> {
    let tenant = by.tenant_id();
    let Some(id) =
        operation::find_by_key(tx, tenant, &checked.kind.name, checked.key.as_str()).await?
    else {
        return Ok(None);
    };
    let Some(mut row) = operation::lock(tx, Target { tenant, id }).await? else {
        return Ok(None);
    };
    let kind = &checked.kind;
    let admission = match classify(&row, |version| checked.fingerprint(version))? {
        Class::Reused => {
            keep_conflict(tx, by, request, checked, &row).await?;
            return Ok(Some(Err(EngineError::refused(Code::KeyReused))));
        }
        Class::Tombstoned => {
            let mut moves = Moves::new(tx, by.actor());
            moves.make(&mut row, kind, Event::TombstoneReplay, Change::default()).await?;
            moves.finish().await?;
            Admission::Tombstoned {
                id,
                status: row.status,
                external_reference: row.external_reference,
            }
        }
        Class::Succeeded => {
            let stored = answer::find(tx, row.target).await?;
            Admission::Replayed {
                id,
                answer: stored.unwrap_or_else(|| StoredAnswer::of_success(&row)),
            }
        }
        Class::FailedTerminal => Admission::FailedTerminal {
            id,
            answer: answer::find(tx, row.target).await?,
            safe_new_key: is_proven_failure(row.ended_by)
                && !event::was_guessed(tx, row.target).await?
                && !incident::any_open(tx, row.target).await?
                && !evidence::any_done(tx, row.target).await?,
        },
        Class::Unknown => Admission::OutcomeUnknown { id },
        Class::Executing => Admission::InProgress { id, retry_after_s: 1 },
        Class::Reserved => take_reserved(tx, by, kind, &mut row).await?,
        Class::FailedRetryable => retry(tx, by, kind, &mut row).await?,
    };
    Ok(Some(Ok(admission)))
}

async fn keep_conflict(
    tx: &mut Tx,
    by: &ServiceCaller,
    request: &Reserve,
    checked: &Checked,
    row: &Operation,
) -> Result<(), EngineError> {
    let Some(asked) = checked.fingerprint(row.hash_version) else {
        return Ok(());
    };
    let masked = checked.kind.masked_pointers.as_slice();
    let text = if masked.is_empty() {
        String::from_utf8_lossy(&request.payload).into_owned()
    } else {
        payload::masked(checked.payload.clone(), masked).payload.pretty()
    };
    let (text, cut) = payload::bounded(text, MAX_CONFLICT_BYTES);
    conflict::record(
        tx,
        row.target,
        Conflict {
            hash: &asked.hash,
            hash_version: asked.version,
            caller: by.name(),
            amount: checked.amount.as_ref(),
            // Of what has expired nothing is kept again (D39).
            payload: Some(text.as_bytes()).filter(|_| row.tombstoned_at.is_none()),
            cut,
        },
    )
    .await
}

/// A repeat of a reserved operation: in progress while held or queued, else taken over (O4).
async fn take_reserved(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &mut Operation,
) -> Result<Admission, EngineError> {
    let id = row.target.id;
    if row.queued {
        return Ok(Admission::InProgress { id, retry_after_s: 1 });
    }
    if let Some(held) = lease::lock(tx, row.target).await?
        && held.is_live()
    {
        return Ok(Admission::InProgress { id, retry_after_s: seconds(held.left_ms) });
    }
    let mut moves = Moves::new(tx, by.actor());
    if row.claims >= kind.max_claims {
        let change = Change { failure_code: Some("crash_loop"), ..Change::default() };
        let event = moves.make(row, kind, Event::ClaimBound, change).await?;
        moves.finish().await?;
        return Ok(if event == Event::ClaimBound {
            Admission::FailedTerminal { id, answer: None, safe_new_key: false }
        } else {
            Admission::OutcomeUnknown { id }
        });
    }
    let change = Change { claims: Some(row.claims + 1), ..Change::default() };
    moves.make(row, kind, Event::TakeOver, change).await?;
    moves.finish().await?;
    win(tx, by, kind, row).await
}

/// A repeat of a failed operation that may be tried again: leased to the caller once it is due
/// (O13, D09).
async fn retry(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &mut Operation,
) -> Result<Admission, EngineError> {
    let id = row.target.id;
    if let Some(next_at) = row.next_at.filter(|next_at| *next_at > row.now) {
        return Ok(Admission::RetryLater {
            id,
            retry_after_s: seconds((next_at - row.now).num_milliseconds()),
        });
    }
    if row.queued {
        return Ok(Admission::InProgress { id, retry_after_s: 1 });
    }
    let mut moves = Moves::new(tx, by.actor());
    let event = moves
        .make(row, kind, Event::Retry, Change { claims: Some(0), ..Change::default() })
        .await?;
    moves.finish().await?;
    if event == Event::Retry {
        win(tx, by, kind, row).await
    } else {
        Ok(Admission::OutcomeUnknown { id })
    }
}

async fn win(
    tx: &mut Tx,
    by: &ServiceCaller,
    kind: &KindPolicy,
    row: &Operation,
) -> Result<Admission, EngineError> {
    let lease_until = lease::grant(tx, row.target, row.fence, by.name(), kind.lease_ms).await?;
    let id = row.target.id;
    Ok(Admission::Won { id, fence: row.fence, lease_until, provider_key: id.to_string() })
}

/// Whole seconds to wait, at least one, at most a minute.
fn seconds(ms: i64) -> u64 {
    u64::try_from(ms / 1000 + 1).unwrap_or(1).clamp(1, 60)
}
