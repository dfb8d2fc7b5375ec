//! Signing in with email and password. The password's hash is checked by the server; tries are
//! counted here before anything is looked at, for known and unknown accounts alike (T14, T15), and by
//! the address that they come from, so that one password is not tried on every account (T40).

use std::net::IpAddr;

use domain::problem::Code;

use super::{new_secret, secret_hash};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{session, sign_in, staff},
};

/// The window in which tries are counted, in minutes; the refusal names it.
const WINDOW_MIN: i32 = 15;
/// The same in seconds: whoever is refused may try again then at the latest.
pub const SIGN_IN_WINDOW_S: u64 = 15 * 60;

/// A try that was counted and may be checked.
#[derive(Debug)]
pub struct SignInAttempt {
    email: String,
    from: Option<Vec<u8>>,
    account: Option<staff::Account>,
}

impl SignInAttempt {
    /// The stored hash; `None` where no account may sign in under that email: check a dummy, so
    /// that both take the same time.
    #[must_use]
    pub fn password_hash(&self) -> Option<&str> {
        self.account.as_ref().map(|account| account.password_hash.as_str())
    }
}

/// A signed-in browser.
#[derive(Debug)]
pub struct NewSession {
    /// The secret for the cookie; only its hash is stored.
    pub token: String,
    /// Who signed in.
    pub caller: StaffCaller,
}

impl Engine {
    /// Counts a try from no address: by the account alone.
    ///
    /// # Errors
    /// As [`Engine::begin_sign_in_from`].
    pub async fn begin_sign_in(&self, email: &str) -> Result<SignInAttempt, EngineError> {
        self.begin_sign_in_from(email, None).await
    }

    /// Counts a try; refuses what is beyond the limits of a quarter of an hour before any password is
    /// looked at. An address that is beyond its own closes no account.
    ///
    /// # Errors
    /// Refused: `too_many_attempts`.
    pub async fn begin_sign_in_from(
        &self,
        email: &str,
        from: Option<IpAddr>,
    ) -> Result<SignInAttempt, EngineError> {
        let email = email.trim().to_lowercase();
        let from = from.map(|address| secret_hash(&address.to_string()));
        let engine = self.clone();
        Self::detached(async move {
            let limits = &engine.settings.limits;
            let too_many = || EngineError::refused(Code::TooManyAttempts);
            let mut db = engine.pools.identity().acquire().await?;
            sign_in::sweep(&mut db).await?;
            if let Some(from) = &from {
                let tries = sign_in::count_address(&mut db, from, WINDOW_MIN).await?;
                if tries > limits.address_tries {
                    return Err(too_many());
                }
            }
            let hash = secret_hash(&email);
            let tries = sign_in::count_account(&mut db, &hash, WINDOW_MIN).await?;
            if tries > limits.account_tries {
                return Err(too_many());
            }
            let account = staff::account(&mut db, &email).await?;
            Ok(SignInAttempt { email, from, account })
        })
        .await
    }

    /// Ends a try: a session in the person's first tenant where the password was right.
    ///
    /// # Errors
    /// Refused: `sign_in_failed`, the same for a wrong password, an unknown, a disabled and a
    /// tenantless account.
    pub async fn finish_sign_in(
        &self,
        attempt: SignInAttempt,
        correct: bool,
        request_id: &str,
    ) -> Result<NewSession, EngineError> {
        let (engine, request_id) = (self.clone(), request_id.to_owned());
        Self::detached(async move {
            let failed = || EngineError::refused(Code::SignInFailed);
            let account = attempt.account.filter(|_| correct).ok_or_else(failed)?;
            let mut db = engine.pools.identity().acquire().await?;
            let tenant = staff::first_tenant(&mut db, account.id).await?.ok_or_else(failed)?;
            let token = new_secret();
            session::open(&mut db, &secret_hash(&token), account.id, tenant).await?;
            sign_in::forget_account(&mut db, &secret_hash(&attempt.email)).await?;
            if let Some(from) = &attempt.from {
                sign_in::give_back(&mut db, from).await?;
            }
            drop(db);
            let caller = engine.staff_by_session(&token, &request_id).await?.ok_or_else(failed)?;
            Ok(NewSession { token, caller })
        })
        .await
    }
}
