//! The record that a decision is about, locked for as long as it takes to decide, whatever kind of
//! record it is.

use std::borrow::Cow;

use domain::{
    action::{Subject, TargetType, Verb},
    bulk::totals,
    ids::{BulkId, OperationId, TenantId, TokenId},
    money::Money,
    problem::Code,
    view::{ReceiptState, StateWord},
};

use uuid::Uuid;

use super::ActionRequest;
use crate::{
    database::Tx,
    error::EngineError,
    operations::lock_with_kind,
    store::{
        Target,
        bulk::{self, Bulk},
        kind::{self, KindPolicy},
        operation::Operation,
        staff::{self, Member},
        subject::{self, Locked},
        token_listing::{self, Token},
    },
};

/// How long a request stands where no kind says so.
const DEFAULT_TTL_MS: i64 = 86_400_000;

/// A locked record.
pub(super) enum Held {
    /// An operation with its kind.
    Operation(Box<(Operation, KindPolicy)>),
    /// A workflow, compensation, event, message or incident.
    Record(TargetType, Locked),
    /// A kind, or the name of one that does not exist yet.
    Kind(String, Option<Box<(KindPolicy, i64)>>),
    /// A person's place in the tenant.
    Member(Member),
    /// An incident that is to be opened under this id.
    NewIncident(Uuid),
    /// A bulk as a whole.
    Bulk(Box<Bulk>),
    /// A token that is to be made under this id and name; whether it is its maker's own.
    NewToken { id: Uuid, name: String, own: bool },
    /// A token.
    Token(Box<Token>),
}

impl Held {
    /// Locks what a decision is about: the record, or the place of one that it makes.
    pub(super) async fn lock_for(
        tx: &mut Tx,
        tenant: TenantId,
        request: &ActionRequest,
    ) -> Result<Self, EngineError> {
        if !matches!(request.verb, Verb::Open | Verb::Issue) {
            return Self::lock(tx, tenant, &request.target).await;
        }
        let id = Uuid::try_parse(&request.target.id)
            .map_err(|_| EngineError::refused(Code::NotFound))?;
        if let Some(new) = &request.token {
            let made = token_listing::lock(tx, tenant, TokenId::new(id)).await?;
            let to_make = || Self::NewToken { id, name: new.name.clone(), own: new.own };
            return Ok(made.map_or_else(to_make, |token| Self::Token(Box::new(token))));
        }
        let locked = subject::lock(tx, tenant, &request.target).await?;
        Ok(locked.map_or(Self::NewIncident(id), |locked| Self::Record(request.target.kind, locked)))
    }

    /// Locks the record; the same refusal for one that does not exist and for another tenant's.
    pub(super) async fn lock(
        tx: &mut Tx,
        tenant: TenantId,
        subject: &Subject,
    ) -> Result<Self, EngineError> {
        let not_found = || EngineError::refused(Code::NotFound);
        match subject.kind {
            TargetType::Operation => {
                let id = subject.operation().ok_or_else(not_found)?;
                let held = lock_with_kind(tx, Target { tenant, id }).await?;
                Ok(Self::Operation(Box::new(held)))
            }
            TargetType::OperationKind => {
                let current = kind::lock(tx, tenant, &subject.id).await?.map(Box::new);
                Ok(Self::Kind(subject.id.clone(), current))
            }
            TargetType::Staff => {
                let id = subject.id.parse().map_err(|_| not_found())?;
                let member = staff::lock_member(tx, tenant, id).await?.ok_or_else(not_found)?;
                Ok(Self::Member(member))
            }
            TargetType::Bulk => {
                let id: BulkId = subject.id.parse().map_err(|_| not_found())?;
                let held = bulk::lock(tx, tenant, id).await?.ok_or_else(not_found)?;
                Ok(Self::Bulk(Box::new(held)))
            }
            TargetType::Token => {
                let id = subject.id.parse().map_err(|_| not_found())?;
                let held = token_listing::lock(tx, tenant, id).await?.ok_or_else(not_found)?;
                Ok(Self::Token(Box::new(held)))
            }
            // A request is settled by its own commands, under the lock of what it is about.
            // About a conflict nothing is decided.
            TargetType::Approval | TargetType::Conflict => Err(not_found()),
            TargetType::Workflow
            | TargetType::Compensation
            | TargetType::Outbox
            | TargetType::Inbox
            | TargetType::Incident => {
                let locked = subject::lock(tx, tenant, subject).await?.ok_or_else(not_found)?;
                Ok(Self::Record(subject.kind, locked))
            }
        }
    }

