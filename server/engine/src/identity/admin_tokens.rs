//! Tokens as the command line manages them.

use domain::{ids::StaffId, problem::Code, token::TokenVerb, view::TokenView};
use sqlx::Connection as _;

use super::{
    Admin,
    admin::{known, record},
    token::new_token,
};
use crate::{
    error::EngineError,
    store::{
        staff,
        token::{self, AddedToken},
        token_listing,
    },
};

/// Tokens that one listing shows.
const MAX_LISTED: i64 = 10_000;

/// A token to make.
#[derive(Clone, Copy, Debug, Default)]
pub struct AddToken<'a> {
    /// The tenant's short name.
    pub tenant_slug: &'a str,
    /// What it is called.
    pub name: &'a str,
    /// Whose, by email; `None`: a service's.
    pub staff: Option<&'a str>,
    /// Kinds; empty: all.
    pub kinds: &'a [String],
    /// Calls; empty: all that its bearer may make.
    pub verbs: &'a [TokenVerb],
    /// Days until it expires; `None`: when it is revoked.
    pub expires_in_days: Option<i32>,
}

impl Admin {
    /// Makes a service's token; its text is returned here and nowhere again. No kinds: all of the
    /// tenant's.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown tenant, `unprocessable` for a name in use.
    pub async fn add_service_token(
        &mut self,
        tenant_slug: &str,
        name: &str,
        kinds: &[String],
        expires_in_days: Option<i32>,
    ) -> Result<String, EngineError> {
        let new = AddToken { tenant_slug, name, kinds, expires_in_days, ..AddToken::default() };
        self.add_token(&new).await
    }

    /// Makes a person's token in a tenant.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown tenant or person, `unprocessable` for a name in use.
    pub async fn add_staff_token(
        &mut self,
        email: &str,
        tenant_slug: &str,
        name: &str,
        expires_in_days: Option<i32>,
    ) -> Result<String, EngineError> {
        let new = AddToken {
            tenant_slug,
            name,
            staff: Some(email),
            expires_in_days,
            ..AddToken::default()
        };
        self.add_token(&new).await
    }

    /// Makes a token that covers what is said; its text is returned here and nowhere again.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown tenant or person; `unprocessable` for a name in use, and for
    /// verbs that such a token cannot have.
    pub async fn add_token(&mut self, new: &AddToken<'_>) -> Result<String, EngineError> {
        let tenant = self.tenant(new.tenant_slug).await?;
        let own = new.staff.is_some();
        if let Some(other) = new.verbs.iter().find(|verb| !TokenVerb::of(own).contains(verb)) {
            let words = format!("such a token cannot have the verb {other}");
            return Err(EngineError::field(Code::Unprocessable, "verbs", words));
        }
        let person: Option<StaffId> = match new.staff {
            Some(email) => {
                let email = email.trim().to_lowercase();
                Some(known(staff::find(&mut self.db, &email).await?)?)
            }
            None => None,
        };
        let (secret, hash) = new_token(own);
        let mut tx = self.db.begin().await?;
        let added = AddedToken {
            id: None,
            tenant,
            name: new.name,
            person,
            kinds: new.kinds,
            verbs: new.verbs,
            days: new.expires_in_days,
            hash: &hash,
            made_by: None,
        };
        if !token::add(&mut tx, &added).await? {
            return Err(EngineError::field(
                Code::Unprocessable,
                "name",
                "a token of that name exists",
            ));
        }
        record(&mut tx, tenant, "token.add", "token", new.name, None).await?;
        tx.commit().await?;
        Ok(secret)
    }

    /// The tokens of a tenant: those that work first.
    ///
    /// # Errors
    /// Refused: `not_found` for an unknown tenant.
    pub async fn tokens(&mut self, tenant_slug: &str) -> Result<Vec<TokenView>, EngineError> {
        let tenant = self.tenant(tenant_slug).await?;
        let tokens = token_listing::list(&mut self.db, tenant, None, MAX_LISTED).await?;
        Ok(tokens.into_iter().map(TokenView::from).collect())
    }

    /// Revokes a token at once.
    ///
    /// # Errors
    /// Refused: `not_found`.
    pub async fn revoke_token(&mut self, tenant_slug: &str, name: &str) -> Result<(), EngineError> {
        let tenant = self.tenant(tenant_slug).await?;
        let mut tx = self.db.begin().await?;
        if !token::revoke_named(&mut tx, tenant, name).await? {
            return Err(EngineError::refused(Code::NotFound));
        }
        record(&mut tx, tenant, "token.revoke", "token", name, None).await?;
        tx.commit().await?;
        Ok(())
    }
}
