//! A person's own account: the second factor, the password, the sessions. Each change stands in the audit
//! log of the tenant that the session stands in.

use domain::{
    browser,
    ids::SessionId,
    problem::Code,
    view::{AccountView, SessionView, SignInView},
};

use super::{
    code,
    step_up::{Proof, Strength, done, refuse, renew, tries_of},
};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{
        audit::{self, Entry},
        factor,
        session::Lasts,
        session_list, sign_in, sign_in_ticket, staff,
    },
};

/// Sign-ins that a person is shown.
const SIGN_INS: usize = 10;

/// A second factor that was begun, as it is shown once.
#[derive(Clone, Debug)]
pub struct NewFactor {
    /// The secret as authenticators take it by hand.
    pub secret: String,
    /// The same as a link, which a QR code carries.
    pub link: String,
}

impl Engine {
    /// A person's sessions and factors.
    ///
    /// # Errors
    /// The database's.
    pub async fn account(&self, by: &StaffCaller) -> Result<AccountView, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let lasts = Lasts::from(&engine.settings.limits);
            let all = session_list::newest(&mut db, by.staff_id(), lasts).await?;
            let sign_ins = all.iter().take(SIGN_INS).map(|one| SignInView {
                at: one.created_at,
                address: one.address.clone(),
                browser: browser::in_words(one.agent.as_deref()),
                open: one.open,
            });
            let sign_ins = sign_ins.collect();
            let mut sessions: Vec<_> = all
                .into_iter()
                .filter(|one| one.open)
                .map(|one| SessionView {
                    id: SessionId::new(one.id),
                    begun: one.created_at,
                    seen: one.seen_at,
                    address: one.address,
                    browser: browser::in_words(one.agent.as_deref()),
                    tenant: one.tenant,
                    current: by.session() == Some(SessionId::new(one.id)),
                })
                .collect();
            sessions.sort_by_key(|one| std::cmp::Reverse((one.current, one.seen)));
            Ok(AccountView {
                second_factor: factor::is_on(&mut db, by.staff_id()).await?,
                recovery_codes: factor::recovery_codes_left(&mut db, by.staff_id()).await?,
                proved_until: by.factor_lasts().and(by.factor_until),
                sessions,
                sign_ins,
            })
        })
        .await
    }

    /// Begins a second factor; it counts once a code of it was given.
    ///
    /// # Errors
    /// Refused, with one audit row: `step_up_required`; `not_allowed_in_state` where one counts already.
    pub async fn begin_second_factor(&self, by: &StaffCaller) -> Result<NewFactor, EngineError> {
        const ACTION: &str = "second_factor.begin";
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if by.factor_lasts().is_none() {
                return refuse(tx, &by, ACTION, Code::StepUpRequired).await;
            }
            let secret = code::new_secret();
            let sealed = code::seal(&engine.settings, by.staff_id(), &secret);
            if !factor::begin(&mut tx, by.staff_id(), &sealed).await? {
                return refuse(tx, &by, ACTION, Code::NotAllowedInState).await;
            }
            audit::add(&mut tx, done(&by, ACTION)).await?;
            tx.commit().await?;
            let totp = code::totp(secret.to_vec(), by.email())?;
            let link = totp.to_url().map_err(|_| EngineError::Unreadable("an email".into()))?;
            Ok(NewFactor { secret: totp.secret().to_base32(), link })
        })
        .await
    }

    /// Makes the second factor that was begun count, by a first code of it; the answer is the recovery
    /// codes, which are shown once.
    ///
    /// # Errors
    /// Refused, with one audit row: `too_many_attempts`, `factor_refused`; `not_allowed_in_state` where
    /// none was begun.
    pub async fn confirm_second_factor(
        &self,
        by: &StaffCaller,
        code: &str,
    ) -> Result<Vec<String>, EngineError> {
        const ACTION: &str = "second_factor.on";
        let (engine, by, code) = (self.clone(), by.clone(), code.to_owned());
        Self::detached(async move {
            let staff = by.staff_id();
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if by.factor_lasts().is_none() {
                return refuse(tx, &by, ACTION, Code::StepUpRequired).await;
            }
            if engine.too_many_tries(&mut tx, &tries_of(&by)).await? {
                return refuse(tx, &by, ACTION, Code::TooManyAttempts).await;
            }
            let Some(begun) = factor::read(&mut tx, staff, false).await? else {
                return refuse(tx, &by, ACTION, Code::NotAllowedInState).await;
            };
            let Some(step) = engine.step_of(staff, &begun, &code)? else {
                return refuse(tx, &by, ACTION, Code::FactorRefused).await;
            };
            if !factor::confirm(&mut tx, staff, step).await? {
                return refuse(tx, &by, ACTION, Code::NotAllowedInState).await;
            }
            let codes = code::new_recovery_codes();
            let hashes: Vec<_> = codes.iter().map(|code| code::recovery_hash(code)).collect();
            factor::add_recovery_codes(&mut tx, staff, &hashes).await?;
            sign_in::forget_account(&mut tx, &tries_of(&by)).await?;
            audit::add(&mut tx, done(&by, ACTION)).await?;
            tx.commit().await?;
            Ok(codes)
        })
        .await
    }

    /// Turns the second factor off.
    ///
    /// # Errors
    /// Refused, with one audit row: `step_up_required`; `not_allowed_in_state` where there is none.
    pub async fn turn_off_second_factor(&self, by: &StaffCaller) -> Result<(), EngineError> {
        const ACTION: &str = "second_factor.off";
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if by.factor_lasts().is_none() {
                return refuse(tx, &by, ACTION, Code::StepUpRequired).await;
            }
            if !factor::is_on(&mut tx, by.staff_id()).await? {
                return refuse(tx, &by, ACTION, Code::NotAllowedInState).await;
            }
            factor::remove(&mut tx, by.staff_id()).await?;
            audit::add(&mut tx, done(&by, ACTION)).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Changes the password, by the old one or a code; all other sessions end, and this one gets a new
    /// token, which is the answer.
    ///
    /// # Errors
    /// Refused, with one audit row: `factor_refused`; `unauthenticated` where the session has ended.
    pub async fn change_password(
        &self,
        by: &StaffCaller,
        proof: Proof,
        password_hash: &str,
    ) -> Result<String, EngineError> {
        const ACTION: &str = "password.change";
        let (engine, by, hash) = (self.clone(), by.clone(), password_hash.to_owned());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if !engine.holds(&mut tx, &by, &proof, Strength::Either).await? {
                return refuse(tx, &by, ACTION, Code::FactorRefused).await;
            }
            staff::set_password(&mut tx, by.staff_id(), &hash).await?;
            session_list::end_others(&mut tx, by.staff_id(), by.session()).await?;
            sign_in_ticket::void(&mut tx, by.staff_id()).await?;
            let token = renew(&mut tx, &by).await?;
            audit::add(&mut tx, done(&by, ACTION)).await?;
            tx.commit().await?;
            Ok(token)
        })
        .await
    }

    /// Ends one of the person's sessions.
    ///
    /// # Errors
    /// Refused, with one audit row: `not_found` for one that is not theirs, or has ended.
    pub async fn end_session(&self, by: &StaffCaller, id: SessionId) -> Result<(), EngineError> {
        const ACTION: &str = "session.end";
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            if !session_list::end(&mut tx, by.staff_id(), id).await? {
                return refuse(tx, &by, ACTION, Code::NotFound).await;
            }
            let id = id.to_string();
            let entry = Entry { target_type: "session", target_id: &id, ..done(&by, ACTION) };
            audit::add(&mut tx, entry).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Ends all of the person's sessions but this one.
    ///
    /// # Errors
    /// The database's.
    pub async fn end_other_sessions(&self, by: &StaffCaller) -> Result<(), EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            session_list::end_others(&mut tx, by.staff_id(), by.session()).await?;
            audit::add(&mut tx, done(&by, "session.end_others")).await?;
            tx.commit().await?;
            Ok(())
        })
        .await
    }
}