    /// State and version now.
    pub(super) fn state(&self) -> ReceiptState {
        let of = |status: &str, version| ReceiptState {
            status: StateWord::new(status),
            version,
            needs_manual: false,
        };
        match self {
            Self::Operation(held) => held.0.state(),
            Self::Record(_, locked) => locked.state.clone(),
            Self::Kind(_, None) | Self::NewIncident(_) | Self::NewToken { .. } => of("absent", 0),
            Self::Kind(_, Some(current)) => of("in_force", current.1),
            Self::Member(member) => of(member.role.as_str(), member.version),
            Self::Bulk(bulk) => of(bulk.row.status.as_str(), bulk.row.version),
            Self::Token(token) => of(token.state.as_str(), token.version),
        }
    }

    /// What it is called among its like.
    pub(super) fn label(&self) -> &str {
        match self {
            Self::Operation(held) => &held.0.operation,
            Self::Record(_, locked) => &locked.label,
            Self::Kind(..) => "operation kind",
            Self::Member(_) => "role",
            Self::NewIncident(_) => crate::store::incident::OPENED_BY_PERSON,
            Self::Bulk(bulk) => bulk.row.verb.as_str(),
            Self::NewToken { own, .. } => token_of(*own),
            Self::Token(token) => token_of(token.person.is_some()),
        }
    }

    /// Its own key.
    pub(super) fn key(&self) -> Cow<'_, str> {
        match self {
            Self::Operation(held) => Cow::Borrowed(&held.0.key),
            Self::Record(_, locked) => Cow::Borrowed(&locked.key),
            Self::Kind(name, _) => Cow::Borrowed(name),
            Self::Member(member) => Cow::Borrowed(&member.email),
            Self::NewIncident(id) => Cow::Owned(id.to_string()),
            Self::Bulk(bulk) => Cow::Owned(bulk.row.id.to_string()),
            Self::NewToken { name, .. } => Cow::Borrowed(name),
            Self::Token(token) => Cow::Borrowed(&token.name),
        }
    }

    /// The amount that a decision is about: what is to go back, where only a part is.
    pub(super) fn at_stake(&self, request: &ActionRequest) -> Option<Money> {
        let part = request.amount().filter(|_| request.verb == Verb::Compensate);
        part.or_else(|| self.amount())
    }

    /// The amount of the record; of a bulk what its set adds up to, where that is one amount.
    fn amount(&self) -> Option<Money> {
        match self {
            Self::Operation(held) => held.0.amount.clone(),
            Self::Record(_, locked) => locked.amount.clone(),
            Self::Kind(..)
            | Self::Member(_)
            | Self::NewIncident(_)
            | Self::NewToken { .. }
            | Self::Token(_) => None,
            Self::Bulk(bulk) => {
                let known = bulk.sums.iter().all(|sum| sum.currency.is_some());
                let mut totals = totals(&bulk.sums);
                totals.pop().filter(|_| known && totals.is_empty())
            }
        }
    }

    /// The operation that an event about it belongs to.
    pub(super) const fn operation(&self) -> Option<OperationId> {
        match self {
            Self::Operation(held) => Some(held.0.target.id),
            Self::Record(..)
            | Self::Kind(..)
            | Self::Member(_)
            | Self::NewIncident(_)
            | Self::Bulk(_)
            | Self::NewToken { .. }
            | Self::Token(_) => None,
        }
    }

    /// How long a request about it stands.
    pub(super) const fn approval_ttl_ms(&self) -> i64 {
        match self {
            Self::Operation(held) => held.1.approval_ttl_ms,
            Self::Kind(_, Some(current)) => current.0.approval_ttl_ms,
            Self::Record(..)
            | Self::Kind(_, None)
            | Self::Member(_)
            | Self::NewIncident(_)
            | Self::Bulk(_)
            | Self::NewToken { .. }
            | Self::Token(_) => DEFAULT_TTL_MS,
        }
    }

    /// A refusal that shows what it looks like now.
    pub(super) fn refused(&self, code: Code) -> EngineError {
        let state = self.state();
        EngineError::refused_with(code, |refusal| refusal.current = Some(state))
    }
}

/// What a token is called among its like.
const fn token_of(own: bool) -> &'static str {
    if own { "token of a person" } else { "token of a service" }
}
