//! What people decide, on one path, whatever the record is: the right, the derived key, the version
//! that the page showed, the state, the rule of two people, the move, its event, the audit row and
//! the receipt, in one transaction (D41, A1 to A7). Neither page nor API holds a rule of its own.
//!
//! A machine's verb stands in two places: the states it leaves from and whether money asks for a
//! second person (`weigh`), and its function (`carry`). The server makes a route of each.

mod ask;
mod bulk;
mod carry;
mod confirm;
mod correct;
mod desk;
mod evidence;
mod hand;
mod held;
mod incident;
mod kind;
mod member;
mod minted;
mod operation;
mod policy;
mod receipt;
mod request;
mod row;
mod settle;
mod step_up;
mod token;
mod undo;
mod view;
mod weigh;

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    action::{MAX_REASON_CHARS, Subject, TargetType, Verb},
    ids::BulkId,
    problem::Code,
    reconciliation::ProviderAnswer,
    view::{ApprovalView, Receipt},
};
use serde_json::json;

pub use evidence::{Attach, Attached};
pub use request::ActionRequest;
pub use settle::Settling;
pub use token::{AskToken, Issued, NewToken};

pub(crate) use ask::who_may;
pub(crate) use bulk::why_two;
pub(crate) use incident::{MAX_GATHERED, MAX_GATHERED_AT_ONCE, too_many_at_once};
pub(crate) use kind::preview;
pub(crate) use request::checked_reason;
pub(crate) use view::{Seen, evidence_files, view as approval_view};
pub(crate) use weigh::leaves;

use self::{hand::Hand, held::Held};

use crate::{
    Engine, StaffCaller,
    crash::crash_point,
    database::Tx,
    error::EngineError,
    operations::retrying,
    store::{audit, audit::Entry, kind::KindPolicy, operation::Operation},
};

/// A decision that was carried out, now or before.
#[derive(Clone, Debug)]
pub struct Acted {
    /// Its receipt.
    pub receipt: Receipt,
    /// Whether it was carried out before: nothing was done now.
    pub replayed: bool,
}

/// What came of a decision.
#[derive(Clone, Debug)]
pub enum Decided {
    /// It was carried out, now or before.
    Done(Box<Acted>),
    /// It waits for a second person; nothing but the request was written (A5).
    Asked {
        /// The request.
        approval: Box<ApprovalView>,
        /// Whether the same person had asked for the same before.
        replayed: bool,
    },
}

impl Decided {
    /// The decision that was carried out, where it was.
    #[must_use]
    pub fn done(self) -> Option<Acted> {
        match self {
            Self::Done(acted) => Some(*acted),
            Self::Asked { .. } => None,
        }
    }

    /// The request that waits, where it takes a second person.
    #[must_use]
    pub fn asked(self) -> Option<ApprovalView> {
        match self {
            Self::Asked { approval, .. } => Some(*approval),
            Self::Done(_) => None,
        }
    }
}

/// The instant before which *it did not happen* is refused: the call may still be under way, or
/// its effect not yet visible (O22).
pub(crate) fn not_before(
    started_at: Option<DateTime<Utc>>,
    kind: &KindPolicy,
) -> Option<DateTime<Utc>> {
    started_at?.checked_add_signed(TimeDelta::try_milliseconds(
        kind.call_deadline_ms + kind.settle_window_ms,
    )?)
}

impl Engine {
    /// Carries a person's decision out, once; or asks for a second person, where the policy wants
    /// one.
    ///
    /// # Errors
    /// Refused, each with one audit row and no effect: `permission_missing`, `not_found`,
    /// `unprocessable`, `stale`, `decided_otherwise`, `not_allowed_in_state`, `step_up_required`,
    /// `approval_pending`, `second_person_required` (nobody there could approve),
    /// `provider_contradicts`, `too_early`.
    pub async fn act(
        &self,
        by: &StaffCaller,
        request: ActionRequest,
    ) -> Result<Decided, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let result = engine.act_unaudited(&by, &request).await;
            let (verb, target) = (request.verb.as_str(), &request.target);
            engine.audited(&by, verb, target, &request.reason, result).await
        })
        .await
    }

    async fn act_unaudited(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Decided, EngineError> {
        let (kind, verb) = (request.target.kind, request.verb);
        if !Verb::on(kind).contains(&verb) {
            return Err(EngineError::refused(Code::NotFound));
        }
        let right = match kind {
            TargetType::Token => self.right_to_token(by, request).await?,
            _ => verb.permission_on(kind),
        };
        by.require(right)?;
        let request = self.with_named_file(by, request.checked()?).await?;
        let says = self.ask_first(by, &request).await?;
        let decided = retrying(|| async {
            crash_point!("C1");
            let mut tx = self.pools.begin_console(by.tenant_id()).await?;
            let decided = decide(self, &mut tx, by, &request, says.as_ref(), Second::Ask).await?;
            crash_point!("C5");
            tx.commit().await?;
            Ok(decided)
        })
        .await?;
        crash_point!("C6");
        Ok(decided)
    }

    /// What the provider says now, asked outside any transaction, where the decision is about what
    /// it knows.
    async fn ask_first(
        &self,
        by: &StaffCaller,
        request: &ActionRequest,
    ) -> Result<Option<ProviderAnswer>, EngineError> {
        match request.verb {
            Verb::Confirm => self.ask_before_confirm(by, request).await,
            _ => Ok(None),
        }
    }

    /// One audit row per refusal, in a transaction of its own: the refused one is rolled back.
    /// Where it cannot be written there is no answer either (T29).
    pub(crate) async fn audited<T>(
        &self,
        by: &StaffCaller,
        action: &str,
        target: &Subject,
        reason: &str,
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        self.audited_within(by, None, (action, target, reason), result).await
    }

    /// The same of what is done within a bulk.
    async fn audited_within<T>(
        &self,
        by: &StaffCaller,
        bulk: Option<BulkId>,
        (action, target, reason): (&str, &Subject, &str),
        result: Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let Err(EngineError::Refused(refusal)) = &result else { return result };
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        // A refused reason may be what no text column can hold, or longer than any that is kept.
        let reason: String = reason.chars().take(MAX_REASON_CHARS).filter(|c| *c != '\0').collect();
        let entry = Entry {
            refused: Some(refusal.code),
            after: bulk.map(|bulk| json!({ "bulk": bulk })),
            ..entry(by, action, target, &reason)
        };
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        result
    }
}

