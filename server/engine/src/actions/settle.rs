//! Settling a request for a second person (A6, A7): approved by another and carried out once, in
//! one transaction; or rejected, withdrawn, stale, expired.

use domain::{
    access::{Permission, permits},
    action::{Subject, TargetType, Verb},
    approval::ApprovalStatus,
    ids::{ApprovalId, TenantId},
    problem::Code,
    reconciliation::ProviderAnswer,
};
use serde_json::json;

use super::{
    Acted, ActionRequest,
    ask::binds,
    carry::Effect,
    carry_out, entry,
    hand::{Consent, Hand, Person},
    held::Held,
    receipt::{self, Named},
    request::unfit,
    step_up,
    view::{self, decision},
    weigh::weigh,
};
use crate::{
    Engine, StaffCaller,
    database::Tx,
    error::EngineError,
    operations::retrying,
    report::Report,
    store::{
        Target,
        approval::{self, Approval, Settled},
        audit::{self, Entry},
        staff,
    },
};

/// Requests that one batch expires.
const BATCH: i64 = 200;

/// What a person says to a request.
#[derive(Clone, Debug, Default)]
pub struct Settling {
    /// The version that the page showed; a request has 1 while it waits.
    pub version: Option<i64>,
    /// Why; required for a rejection.
    pub reason: String,
}

/// What became of an approval inside its transaction.
enum End {
    /// Carried out, now or before.
    Done(Box<Acted>),
    /// The request is void: that is written, and the caller is refused.
    Void(EngineError),
}

impl Engine {
    /// Agrees to another's request and carries its decision out, once (A6). Again: the same receipt.
    ///
    /// # Errors
    /// Refused, each with one audit row and no effect: `permission_missing`; `second_person_required`
    /// for whoever asked, whose right is younger than the request, or who was given it by whoever
    /// asked; `not_found`; `stale` where the record or the time has moved on, and the request is
    /// void; `decided_otherwise`, `not_allowed_in_state`, `step_up_required`, `provider_contradicts`,
    /// `too_early`.
    pub async fn approve(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
        settling: Settling,
    ) -> Result<Acted, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.approve_unaudited(&by, id, &settling).await;
            engine.audited(&by, "approve", &subject(id), &settling.reason, result).await
        })
        .await
    }

    async fn approve_unaudited(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
        settling: &Settling,
    ) -> Result<Acted, EngineError> {
        by.require(Permission::Approve)?;
        let reason = checked_reason(settling, false)?;
        let asked = self.read_request(by, id).await?;
        not_the_requester(by, &asked)?;
        let says = match asked.status {
            // No provider is asked about what nobody asked for.
            ApprovalStatus::Pending if is_bound(&asked)? => {
                self.ask_first(by, &decision(&asked)?).await?
            }
            _ => None,
        };
        let end = retrying(|| async {
            let mut tx = self.pools.begin_console(by.tenant_id()).await?;
            let end =
                approve_in(self, &mut tx, by, id, settling, reason.clone(), says.as_ref()).await?;
            tx.commit().await?;
            Ok(end)
        })
        .await?;
        match end {
            End::Done(acted) => Ok(*acted),
            End::Void(error) => Err(error),
        }
    }

    async fn read_request(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
    ) -> Result<Approval, EngineError> {
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let asked = approval::find(&mut tx, by.tenant_id(), id).await?;
        tx.commit().await?;
        asked.ok_or_else(|| EngineError::refused(Code::NotFound))
    }

    /// Says no to another's request (A7).
    ///
    /// # Errors
    /// As [`Engine::approve`]; `unprocessable` without a reason.
    pub async fn reject(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
        settling: Settling,
    ) -> Result<Acted, EngineError> {
        self.turn_down(by, id, settling, Verb::Reject).await
    }

    /// Takes one's own request back (A7).
    ///
    /// # Errors
    /// As [`Engine::approve`]; `permission_missing` for anybody but the requester.
    pub async fn withdraw(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
        settling: Settling,
    ) -> Result<Acted, EngineError> {
        self.turn_down(by, id, settling, Verb::Withdraw).await
    }

    async fn turn_down(
        &self,
        by: &StaffCaller,
        id: ApprovalId,
        settling: Settling,
        verb: Verb,
    ) -> Result<Acted, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = async {
                by.require(verb.permission())?;
                let reason = checked_reason(&settling, verb == Verb::Reject)?;
                let end = retrying(|| async {
                    let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
                    let end =
                        turn_down_in(&mut tx, &by, id, &settling, reason.clone(), verb).await?;
                    tx.commit().await?;
                    Ok(end)
                })
                .await?;
                match end {
                    End::Done(acted) => Ok(*acted),
                    End::Void(error) => Err(error),
                }
            };
            let result = result.await;
            engine.audited(&by, verb.as_str(), &subject(id), &settling.reason, result).await
        })
        .await
    }

    /// Expires a batch of requests that nobody answered in time (A7).
    ///
    /// # Errors
    /// The database's.
    pub async fn expire_approvals(&self) -> Result<Report, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut tx = engine.pools.begin_engine().await?;
            let handled = approval::expire_due(&mut tx, BATCH).await?;
            tx.commit().await?;
            Ok(Report { handled })
        })
        .await
    }
}

