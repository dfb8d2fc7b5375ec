//! Tokens as people read them: the tenant's for whoever looks after them, one's own for everybody.

use domain::{
    access::Permission,
    action::{TargetType, Verb},
    ids::{StaffId, TokenId},
    problem::Code,
    view::TokenView,
};

use super::offers::offers;
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{
        operation,
        token_listing::{self, Token},
    },
};

/// Tokens that one listing shows; those that work stand first.
const MAX_SHOWN: i64 = 500;
/// What the audit log calls looking at them.
const READ: &str = "read_tokens";

impl Engine {
    /// The tokens of the tenant: those that work first, the newest first of each.
    ///
    /// # Errors
    /// Refused, with one audit row: `permission_missing`.
    pub async fn tokens(&self, by: &StaffCaller) -> Result<Vec<TokenView>, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let all = ("tokens", by.tenant_slug());
            engine.may_look(&by, Permission::ManageTokens, READ, all).await?;
            engine.listed(&by, None).await
        })
        .await
    }

    /// The caller's own tokens in the tenant.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn own_tokens(&self, by: &StaffCaller) -> Result<Vec<TokenView>, EngineError> {
        by.require(Permission::OwnTokens)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move { engine.listed(&by, Some(by.staff_id())).await }).await
    }

    async fn listed(
        &self,
        by: &StaffCaller,
        person: Option<StaffId>,
    ) -> Result<Vec<TokenView>, EngineError> {
        let mut tx = self.pools.begin_console(by.tenant_id()).await?;
        let tokens = token_listing::list(&mut tx, by.tenant_id(), person, MAX_SHOWN).await?;
        tx.commit().await?;
        Ok(tokens.into_iter().map(|token| shown(by, token)).collect())
    }

    /// An id for a form that makes a token, by the database's clock: sent again, the form makes nothing
    /// twice.
    ///
    /// # Errors
    /// The database's.
    pub async fn new_token_id(&self, by: &StaffCaller) -> Result<TokenId, EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let id = operation::new_id(&mut tx).await?;
            tx.commit().await?;
            Ok(TokenId::new(id.uuid()))
        })
        .await
    }

    /// One token, for whoever looks after tokens and for its own person.
    ///
    /// # Errors
    /// Refused: `permission_missing`, with one audit row and whatever the id, for whoever may see only
    /// their own; `not_found`.
    pub async fn token(&self, by: &StaffCaller, id: TokenId) -> Result<TokenView, EngineError> {
        by.require(Permission::OwnTokens)?;
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let found = token_listing::find(&mut tx, by.tenant_id(), id).await?;
            tx.commit().await?;
            if !found.as_ref().is_some_and(|token| is_own(&by, token)) {
                let id = id.to_string();
                let one = (TargetType::Token.as_str(), id.as_str());
                engine.may_look(&by, Permission::ManageTokens, READ, one).await?;
            }
            let token = found.ok_or_else(|| EngineError::refused(Code::NotFound))?;
            Ok(shown(&by, token))
        })
        .await
    }
}

fn is_own(by: &StaffCaller, token: &Token) -> bool {
    token.person.as_ref().is_some_and(|(person, _)| *person == by.staff_id())
}

fn shown(by: &StaffCaller, token: Token) -> TokenView {
    let own = is_own(by, &token);
    let mut actions = offers(by, TargetType::Token, token.state.as_str());
    for offer in actions.iter_mut().filter(|offer| own && offer.verb == Verb::Revoke) {
        (offer.refusal, offer.missing) = (None, None);
    }
    TokenView { actions, ..TokenView::from(token) }
}
