//! Who calls a command. Only `identity` makes one, from a session or a token it has checked, or of a
//! person whose work goes on without them, as they stand now; so holding a caller is proof of having
//! been let in.

use std::{net::IpAddr, sync::Arc};

use chrono::{DateTime, TimeDelta, Utc};
use domain::{
    access::{Permission, Role, permits},
    ids::{SessionId, StaffId, TenantId, TokenId},
    preferences::Preferences,
    problem::Code,
    token::{TokenVerb, covers},
};

use crate::{actor::Actor, error::EngineError};

/// Which request something was asked by, and from where: what the audit log keeps of it (T40).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestOrigin {
    /// The request's id, or what stands in its place in the audit log.
    pub request_id: String,
    /// The client's address, as far as trusted proxies tell; `None` where no client asked.
    pub client: Option<IpAddr>,
}

impl RequestOrigin {
    /// Of this process itself: no client asked.
    #[must_use]
    pub fn here(request_id: impl Into<String>) -> Self {
        Self { request_id: request_id.into(), client: None }
    }
}

/// Either kind of caller of the JSON API.
#[derive(Clone, Debug)]
pub enum Caller {
    /// A person.
    Staff(StaffCaller),
    /// A service.
    Service(ServiceCaller),
}

impl Caller {
    /// The token that it came with; `None` for a browser's session.
    #[must_use]
    pub fn token_id(&self) -> Option<TokenId> {
        match self {
            Self::Staff(staff) => staff.token.as_ref().map(|token| token.id),
            Self::Service(service) => Some(service.token_id),
        }
    }

    /// Whether the token covers a call; a session covers all.
    #[must_use]
    pub fn covers_verb(&self, verb: TokenVerb) -> bool {
        match self {
            Self::Staff(staff) => {
                staff.token.as_ref().is_none_or(|token| covers(&token.verbs, verb))
            }
            Self::Service(service) => covers(&service.verbs, verb),
        }
    }
}

/// The token that a person's program came with.
#[derive(Debug)]
pub(crate) struct StaffToken {
    pub(crate) id: TokenId,
    /// Empty: all.
    pub(crate) verbs: Vec<TokenVerb>,
}

/// A person in one tenant.
#[derive(Clone, Debug)]
pub struct StaffCaller {
    pub(crate) staff_id: StaffId,
    pub(crate) name: String,
    pub(crate) email: String,
    pub(crate) tenant_id: TenantId,
    pub(crate) tenant_slug: String,
    pub(crate) tenant_name: String,
    pub(crate) role: Role,
    /// Shared, for a caller is kept in every command's future.
    pub(crate) origin: Arc<RequestOrigin>,
    pub(crate) asked_at: DateTime<Utc>,
    /// The browser's session; `None` for a token, and for work that goes on without its person.
    pub(crate) session: Option<SessionId>,
    /// Until when what was last given to prove who it is counts for what takes a fresh factor (T12).
    pub(crate) factor_until: Option<DateTime<Utc>>,
    /// Shared alike.
    pub(crate) preferences: Option<Arc<Preferences>>,
    /// `None` for a browser's session, and for work that goes on without its person.
    pub(crate) token: Option<Arc<StaffToken>>,
}

impl StaffCaller {
    /// The person's id.
    #[must_use]
    pub const fn staff_id(&self) -> StaffId {
        self.staff_id
    }

    /// The person's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The person's email.
    #[must_use]
    pub fn email(&self) -> &str {
        &self.email
    }

    /// The tenant that the session stands in.
    #[must_use]
    pub const fn tenant_id(&self) -> TenantId {
        self.tenant_id
    }

    /// The tenant's short name.
    #[must_use]
    pub fn tenant_slug(&self) -> &str {
        &self.tenant_slug
    }

    /// The role in that tenant.
    #[must_use]
    pub const fn role(&self) -> Role {
        self.role
    }

    /// The request that this caller came with.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.origin.request_id
    }

    /// The same, and from where it came.
    #[must_use]
    pub fn origin(&self) -> &RequestOrigin {
        &self.origin
    }

    /// How the person wants the console to look, where it is kept with the account; of a browser's
    /// session alone.
    #[must_use]
    pub fn preferences(&self) -> Option<&Preferences> {
        self.preferences.as_deref()
    }

    /// The browser's session.
    #[must_use]
    pub const fn session(&self) -> Option<SessionId> {
        self.session
    }

    /// How long what was last given to prove who it is still counts for money, reveals and force;
    /// `None` where it does not any more (T12).
    #[must_use]
    pub fn factor_lasts(&self) -> Option<TimeDelta> {
        let left = self.factor_until?.signed_duration_since(self.asked_at);
        (left >= TimeDelta::zero()).then_some(left)
    }

    /// Whether the role has a right.
    #[must_use]
    pub const fn permits(&self, permission: Permission) -> bool {
        permits(self.role, permission)
    }

    /// Refuses what takes a fresh factor where none was given lately (T12).
    pub(crate) fn require_factor(&self) -> Result<(), EngineError> {
        match self.factor_lasts() {
            Some(_) => Ok(()),
            None => Err(EngineError::refused(Code::StepUpRequired)),
        }
    }

    pub(crate) fn require(&self, permission: Permission) -> Result<(), EngineError> {
        if self.permits(permission) {
            return Ok(());
        }
        Err(EngineError::refused_with(Code::PermissionMissing, |refusal| {
            refusal.missing = Some(permission);
        }))
    }
}

/// A session that stands: enough to follow what changes in its tenant, and to decide nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    pub(crate) session: SessionId,
    pub(crate) tenant: TenantId,
    pub(crate) tenant_slug: String,
}

impl Standing {
    /// The session.
    #[must_use]
    pub const fn session(&self) -> SessionId {
        self.session
    }

    /// The short name of the tenant that it stands in.
    #[must_use]
    pub fn tenant_slug(&self) -> &str {
        &self.tenant_slug
    }
}

/// A service with its token.
#[derive(Clone, Debug)]
pub struct ServiceCaller {
    pub(crate) token_id: TokenId,
    pub(crate) name: String,
    pub(crate) tenant_id: TenantId,
    pub(crate) kinds: Vec<String>,
    /// Empty: all.
    pub(crate) verbs: Vec<TokenVerb>,
    pub(crate) origin: Arc<RequestOrigin>,
}

impl ServiceCaller {
    /// The token's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The token's id.
    #[must_use]
    pub const fn token_id(&self) -> TokenId {
        self.token_id
    }

    /// The tenant that the token is bound to.
    #[must_use]
    pub const fn tenant_id(&self) -> TenantId {
        self.tenant_id
    }

    /// The request that this caller came with.
    #[must_use]
    pub fn request_id(&self) -> &str {
        &self.origin.request_id
    }

    /// Whether the token covers an operation kind.
    #[must_use]
    pub fn covers(&self, operation: &str) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| kind == operation)
    }

    pub(crate) fn require(&self, operation: &str) -> Result<(), EngineError> {
        if self.covers(operation) { Ok(()) } else { Err(EngineError::refused(Code::TokenScope)) }
    }

    pub(crate) fn actor(&self) -> Actor {
        Actor::new("service", &self.name)
    }
}