fn subject(id: ApprovalId) -> Subject {
    Subject::new(TargetType::Approval, id.to_string())
}

fn checked_reason(settling: &Settling, required: bool) -> Result<Option<String>, EngineError> {
    let reason = settling.reason.trim();
    if reason.is_empty() {
        return if required { Err(unfit("reason", "say why not")) } else { Ok(None) };
    }
    super::request::check_reason(reason)?;
    Ok(Some(reason.to_owned()))
}

/// Never one's own, whatever the role (T23): by the person's id, which no session, token or new name
/// changes.
fn not_the_requester(by: &StaffCaller, asked: &Approval) -> Result<(), EngineError> {
    if asked.requester_id == by.staff_id() {
        return Err(no_second_person(asked, "You asked for it yourself."));
    }
    Ok(())
}

fn no_second_person(asked: &Approval, detail: &str) -> EngineError {
    EngineError::refused_with(Code::SecondPersonRequired, |refusal| {
        refusal.current = Some(view::state(asked));
        refusal.detail = Some(detail.to_owned());
    })
}

/// Why a request can be settled no more.
fn settled_already(asked: &Approval) -> EngineError {
    let code = match asked.status {
        ApprovalStatus::Approved | ApprovalStatus::Rejected => Code::DecidedOtherwise,
        ApprovalStatus::Stale | ApprovalStatus::Expired => Code::Stale,
        ApprovalStatus::Withdrawn | ApprovalStatus::Pending => Code::NotAllowedInState,
    };
    let by = asked.decider.as_ref().map(|who| format!(" by {who}")).unwrap_or_default();
    EngineError::refused_with(code, |refusal| {
        refusal.current = Some(view::state(asked));
        refusal.receipt = asked.receipt;
        refusal.detail = Some(format!("The request is {:?}{by}.", asked.status).to_lowercase());
    })
}

/// Settles a request that the record or the time has left behind, and says so.
async fn void(
    tx: &mut Tx,
    tenant: TenantId,
    asked: &Approval,
    status: ApprovalStatus,
    detail: &str,
) -> Result<End, EngineError> {
    approval::settle(tx, tenant, asked.id, Settled::by_nobody(status)).await?;
    let state = view::state(&Approval { status, own_version: 2, ..asked.clone() });
    Ok(End::Void(EngineError::refused_with(Code::Stale, |refusal| {
        refusal.current = Some(state);
        refusal.detail = Some(detail.to_owned());
    })))
}

async fn locked(tx: &mut Tx, tenant: TenantId, id: ApprovalId) -> Result<Approval, EngineError> {
    approval::lock(tx, tenant, id).await?.ok_or_else(|| EngineError::refused(Code::NotFound))
}