/// An audit row about a record.
pub(crate) fn entry<'a>(
    by: &'a StaffCaller,
    action: &'a str,
    target: &'a Subject,
    reason: &'a str,
) -> Entry<'a> {
    Entry {
        tenant: by.tenant_id(),
        actor_kind: "staff",
        actor_id: Some(by.staff_id().uuid()),
        actor: by.email(),
        action,
        target_type: target.kind.as_str(),
        target_id: &target.id,
        refused: None,
        reason: Some(reason).filter(|reason| !reason.is_empty()),
        before: None,
        after: None,
        receipt: None,
        request_id: by.request_id(),
        client: by.origin().client,
    }
}

/// What is done where a decision takes a second person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Second {
    /// It is asked for (A5).
    Ask,
    /// The decision is refused: in a bulk nobody is asked row by row.
    Refuse(BulkId),
}

impl Second {
    /// The bulk that it is decided within.
    const fn bulk(self) -> Option<BulkId> {
        match self {
            Self::Ask => None,
            Self::Refuse(bulk) => Some(bulk),
        }
    }
}

/// Decides under the target's lock, so that of two people one wins and the other is told.
async fn decide(
    engine: &Engine,
    tx: &mut Tx,
    by: &StaffCaller,
    request: &ActionRequest,
    says: Option<&ProviderAnswer>,
    second: Second,
) -> Result<Decided, EngineError> {
    let hand = Hand { bulk: second.bulk(), ..Hand::alone(by) };
    let mut held = Held::lock_for(tx, by.tenant_id(), request).await?;
    if let Some(acted) = receipt::taken_before(tx, by, request).await? {
        return Ok(Decided::Done(Box::new(acted)));
    }
    crash_point!("C2");
    if held.state().version != request.version {
        return Err(held.refused(Code::Stale));
    }
    let weighed = weigh::weigh(engine, tx, by.tenant_id(), &held, request, says).await?;
    // Rows of a bulk go on without their person, who proved it when the bulk was started.
    if second == Second::Ask {
        step_up::require(by, &held, request, &weighed)?;
    }
    if let Some(approval) = ask::open_request(tx, &hand, &held, request).await? {
        if second.bulk().is_some() {
            return Err(held.refused(Code::ApprovalPending));
        }
        return Ok(Decided::Asked { approval: Box::new(approval), replayed: true });
    }
    if weighed.second.is_some() {
        if second.bulk().is_some() {
            return Err(row::takes_two(&held, &weighed));
        }
        let approval = ask::ask(tx, &hand, &held, request, &weighed, says).await?;
        return Ok(Decided::Asked { approval: Box::new(approval), replayed: false });
    }
    let acted = carry_out(engine, tx, &hand, request, &mut held, &weighed, says).await?;
    Ok(Decided::Done(Box::new(acted)))
}

/// Does what was decided, with its receipt and its audit row.
async fn carry_out(
    engine: &Engine,
    tx: &mut Tx,
    hand: &Hand<'_>,
    request: &ActionRequest,
    held: &mut Held,
    weighed: &weigh::Weighed,
    says: Option<&ProviderAnswer>,
) -> Result<Acted, EngineError> {
    let id = crate::store::operation::new_id(tx).await?;
    let named = receipt::Named::of(held, request);
    let effect = carry::out(engine, tx, hand, request, held, (weighed, says), id).await?;
    crash_point!("C3");
    let (before, after) = (json!(effect.before), json!(effect.after));
    let receipt = receipt::write(tx, hand, request, named, id, effect).await?;
    let mut after = after;
    if hand.consent.is_some() {
        after["requested_by"] = json!(hand.decides.email);
        after["approved_by"] = json!(hand.by.email());
    }
    if let Some(bulk) = hand.bulk {
        after["bulk"] = json!(bulk);
    }
    let entry = Entry {
        before: Some(before),
        after: Some(after),
        receipt: Some(id),
        ..entry(hand.by, request.verb.as_str(), &request.target, &request.reason)
    };
    audit::add(tx, entry).await?;
    crash_point!("C4");
    Ok(Acted { receipt, replayed: false })
}

/// A refusal that shows what the record looks like now.
fn refused_on(code: Code, row: &Operation) -> EngineError {
    let state = row.state();
    EngineError::refused_with(code, |refusal| refusal.current = Some(state))
}

fn contradicted(row: &Operation, detail: &str) -> EngineError {
    EngineError::refused_with(Code::ProviderContradicts, |refusal| {
        refusal.current = Some(row.state());
        refusal.detail = Some(detail.to_owned());
    })
}
