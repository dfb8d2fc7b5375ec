//! Signing in with email and password, and with a code where the account has a second factor. The
//! password's hash is checked by the server; tries are counted here before anything is looked at, for
//! known and unknown accounts alike (T14, T15), and by the address that they come from, so that one
//! password is not tried on every account (T40). No session begins before all that is asked for was given.

use std::net::IpAddr;

use domain::{
    ids::{StaffId, TenantId},
    problem::Code,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::{code::Taken, new_secret, secret_hash, step_up::at_the_door};
use crate::{
    Engine, RequestOrigin, StaffCaller,
    error::EngineError,
    store::{
        audit, factor, session,
        session_list::{self, Origin},
        sign_in, sign_in_ticket, staff,
    },
};

/// The window in which tries are counted, in minutes; the refusal names it.
const WINDOW_MIN: i32 = 15;
/// The same in seconds: whoever is refused may try again then at the latest.
pub const SIGN_IN_WINDOW_S: u64 = 15 * 60;

/// What the audit log calls it.
pub(super) const SIGN_IN: &str = "sign_in";

/// A try that was counted and may be checked.
#[derive(Debug)]
pub struct SignInAttempt {
    email: String,
    from: Option<Vec<u8>>,
    account: Option<staff::Account>,
    takes_code: bool,
    origin: Origin,
}

impl SignInAttempt {
    /// The stored hash; `None` where no account may sign in under that email: check a dummy, so
    /// that both take the same time.
    #[must_use]
    pub fn password_hash(&self) -> Option<&str> {
        self.account.as_ref().map(|account| account.password_hash.as_str())
    }

    /// Whether the account has a second factor, so that the password alone opens nothing.
    #[must_use]
    pub const fn takes_code(&self) -> bool {
        self.takes_code
    }

    /// Notes where it comes from, for the person to know it by.
    #[must_use]
    pub fn from_origin(self, origin: Origin) -> Self {
        Self { origin, ..self }
    }
}

fn failed() -> EngineError {
    EngineError::refused(Code::SignInFailed)
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
    /// Counts a try by one statement, and says whether it is beyond the limit of the running window.
    pub(super) async fn too_many_tries(
        &self,
        db: &mut PgConnection,
        of: &[u8],
    ) -> Result<bool, EngineError> {
        let tries = sign_in::count_account(db, of, WINDOW_MIN).await?;
        Ok(tries > self.settings.limits.account_tries)
    }

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
            let mut db = engine.pools.identity().acquire().await?;
            sign_in::sweep(&mut db).await?;
            if let Some(from) = &from {
                let tries = sign_in::count_address(&mut db, from, WINDOW_MIN).await?;
                if tries > engine.settings.limits.address_tries {
                    return Err(EngineError::refused(Code::TooManyAttempts));
                }
            }
            if engine.too_many_tries(&mut db, &secret_hash(&email)).await? {
                return Err(EngineError::refused(Code::TooManyAttempts));
            }
            let account = staff::account(&mut db, &email).await?;
            // Asked for an unknown account too, so that both take the same time.
            let id = account.as_ref().map_or(StaffId::new(Uuid::nil()), |account| account.id);
            let takes_code = factor::is_on(&mut db, id).await?;
            Ok(SignInAttempt { email, from, account, takes_code, origin: Origin::default() })
        })
        .await
    }

    /// Ends a try: a session in the person's first tenant, with its audit row there, where the password was
    /// right and is all that is asked for.
    ///
    /// # Errors
    /// Refused: `sign_in_failed`, the same for a wrong password, an unknown, a disabled and a
    /// tenantless account, and where a code is asked for.
    pub async fn finish_sign_in(
        &self,
        attempt: SignInAttempt,
        correct: bool,
        request: RequestOrigin,
    ) -> Result<NewSession, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let correct = correct && !attempt.takes_code;
            let account = attempt.account.filter(|_| correct).ok_or_else(failed)?;
            let tenant = engine.first_tenant(account.id).await?;
            let mut tx = engine.pools.begin_console(tenant).await?;
            let token = open(&mut tx, (account.id, tenant), &attempt.origin).await?;
            sign_in::forget_account(&mut tx, &secret_hash(&attempt.email)).await?;
            if let Some(from) = &attempt.from {
                sign_in::give_back(&mut tx, from).await?;
            }
            let who = (account.id, attempt.email.as_str());
            audit::add(&mut tx, at_the_door(tenant, who, SIGN_IN, &request)).await?;
            tx.commit().await?;
            let caller = engine.staff_by_session(&token, request).await?.ok_or_else(failed)?;
            Ok(NewSession { token, caller })
        })
        .await
    }

    /// Ends a try at the password, where a code is asked for: the answer is the browser's half of a
    /// ticket that stands for ten minutes. Nothing is open yet, and the tries go on being counted.
    ///
    /// # Errors
    /// Refused: `sign_in_failed`, as [`Engine::finish_sign_in`].
    pub async fn ask_for_code(
        &self,
        attempt: SignInAttempt,
        correct: bool,
    ) -> Result<String, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let correct = correct && attempt.takes_code;
            let account = attempt.account.filter(|_| correct).ok_or_else(failed)?;
            let mut db = engine.pools.identity().acquire().await?;
            let ticket = new_secret();
            let email_hash = secret_hash(&attempt.email);
            sign_in_ticket::open(&mut db, &secret_hash(&ticket), account.id, &email_hash).await?;
            Ok(ticket)
        })
        .await
    }

    /// Ends a sign-in by its code: the session begins here, with its audit row.
    ///
    /// # Errors
    /// Refused: `sign_in_failed` for a ticket that does not stand; `too_many_attempts`, counted with
    /// those of the password; `factor_refused`.
    pub async fn finish_with_code(
        &self,
        ticket: &str,
        code: &str,
        origin: Origin,
        request: RequestOrigin,
    ) -> Result<String, EngineError> {
        let (engine, ticket, code) = (self.clone(), secret_hash(ticket), code.to_owned());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let waiting = sign_in_ticket::find(&mut db, &ticket).await?.ok_or_else(failed)?;
            if engine.too_many_tries(&mut db, &waiting.email_hash).await? {
                return Err(EngineError::refused(Code::TooManyAttempts));
            }
            drop(db);
            let tenant = engine.first_tenant(waiting.staff).await?;
            let mut tx = engine.pools.begin_console(tenant).await?;
            if !engine.take_code(&mut tx, waiting.staff, &code, Taken::Any).await? {
                return Err(EngineError::refused(Code::FactorRefused));
            }
            if !sign_in_ticket::take(&mut tx, &ticket).await? {
                return Err(failed());
            }
            let token = open(&mut tx, (waiting.staff, tenant), &origin).await?;
            sign_in::forget_account(&mut tx, &waiting.email_hash).await?;
            let who = (waiting.staff, waiting.email.as_str());
            audit::add(&mut tx, at_the_door(tenant, who, SIGN_IN, &request)).await?;
            tx.commit().await?;
            Ok(token)
        })
        .await
    }

    /// The tenant that a person's session begins in.
    async fn first_tenant(&self, staff: StaffId) -> Result<TenantId, EngineError> {
        let mut db = self.pools.identity().acquire().await?;
        staff::first_tenant(&mut db, staff).await?.ok_or_else(failed)
    }
}

/// Opens a session; the answer is its token.
async fn open(
    db: &mut PgConnection,
    (staff, tenant): (StaffId, TenantId),
    origin: &Origin,
) -> Result<String, EngineError> {
    let token = new_secret();
    let hash = secret_hash(&token);
    session::open(db, &hash, staff, tenant).await?;
    session_list::note_origin(db, &hash, origin).await?;
    Ok(token)
}