/// Everything that was true when it was asked for is looked at again under the locks: who asks, who
/// agrees, what was bound, the record's version, its state, the provider's word.
async fn approve_in(
    engine: &Engine,
    tx: &mut Tx,
    by: &StaffCaller,
    id: ApprovalId,
    settling: &Settling,
    reason: Option<String>,
    says: Option<&ProviderAnswer>,
) -> Result<End, EngineError> {
    let tenant = by.tenant_id();
    let asked = approval::find(tx, tenant, id)
        .await?
        .ok_or_else(|| EngineError::refused(Code::NotFound))?;
    // The record first, as everywhere; then the request.
    let held = Held::lock(tx, tenant, &asked.target).await;
    let asked = locked(tx, tenant, id).await?;
    not_the_requester(by, &asked)?;
    if let (ApprovalStatus::Approved, Some(receipt)) = (asked.status, asked.receipt) {
        let receipt = receipt::read(tx, Target { tenant, id: receipt }).await?;
        return Ok(End::Done(Box::new(Acted { receipt, replayed: true })));
    }
    if asked.status != ApprovalStatus::Pending {
        return Err(settled_already(&asked));
    }
    check_version(&asked, settling)?;
    if asked.expired {
        return void(tx, tenant, &asked, ApprovalStatus::Expired, "Its time is over.").await;
    }
    may_agree(tx, by, &asked).await?;
    let mut held = match held {
        Err(EngineError::Refused(refusal)) if refusal.code == Code::NotFound => {
            return void(tx, tenant, &asked, ApprovalStatus::Stale, "The record is gone.").await;
        }
        held => held?,
    };
    if held.state().version != asked.version {
        let detail = "The record has changed since it was asked for.";
        return void(tx, tenant, &asked, ApprovalStatus::Stale, detail).await;
    }
    if !is_bound(&asked)? {
        tracing::error!(request.id = %id, "a stored request is not what was asked for");
        let detail = "The stored request is not what was asked for.";
        return void(tx, tenant, &asked, ApprovalStatus::Stale, detail).await;
    }
    let (request, seen) = (decision(&asked)?, view::seen(&asked)?);
    let Some(decides) = requester(tx, tenant, &asked, &request).await? else {
        let detail = "Whoever asked for it does not have the right any more.";
        return void(tx, tenant, &asked, ApprovalStatus::Stale, detail).await;
    };
    let weighed = weigh(engine, tx, tenant, &held, &request, says).await?;
    step_up::require(by, &held, &request, &weighed)?;
    if weighed.contradiction != seen.contradiction {
        let detail = "What it overrides is not what was seen when it was asked for.";
        return void(tx, tenant, &asked, ApprovalStatus::Stale, detail).await;
    }
    let consent = Consent { approval: id, reason: reason.clone() };
    let hand = Hand::with_consent(by, decides, consent);
    let acted = carry_out(engine, tx, &hand, &request, &mut held, &weighed, says).await?;
    let settled = Settled {
        status: ApprovalStatus::Approved,
        decider: Some((by.staff_id(), by.name())),
        reason: reason.as_deref(),
        receipt: Some(acted.receipt.id),
    };
    settle(tx, by, &asked, Verb::Approve, settled).await?;
    Ok(End::Done(Box::new(acted)))
}

/// Whether the stored request is still what was asked for, by its hash, and shows the amount that was
/// at stake (T24).
fn is_bound(asked: &Approval) -> Result<bool, EngineError> {
    let bound = binds(asked.verb, &asked.target, asked.version, &asked.decision, &asked.seen)?;
    Ok(bound == asked.binds && view::seen(asked)?.amount == asked.amount)
}

fn check_version(asked: &Approval, settling: &Settling) -> Result<(), EngineError> {
    if settling.version.is_some_and(|version| version != asked.own_version) {
        return Err(EngineError::refused_with(Code::Stale, |refusal| {
            refusal.current = Some(view::state(asked));
        }));
    }
    Ok(())
}

