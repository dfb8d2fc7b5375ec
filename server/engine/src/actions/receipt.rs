//! Receipts: a decision is recorded as an operation of its own, written once as succeeded (O35),
//! and its stored answer is the receipt.

use domain::{
    access::Permission,
    action::{Subject, Verb},
    idempotency::{Fingerprint, HASH_VERSION},
    ids::{OperationId, TenantId},
    json::Json,
    money::Money,
    operation::Status,
    problem::Code,
    view::Receipt,
};

use super::{Acted, ActionRequest, carry::Effect, hand::Hand, held::Held};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{
        Target, answer,
        answer::StoredAnswer,
        audit, evidence_file, lease,
        operation::{self, NewOperation},
    },
};

impl Engine {
    /// A receipt of the tenant.
    ///
    /// # Errors
    /// Refused: `permission_missing`, `not_found`.
    pub async fn receipt(&self, by: &StaffCaller, id: OperationId) -> Result<Receipt, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let receipt = read(&mut tx, Target { tenant, id }).await?;
            tx.commit().await?;
            Ok(receipt)
        })
        .await
    }
}

pub(super) async fn read(tx: &mut Tx, action: Target) -> Result<Receipt, EngineError> {
    let body =
        answer::receipt(tx, action).await?.ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let mut receipt: Receipt = serde_json::from_slice(&body)
        .map_err(|error| EngineError::Unreadable(format!("receipt {}: {error}", action.id)))?;
    receipt.also_decided_by = audit::repeats(tx, action).await?;
    if !receipt.evidence_files.is_empty() {
        // What has expired since is named no more.
        let target = Subject::new(receipt.target_type, receipt.target.clone());
        let ids: Vec<_> = receipt.evidence_files.iter().map(|file| file.id).collect();
        receipt.evidence_files = evidence_file::named(tx, action.tenant, &target, &ids).await?;
    }
    Ok(receipt)
}

fn fingerprint(
    tenant: TenantId,
    request: &ActionRequest,
) -> Result<(Vec<u8>, Fingerprint), EngineError> {
    let decision = request.decision().to_string().into_bytes();
    let json =
        Json::parse(&decision).map_err(|error| EngineError::Unreadable(error.to_string()))?;
    let operation = request.verb.operation();
    let fingerprint =
        Fingerprint::of(HASH_VERSION, &tenant.to_string(), &operation, None, None, &json)
            .ok_or_else(|| EngineError::Unreadable("own hash version".into()))?;
    Ok((decision, fingerprint))
}

/// The decision that was taken on this version before, if any: the same one is answered by its
/// receipt, another one is refused (A2, A3). Call it under the target's lock.
pub(super) async fn taken_before(
    tx: &mut Tx,
    by: &StaffCaller,
    request: &ActionRequest,
) -> Result<Option<Acted>, EngineError> {
    let tenant = by.tenant_id();
    let operation = request.verb.operation();
    let key = request.verb.key(&request.target, request.version);
    let Some(id) = operation::find_by_key(tx, tenant, &operation, &key).await? else {
        return Ok(None);
    };
    let action = Target { tenant, id };
    let Some(row) = operation::lock(tx, action).await? else {
        return Ok(None);
    };
    let (_, fingerprint) = fingerprint(tenant, request)?;
    let stored = read(tx, action).await?;
    if fingerprint.hash != row.hash {
        return Err(EngineError::refused_with(Code::DecidedOtherwise, |refusal| {
            refusal.receipt = Some(id);
            refusal.current = Some(stored.after.clone());
            refusal.detail = Some(format!("{} decided on this version.", stored.actor));
            refusal.decided_at = Some(stored.at);
        }));
    }
    let decided = stored.actor_email == by.email()
        || stored.approved_by.as_ref().is_some_and(|second| second.actor_email == by.email());
    if !decided {
        audit::add_repeat(
            tx,
            action,
            by.staff_id(),
            by.name(),
            &request.reason,
            request.evidence.as_deref(),
        )
        .await?;
    }
    let receipt = read(tx, action).await?;
    Ok(Some(Acted { receipt, replayed: true }))
}

/// What a record is called on a receipt, taken before the decision changes it.
pub(super) struct Named {
    label: String,
    key: String,
    amount: Option<Money>,
}

impl Named {
    /// Of a locked record.
    pub(super) fn of(held: &Held, request: &ActionRequest) -> Self {
        Self {
            label: held.label().to_owned(),
            key: held.key().into_owned(),
            amount: held.at_stake(request),
        }
    }

    /// Of a request for a second person.
    pub(super) fn request(verb: Verb, target: &Subject) -> Self {
        Self { label: format!("{verb} of {}", target.kind), key: target.id.clone(), amount: None }
    }
}

/// Records a decision that has just been carried out.
pub(super) async fn write(
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    named: Named,
    id: OperationId,
    effect: Effect,
) -> Result<Receipt, EngineError> {
    let (decision, fingerprint) = fingerprint(hand.tenant(), request)?;
    let verb: Verb = request.verb;
    let key = verb.key(&request.target, request.version);
    let receipt = Receipt {
        id,
        action_key: format!("{}:{key}", verb.operation()),
        verb,
        target_type: request.target.kind,
        target: request.target.id.clone(),
        target_operation: named.label,
        target_key: named.key,
        outcome: request.outcome,
        external_reference: request.external_reference.clone(),
        amount: named.amount,
        actor: hand.decides.name.clone(),
        actor_email: hand.decides.email.clone(),
        at: lease::clock(tx).await?,
        reason: request.reason.clone(),
        evidence: request.evidence.clone(),
        evidence_files: evidence_file::named(
            tx,
            hand.tenant(),
            &request.target,
            &request.evidence_files,
        )
        .await?,
        approved_by: hand.approved_by(),
        bulk: hand.bulk,
        before: effect.before,
        after: effect.after,
        followed: effect.followed,
        also_decided_by: Vec::new(),
    };
    let body =
        serde_json::to_vec(&receipt).map_err(|error| EngineError::Unreadable(error.to_string()))?;
    let answer =
        StoredAnswer { status: 200, content_type: "application/json".into(), body, cut: false };
    let inserted = operation::insert(
        tx,
        NewOperation {
            id: Some(id),
            tenant: hand.tenant(),
            operation: &verb.operation(),
            key: &key,
            hash: &fingerprint.hash,
            hash_version: fingerprint.version,
            status: Status::Succeeded,
            queued: false,
            amount: None,
            payload: &decision,
            workflow_id: None,
            step_key: None,
            max_attempts: 0,
            answer: Some(&answer),
            actor: &hand.actor(),
        },
    )
    .await?;
    // The target's lock makes a rival impossible; were there one, nothing of this may stay.
    inserted.ok_or_else(|| {
        EngineError::Unreadable(format!("action key {key} was taken under the lock"))
    })?;
    Ok(receipt)
}
