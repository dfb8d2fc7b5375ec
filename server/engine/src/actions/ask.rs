//! Asking for a second person (A5): a row of approvals alone, bound to what was seen and decided,
//! told to those who may approve. At most one waits per record and verb.

use domain::{
    access::{Permission, Role},
    action::{Subject, Verb},
    approval::ApprovalStatus,
    idempotency::canonical,
    ids::ApprovalId,
    json::Json,
    problem::Code,
    reconciliation::ProviderAnswer,
    view::ApprovalView,
};
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

use super::{
    ActionRequest, Seen, entry,
    hand::Hand,
    held::Held,
    view::{self, view},
    weigh::Weighed,
};
use crate::{
    database::Tx,
    error::EngineError,
    store::{
        approval::{self, Approval, NewApproval, Settled},
        audit::{self, Entry},
        lease, outbox,
        staff::{self, Member},
    },
};

/// What binds a request to one decision on one version of one record as it was seen (T24).
pub(super) fn binds(
    verb: Verb,
    target: &Subject,
    version: i64,
    decision: &Value,
    seen: &Value,
) -> Result<Vec<u8>, EngineError> {
    let text = json!([verb, target.kind, target.id, version, decision, seen]).to_string();
    let whole = Json::parse(text.as_bytes())
        .map_err(|error| EngineError::Unreadable(format!("a decision to bind: {error}")))?;
    Ok(Sha256::digest(canonical(&whole).as_bytes()).to_vec())
}

/// The roles that hold the right to approve.
fn approving_roles() -> Vec<String> {
    Permission::Approve.holders().into_iter().map(Role::as_str).map(str::to_owned).collect()
}

/// Who may approve a request of this one's.
pub(crate) async fn who_may(
    tx: &mut Tx,
    approval: &Approval,
    tenant: domain::ids::TenantId,
) -> Result<Vec<Member>, EngineError> {
    let (roles, at) = (approving_roles(), approval.requested_at);
    staff::approvers(tx, tenant, &roles, approval.requester_id, at).await
}

/// Looks at the request that waits for the same verb on the same record. The same person's for the
/// same decision is answered again; another is refused; one that the record or the time has left
/// behind is settled and out of the way.
pub(super) async fn open_request(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    request: &ActionRequest,
) -> Result<Option<ApprovalView>, EngineError> {
    let (tenant, target, verb) = (hand.tenant(), &request.target, request.verb);
    let Some(open) = approval::lock_open(tx, tenant, target, verb).await? else { return Ok(None) };
    let over = if open.expired {
        Some(ApprovalStatus::Expired)
    } else if open.version != held.state().version {
        Some(ApprovalStatus::Stale)
    } else {
        None
    };
    if let Some(status) = over {
        approval::settle(tx, tenant, open.id, Settled::by_nobody(status)).await?;
        return Ok(None);
    }
    let same = view::decision(&open)?.decision() == request.decision();
    if open.requester_id == hand.decides.id && same {
        return whole(tx, hand, open.id).await.map(Some);
    }
    Err(EngineError::refused_with(Code::ApprovalPending, |refusal| {
        refusal.current = Some(held.state());
        refusal.detail = Some(format!("{} asked for it: request {}.", open.requester, open.id));
    }))
}

/// Writes the request and tells those who may approve. Where nobody may, nothing is written: a
/// request that nobody can answer would only look like progress.
pub(super) async fn ask(
    tx: &mut Tx,
    hand: &Hand<'_>,
    held: &Held,
    request: &ActionRequest,
    weighed: &Weighed,
    says: Option<&ProviderAnswer>,
) -> Result<ApprovalView, EngineError> {
    let tenant = hand.tenant();
    let now = lease::clock(tx).await?;
    let may = staff::approvers(tx, tenant, &approving_roles(), hand.decides.id, now).await?;
    if may.is_empty() {
        return Err(held.refused(Code::SecondPersonRequired));
    }
    let why = weighed.second.clone().unwrap_or_default();
    let at_stake = held.at_stake(request);
    let seen = Seen {
        state: held.state(),
        label: held.label().to_owned(),
        key: held.key().into_owned(),
        why: why.clone(),
        contradiction: weighed.contradiction.clone(),
        provider: says.map(ProviderAnswer::sentence),
        changes: weighed.changes.clone(),
        amount: at_stake.clone(),
    };
    let (decision, seen) = (json!(request), json!(seen));
    let binds = binds(request.verb, &request.target, request.version, &decision, &seen)?;
    let new = NewApproval {
        tenant,
        verb: request.verb,
        target: &request.target,
        version: request.version,
        decision: &decision,
        binds: &binds,
        seen: &seen,
        amount: at_stake.as_ref(),
        reason: &request.reason,
        evidence: request.evidence.as_deref(),
        requester: (hand.decides.id, &hand.decides.name),
        ttl_ms: held.approval_ttl_ms(),
    };
    // The target's lock makes a rival impossible.
    let id = approval::insert(tx, new)
        .await?
        .ok_or_else(|| EngineError::refused(Code::ApprovalPending))?;
    let asked = whole(tx, hand, id).await?;
    let payload = json!({
        "approval_id": id,
        "verb": request.verb,
        "target_type": request.target.kind,
        "target_id": request.target.id,
        "target_operation": asked.target_operation,
        "target_key": asked.target_key,
        "amount_minor": asked.amount.as_ref().map(|money| money.amount_minor),
        "currency": asked.amount.as_ref().map(|money| &money.currency),
        "why": why,
        "requested_by": hand.decides.email,
        "expires_at": asked.expires_at,
        "link": format!("/approvals/{id}"),
        "may_approve": may
            .iter()
            .map(|person| json!({ "name": person.name, "email": person.email }))
            .collect::<Vec<_>>(),
    });
    let payload = payload.to_string().into_bytes();
    let aggregate = id.to_string();
    outbox::add(tx, tenant, &aggregate, "approval.requested", &payload, held.operation()).await?;
    let action = format!("request.{}", request.verb);
    let entry = Entry {
        before: Some(json!(held.state())),
        after: Some(json!({ "approval": id })),
        ..entry(hand.by, &action, &request.target, &request.reason)
    };
    audit::add(tx, entry).await?;
    Ok(asked)
}

async fn whole(tx: &mut Tx, hand: &Hand<'_>, id: ApprovalId) -> Result<ApprovalView, EngineError> {
    let stored = approval::find(tx, hand.tenant(), id)
        .await?
        .ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let may_approve = who_may(tx, &stored, hand.tenant()).await?;
    let mut shown = view(&stored, hand.decides.id)?;
    shown.may_approve = may_approve.into_iter().map(|person| person.name).collect();
    Ok(shown)
}
