//! Operations that the engine itself asks for: steps, undos, and what a message starts. Reserved
//! and queued inside the transaction of whatever asks, under a key of the engine's own, so that
//! asking twice is one operation (D23, D30, D34).

use domain::{
    idempotency::{Fingerprint, HASH_VERSION},
    ids::{OperationId, TenantId},
    money::Money,
    operation::Status,
    problem::Code,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{kind_named, payload};
use crate::{
    actor::Actor,
    error::EngineError,
    settings::{Limits, Settings},
    store::{
        Target,
        kind::KindPolicy,
        operation::{self, NewOperation},
        term,
    },
};

/// What is asked for.
pub(crate) struct OwnRequest<'a> {
    pub(crate) tenant: TenantId,
    pub(crate) operation: &'a str,
    /// `wf:…`, `comp:…`, or a service's own key where a message brings one.
    pub(crate) key: &'a str,
    /// Bytes of the payload; amount and currency stand at the kind's pointers.
    pub(crate) payload: &'a [u8],
    pub(crate) amount_minor: Option<i64>,
    pub(crate) currency: Option<&'a str>,
    pub(crate) workflow_id: Option<Uuid>,
    pub(crate) step_key: Option<&'a str>,
}

/// What became of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enqueued {
    /// A worker will do it.
    Fresh(OperationId),
    /// It was asked for before, with the same payload.
    Known(OperationId, Status),
    /// The key stands for another payload: nothing was done.
    Reused(OperationId),
}

/// Reserves and queues an operation; see [`OwnRequest`].
///
/// # Errors
/// Refused: `kind_unknown`, `payload_invalid`, `amount_mismatch`, with nothing stored.
pub(crate) async fn enqueue(
    db: &mut PgConnection,
    actor: &Actor,
    settings: &Settings,
    ask: &OwnRequest<'_>,
) -> Result<Enqueued, EngineError> {
    let kind = kind_named(db, ask.tenant, ask.operation).await?;
    let parsed = payload::parse(ask.payload, &settings.limits)?;
    let amount = payload::amount(&kind, &parsed, ask.amount_minor, ask.currency)?;
    let fingerprint = |version| {
        Fingerprint::of(
            version,
            &ask.tenant.to_string(),
            &kind.name,
            amount.as_ref().map(|money| money.amount_minor),
            amount.as_ref().map(|money| money.currency.as_str()),
            &parsed,
        )
    };
    let own = fingerprint(HASH_VERSION)
        .ok_or_else(|| EngineError::Unreadable("own hash version".into()))?;
    loop {
        let new = NewOperation {
            id: None,
            tenant: ask.tenant,
            operation: &kind.name,
            key: ask.key,
            hash: &own.hash,
            hash_version: own.version,
            status: Status::Reserved,
            queued: true,
            amount: amount.as_ref(),
            payload: ask.payload,
            workflow_id: ask.workflow_id,
            step_key: ask.step_key,
            max_attempts: kind.max_attempts,
            answer: None,
            actor,
        };
        if let Some(id) = operation::insert(db, new).await? {
            let terms = payload::terms(&kind, &parsed, &settings.search_secret);
            if !terms.is_empty() {
                term::insert(db, Target { tenant: ask.tenant, id }, &terms).await?;
            }
            return Ok(Enqueued::Fresh(id));
        }
        // The second statement of D23; nothing found means that the rival rolled back in between.
        let Some(id) = operation::find_by_key(db, ask.tenant, &kind.name, ask.key).await? else {
            continue;
        };
        let Some(row) = operation::lock(db, Target { tenant: ask.tenant, id }).await? else {
            continue;
        };
        let same =
            fingerprint(row.hash_version).is_some_and(|asked| asked.hash[..] == row.hash[..]);
        return Ok(if same { Enqueued::Known(id, row.status) } else { Enqueued::Reused(id) });
    }
}

/// Whether a kind takes a payload and its amount; asked before anything is promised.
pub(crate) fn check_own(
    kind: &KindPolicy,
    payload: &[u8],
    amount: Option<&Money>,
    limits: &Limits,
) -> Result<(), EngineError> {
    let parsed = payload::parse(payload, limits)?;
    let minor = amount.map(|money| money.amount_minor);
    payload::amount(kind, &parsed, minor, amount.map(|money| money.currency.as_str()))?;
    Ok(())
}

/// Whether what was refused is the asker's fault: it would be refused again.
pub(crate) fn is_refused_for_good(error: &EngineError) -> bool {
    matches!(error, EngineError::Refused(refusal)
        if matches!(refusal.code, Code::KindUnknown | Code::PayloadInvalid | Code::AmountMismatch))
}