/// The second person's right as it is now, read in the same transaction: held before the request,
/// and not from its requester's hand.
async fn may_agree(tx: &mut Tx, by: &StaffCaller, asked: &Approval) -> Result<(), EngineError> {
    let member = staff::member(tx, by.tenant_id(), by.staff_id())
        .await?
        .filter(|member| !member.disabled && permits(member.role, Permission::Approve));
    let Some(member) = member else {
        return Err(EngineError::refused_with(Code::PermissionMissing, |refusal| {
            refusal.missing = Some(Permission::Approve);
        }));
    };
    if member.granted_at >= asked.requested_at {
        return Err(no_second_person(
            asked,
            "You were given the right to approve after it was asked for.",
        ));
    }
    if member.granted_by_id == Some(asked.requester_id) {
        return Err(no_second_person(
            asked,
            "You were given the right to approve by whoever asked for it.",
        ));
    }
    Ok(())
}

/// The requester, where the right to decide this is still theirs (A1 checked again).
async fn requester(
    tx: &mut Tx,
    tenant: TenantId,
    asked: &Approval,
    request: &ActionRequest,
) -> Result<Option<Person>, EngineError> {
    let right = request.verb.permission_on(request.target.kind);
    let member = staff::member(tx, tenant, asked.requester_id).await?;
    Ok(member
        .filter(|member| !member.disabled && permits(member.role, right))
        .map(|member| Person { id: member.id, name: member.name, email: member.email }))
}

async fn turn_down_in(
    tx: &mut Tx,
    by: &StaffCaller,
    id: ApprovalId,
    settling: &Settling,
    reason: Option<String>,
    verb: Verb,
) -> Result<End, EngineError> {
    let tenant = by.tenant_id();
    let asked = locked(tx, tenant, id).await?;
    let request = ActionRequest::new(subject(id), verb, 1, reason.clone().unwrap_or_default());
    if verb == Verb::Reject {
        not_the_requester(by, &asked)?;
    } else if asked.requester_id != by.staff_id() {
        return Err(EngineError::refused_with(Code::PermissionMissing, |refusal| {
            refusal.current = Some(view::state(&asked));
            refusal.detail = Some("Only whoever asked for it can take it back.".into());
        }));
    }
    if let Some(acted) = receipt::taken_before(tx, by, &request).await? {
        return Ok(End::Done(Box::new(acted)));
    }
    if asked.status != ApprovalStatus::Pending {
        return Err(settled_already(&asked));
    }
    check_version(&asked, settling)?;
    if asked.expired {
        return void(tx, tenant, &asked, ApprovalStatus::Expired, "Its time is over.").await;
    }
    let status = match verb {
        Verb::Reject => ApprovalStatus::Rejected,
        _ => ApprovalStatus::Withdrawn,
    };
    let receipt = crate::store::operation::new_id(tx).await?;
    let effect = Effect {
        before: view::state(&asked),
        after: view::state(&Approval { status, own_version: 2, ..asked.clone() }),
        followed: vec!["What was asked for is not carried out. It can be asked for again.".into()],
    };
    let named = Named::request(asked.verb, &asked.target);
    let hand = Hand::alone(by);
    let receipt = receipt::write(tx, &hand, &request, named, receipt, effect).await?;
    let settled = Settled {
        status,
        decider: Some((by.staff_id(), by.name())),
        reason: reason.as_deref(),
        receipt: Some(receipt.id),
    };
    settle(tx, by, &asked, verb, settled).await?;
    Ok(End::Done(Box::new(Acted { receipt, replayed: false })))
}

/// Writes how it ended, with its audit row.
async fn settle(
    tx: &mut Tx,
    by: &StaffCaller,
    asked: &Approval,
    verb: Verb,
    settled: Settled<'_>,
) -> Result<(), EngineError> {
    let (receipt, reason) = (settled.receipt, settled.reason.unwrap_or_default().to_owned());
    let after = view::state(&Approval { status: settled.status, own_version: 2, ..asked.clone() });
    if !approval::settle(tx, by.tenant_id(), asked.id, settled).await? {
        return Err(settled_already(asked));
    }
    let target = subject(asked.id);
    let entry = Entry {
        before: Some(json!(view::state(asked))),
        after: Some(json!(after)),
        receipt,
        ..entry(by, verb.as_str(), &target, &reason)
    };
    audit::add(tx, entry).await
}
