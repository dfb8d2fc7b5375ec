//! Proving again who one is (T12): before money, reveals and force, and before what changes how one signs
//! in. The factor is the second one where there is one, else the password.
//!
//! Guards against the unlocked desk and the stolen session: the tries are counted before anything is looked
//! at, each wrong one leaves an audit row, and the right one gives the session a new token (T09).

use domain::{
    ids::{StaffId, TenantId},
    problem::Code,
};

use super::{code::Taken, new_secret, secret_hash};
use crate::{
    Engine, RequestOrigin, StaffCaller,
    database::Tx,
    error::EngineError,
    store::{
        audit::{self, Entry},
        factor, session_list, sign_in, staff,
    },
};

/// A try that was counted and may be checked.
#[derive(Debug)]
pub struct StepUpAttempt {
    password_hash: Option<String>,
    takes_code: bool,
}

impl StepUpAttempt {
    /// Whether the person has a second factor: then its code alone is taken.
    #[must_use]
    pub const fn takes_code(&self) -> bool {
        self.takes_code
    }

    /// The stored hash of the password; `None` where the account has none any more.
    #[must_use]
    pub fn password_hash(&self) -> Option<&str> {
        self.password_hash.as_deref()
    }
}

/// What a person proves themselves by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FactorAsked {
    /// A code of the second factor.
    Code,
    /// The password.
    Password,
    /// Neither is here: the identity provider, which knows them.
    Provider,
}

/// What was given.
#[derive(Clone, Debug)]
pub enum Proof {
    /// A password, and whether it fits: its hash is slow, so the server computes it.
    Password(bool),
    /// A code of the second factor, or a recovery code.
    Code(String),
}

impl Engine {
    /// What is asked of a person.
    ///
    /// # Errors
    /// The database's.
    pub async fn factor_asked(&self, by: &StaffCaller) -> Result<FactorAsked, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            Ok(if factor::is_on(&mut db, by.staff_id()).await? {
                FactorAsked::Code
            } else if staff::account(&mut db, by.email()).await?.is_some() {
                FactorAsked::Password
            } else {
                FactorAsked::Provider
            })
        })
        .await
    }

    /// Counts a try to prove who one is; refuses the sixth within a quarter of an hour before anything
    /// is looked at.
    ///
    /// # Errors
    /// Refused, with one audit row: `too_many_attempts`.
    pub async fn begin_step_up(&self, by: &StaffCaller) -> Result<StepUpAttempt, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if engine.too_many_tries(&mut tx, &tries_of(&by)).await? {
                return refuse(tx, &by, "step_up", Code::TooManyAttempts).await;
            }
            let account = staff::account(&mut tx, by.email()).await?;
            let takes_code = factor::is_on(&mut tx, by.staff_id()).await?;
            tx.commit().await?;
            Ok(StepUpAttempt {
                password_hash: account.map(|account| account.password_hash),
                takes_code,
            })
        })
        .await
    }

    /// Ends a try: where the proof holds, the session's factor is fresh and its token another. The
    /// answer is the new one; the old one is worth nothing.
    ///
    /// # Errors
    /// Refused, with one audit row: `factor_refused`; `unauthenticated` where the session has ended.
    pub async fn finish_step_up(
        &self,
        by: &StaffCaller,
        proof: Proof,
    ) -> Result<String, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if !engine.holds(&mut tx, &by, &proof, Strength::Factor).await? {
                return refuse(tx, &by, "step_up", Code::FactorRefused).await;
            }
            let token = renew(&mut tx, &by).await?;
            audit::add(&mut tx, done(&by, "step_up")).await?;
            tx.commit().await?;
            Ok(token)
        })
        .await
    }

    /// The caller with what a program sent along: a right code of the authenticator counts for this call.
    /// A wrong one changes nothing, so that whatever needs it is refused and written down as that.
    ///
    /// # Errors
    /// Refused: `too_many_attempts`.
    pub async fn with_code(&self, by: StaffCaller, code: &str) -> Result<StaffCaller, EngineError> {
        let (engine, code) = (self.clone(), code.to_owned());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            if engine.too_many_tries(&mut db, &tries_of(&by)).await? {
                return Err(EngineError::refused(Code::TooManyAttempts));
            }
            if !engine.take_code(&mut db, by.staff_id(), &code, Taken::Authenticator).await? {
                return Ok(by);
            }
            sign_in::forget_account(&mut db, &tries_of(&by)).await?;
            Ok(StaffCaller { factor_until: Some(by.asked_at), ..by })
        })
        .await
    }

    /// Whether a proof holds; where it does, the tries are forgotten.
    pub(super) async fn holds(
        &self,
        tx: &mut Tx,
        by: &StaffCaller,
        proof: &Proof,
        strength: Strength,
    ) -> Result<bool, EngineError> {
        let holds = match proof {
            Proof::Code(code) => self.take_code(tx, by.staff_id(), code, Taken::Any).await?,
            Proof::Password(fits) => {
                *fits && (strength == Strength::Either || !factor::is_on(tx, by.staff_id()).await?)
            }
        };
        if holds {
            sign_in::forget_account(tx, &tries_of(by)).await?;
        }
        Ok(holds)
    }
}

/// What proves a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strength {
    /// The second factor where there is one, else the password.
    Factor,
    /// Either of both.
    Either,
}

/// Under what the tries of a person who is signed in are counted: apart from those of strangers, who
/// could else lock the desk.
pub(super) fn tries_of(by: &StaffCaller) -> Vec<u8> {
    secret_hash(&format!("step up {}", by.staff_id()))
}

/// Gives the caller's session a new token.
pub(super) async fn renew(tx: &mut Tx, by: &StaffCaller) -> Result<String, EngineError> {
    let gone = || EngineError::refused(Code::Unauthenticated);
    let session = by.session().ok_or_else(gone)?;
    let token = new_secret();
    if session_list::renew(tx, session, &secret_hash(&token)).await? {
        Ok(token)
    } else {
        Err(gone())
    }
}

/// What a person did to their own account, as an audit row.
pub(super) fn done<'a>(by: &'a StaffCaller, action: &'a str) -> Entry<'a> {
    at_the_door(by.tenant_id(), (by.staff_id(), by.email()), action, by.origin())
}

/// The same of a person who is not let in yet, or no more: in the tenant that the session stands in.
pub(super) fn at_the_door<'a>(
    tenant: TenantId,
    (staff, email): (StaffId, &'a str),
    action: &'a str,
    request: &'a RequestOrigin,
) -> Entry<'a> {
    Entry {
        tenant,
        actor_kind: "staff",
        actor_id: Some(staff.uuid()),
        actor: email,
        action,
        target_type: "staff",
        target_id: email,
        refused: None,
        reason: None,
        before: None,
        after: None,
        receipt: None,
        request_id: &request.request_id,
        client: request.client,
    }
}

/// Commits what was counted with the audit row of the refusal.
pub(super) async fn refuse<T>(
    mut tx: Tx,
    by: &StaffCaller,
    action: &str,
    code: Code,
) -> Result<T, EngineError> {
    audit::add(&mut tx, Entry { refused: Some(code), ..done(by, action) }).await?;
    tx.commit().await?;
    Err(EngineError::refused(code))
}
