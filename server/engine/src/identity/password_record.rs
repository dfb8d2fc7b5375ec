//! Signing in with email and password. The password's hash is checked by the server; tries are
//! counted here before anything is looked at, for known and unknown accounts alike (T14, T15).

use domain::problem::Code;

use super::{new_secret, secret_hash};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{session, staff},
};

/// Tries per account and window.
const MAX_TRIES: i32 = 5;
/// The window, in minutes.
const WINDOW_MIN: i32 = 15;

/// A try that was counted and may be checked.
#[derive(Debug)]
pub struct SignInAttempt {
    email: String,
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
    /// Counts a try; refuses the sixth within a quarter of an hour before any password is looked
    /// at.
    ///
    /// # Errors
    /// Refused: `too_many_attempts`.
    pub async fn begin_sign_in(&self, email: &str) -> Result<SignInAttempt, EngineError> {
        let email = email.trim().to_lowercase();
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let tries = staff::count_try(&mut db, &secret_hash(&email), WINDOW_MIN).await?;
            if tries > MAX_TRIES {
                return Err(EngineError::refused(Code::TooManyAttempts));
            }
            let account = staff::account(&mut db, &email).await?;
            Ok(SignInAttempt { email, account })
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
            staff::forget_tries(&mut db, &secret_hash(&attempt.email)).await?;
            drop(db);
            let caller = engine.staff_by_session(&token, &request_id).await?.ok_or_else(failed)?;
            Ok(NewSession { token, caller })
        })
        .await
    }
}
