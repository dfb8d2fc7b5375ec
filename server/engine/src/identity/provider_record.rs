//! Signing in with an identity provider. Its answer has been checked by the server; here it is kept
//! who is on the way, who the person is by issuer and subject (never by e-mail), and what they may do:
//! what the provider grants now, and nothing else.

use chrono::{DateTime, Utc};
use domain::{
    access::Role,
    ids::{SessionId, TenantId},
    problem::Code,
};

use super::{NewSession, new_secret, password_record::SIGN_IN, secret_hash, step_up::at_the_door};
use crate::{
    Engine, RequestOrigin,
    error::EngineError,
    store::{
        audit,
        audit::Entry,
        pending_sign_in, session,
        session_list::{self, Origin},
        staff, staff_identity, tenant,
    },
};

/// How long a sign-in may stay at the provider, in minutes.
const LIFETIME_MIN: i32 = 10;
/// Who gave a right, in the audit log.
const PROVIDER: &str = "identity provider";

/// A sign-in that leaves for the provider.
#[derive(Debug)]
pub struct Departure {
    /// What the provider hands back with its answer.
    pub state: String,
    /// The PKCE verifier, which stays in the browser.
    pub verifier: String,
    /// What the ID token must repeat.
    pub nonce: String,
    /// Where the person is going.
    pub next: String,
    /// The session whose person is to prove again who they are; `None` opens a new one.
    pub session: Option<String>,
}

/// A sign-in that has come back. It comes back once.
#[derive(Debug)]
pub struct Arrival {
    /// What the ID token must repeat.
    pub nonce: String,
    /// Where the person is going.
    pub next: String,
    /// When it left.
    pub begun_at: DateTime<Utc>,
    /// Now, by the same clock.
    pub now: DateTime<Utc>,
    session: Option<SessionId>,
}

impl Arrival {
    /// Whether the person of a session proves again who they are.
    #[must_use]
    pub const fn is_again(&self) -> bool {
        self.session.is_some()
    }
}

/// Whom the provider named: its own key for the person.
#[derive(Debug, Clone)]
pub struct Subject {
    /// The provider.
    pub issuer: String,
    /// Its name for the person, which is never given to another.
    pub subject: String,
}

/// What the provider says of the person.
#[derive(Debug, Clone)]
pub struct ProvenPerson {
    /// Who.
    pub who: Subject,
    /// E-mail, in lower case: what an account is called here.
    pub email: String,
    /// Name.
    pub name: String,
    /// Tenants by short name with the role there; the first for a tenant counts.
    pub roles: Vec<(String, Role)>,
    /// When they last proved it to the provider, where it says so.
    pub proven_at: Option<DateTime<Utc>>,
    /// Where they come from.
    pub origin: Origin,
}

impl Engine {
    /// Notes that a sign-in leaves for the provider.
    ///
    /// # Errors
    /// Refused: `unauthenticated` where the session that it is about has ended.
    pub async fn depart_to_provider(&self, leaving: Departure) -> Result<(), EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let (state, verifier) = (secret_hash(&leaving.state), secret_hash(&leaving.verifier));
            let session = leaving.session.as_deref().map(secret_hash);
            let noted = pending_sign_in::add(
                &mut db,
                (&state, &verifier),
                &leaving.nonce,
                &leaving.next,
                session.as_deref(),
                LIFETIME_MIN,
            )
            .await?;
            if noted { Ok(()) } else { Err(EngineError::refused(Code::Unauthenticated)) }
        })
        .await
    }

    /// Takes the sign-in that a state names; `None` where it is unknown, was taken before, is older
    /// than ten minutes, or left from another browser.
    ///
    /// # Errors
    /// The database's.
    pub async fn arrive_from_provider(
        &self,
        state: &str,
        verifier: &str,
    ) -> Result<Option<Arrival>, EngineError> {
        let (engine, state, verifier) = (self.clone(), secret_hash(state), secret_hash(verifier));
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let pending = pending_sign_in::take(&mut db, (&state, &verifier), LIFETIME_MIN).await?;
            Ok(pending.map(|pending| Arrival {
                nonce: pending.nonce,
                next: pending.next,
                begun_at: pending.begun_at,
                now: pending.now,
                session: pending.session,
            }))
        })
        .await
    }

    /// Opens a session for whom the provider named, with its audit row and the roles that it grants: what
    /// it no longer grants is taken away first, whoever gave it.
    ///
    /// # Errors
    /// Refused: `sso_refused` where it grants nothing, where the account is closed, or where the e-mail
    /// of somebody new belongs to another account.
    pub async fn sign_in_proven(
        &self,
        person: ProvenPerson,
        request: RequestOrigin,
    ) -> Result<NewSession, EngineError> {
        let engine = self.clone();
        Self::detached(async move {
            let wanted = engine.granted(&person).await?;
            let account = engine.account_of(&person, &wanted, &request).await?;
            engine.follow_provider(&account, &person.who.issuer, &wanted, &request).await?;
            let mut db = engine.pools.identity().acquire().await?;
            let first = staff::first_tenant(&mut db, account.staff).await?.ok_or_else(refused)?;
            drop(db);
            let token = new_secret();
            let hash = secret_hash(&token);
            let mut tx = engine.pools.begin_console(first).await?;
            session::open(&mut tx, &hash, account.staff, first).await?;
            // Whoever came in at the provider hours ago has proved nothing here today (T12).
            session::proven_at(&mut tx, &hash, person.proven_at).await?;
            session_list::note_origin(&mut tx, &hash, &person.origin).await?;
            let who = (account.staff, account.email.as_str());
            let row = at_the_door(first, who, SIGN_IN, &request);
            audit::add(&mut tx, Entry { after: Some(by_provider(&person.who.issuer)), ..row })
                .await?;
            tx.commit().await?;
            let caller = engine.staff_by_session(&token, request).await?;
            Ok(NewSession { token, caller: caller.ok_or_else(refused)? })
        })
        .await
    }

    /// Gives a session a new token, with its audit row, once its own person has proven again who they are;
    /// the old token is worth nothing from then on (T09).
    ///
    /// # Errors
    /// Refused: `sso_failed` where the browser's session is not the one that asked, or the provider
    /// named somebody else.
    pub async fn prove_again(
        &self,
        arrival: &Arrival,
        who: Subject,
        token: &str,
        request: RequestOrigin,
    ) -> Result<NewSession, EngineError> {
        let (engine, asked, old) = (self.clone(), arrival.session, secret_hash(token));
        Self::detached(async move {
            let failed = || EngineError::refused(Code::SsoFailed);
            let asked = asked.ok_or_else(failed)?;
            let mut db = engine.pools.identity().acquire().await?;
            let known = staff_identity::find(&mut db, &who.issuer, &who.subject).await?;
            let known = known.filter(|known| !known.disabled).ok_or_else(failed)?;
            let token = new_secret();
            let new = secret_hash(&token);
            drop(db);
            let mut tx = engine.pools.begin_session().await?;
            let tenant = session::renew(&mut tx, asked, known.staff, (&old, &new)).await?;
            let tenant = tenant.ok_or_else(failed)?;
            tx.stand_in(tenant).await?;
            let row = at_the_door(tenant, (known.staff, known.email.as_str()), "step_up", &request);
            audit::add(&mut tx, Entry { after: Some(by_provider(&who.issuer)), ..row }).await?;
            tx.commit().await?;
            let caller = engine.staff_by_session(&token, request).await?.ok_or_else(failed)?;
            Ok(NewSession { token, caller })
        })
        .await
    }

    /// The tenants that there are among those that the provider grants.
    async fn granted(&self, person: &ProvenPerson) -> Result<Vec<(TenantId, Role)>, EngineError> {
        let mut db = self.pools.identity().acquire().await?;
        let mut wanted: Vec<(TenantId, Role)> = Vec::new();
        for (slug, role) in &person.roles {
            match tenant::find(&mut db, slug).await? {
                Some(tenant) if wanted.iter().any(|(known, _)| *known == tenant) => {}
                Some(tenant) => wanted.push((tenant, *role)),
                None => tracing::warn!(%slug, "the identity provider grants a role in no tenant"),
            }
        }
        Ok(wanted)
    }

    /// The account of the provider's subject; a new one where something is granted.
    async fn account_of(
        &self,
        person: &ProvenPerson,
        wanted: &[(TenantId, Role)],
        request: &RequestOrigin,
    ) -> Result<staff_identity::Known, EngineError> {
        let known = match self.known(&person.who).await? {
            Some(known) => known,
            None => {
                let first = *wanted.first().ok_or_else(refused)?;
                self.add_account(person, first, request).await?;
                // Added just now, by this sign-in or another of the same person; or the e-mail is
                // somebody else's.
                self.known(&person.who).await?.ok_or_else(refused)?
            }
        };
        if known.disabled { Err(refused()) } else { Ok(known) }
    }

    async fn known(&self, who: &Subject) -> Result<Option<staff_identity::Known>, EngineError> {
        let mut db = self.pools.identity().acquire().await?;
        staff_identity::find(&mut db, &who.issuer, &who.subject).await
    }

    /// Adds account, subject and the first place in a tenant with its audit row, all or none: an account
    /// that nobody was told of is none (T29).
    async fn add_account(
        &self,
        person: &ProvenPerson,
        (tenant, role): (TenantId, Role),
        request: &RequestOrigin,
    ) -> Result<(), EngineError> {
        let Subject { issuer, subject } = &person.who;
        let mut tx = self.pools.begin_console(tenant).await?;
        let added = staff_identity::add_staff(&mut tx, &person.email, &person.name).await?;
        let Some(staff) = added else {
            tx.rollback().await?;
            return Ok(());
        };
        if !staff_identity::add(&mut tx, issuer, subject, staff).await? {
            tx.rollback().await?;
            return Ok(());
        }
        staff_identity::grant(&mut tx, tenant, staff, role).await?;
        let account = staff_identity::Known { staff, email: person.email.clone(), disabled: false };
        let entry = entry((tenant, issuer.as_str()), &account, None, Some(role), request);
        audit::add(&mut tx, entry).await?;
        tx.commit().await?;
        Ok(())
    }

    /// Makes the account's memberships those that are granted, each in its tenant's transaction with
    /// its audit row; what is taken away goes first.
    async fn follow_provider(
        &self,
        account: &staff_identity::Known,
        issuer: &str,
        wanted: &[(TenantId, Role)],
        request: &RequestOrigin,
    ) -> Result<(), EngineError> {
        let mut db = self.pools.identity().acquire().await?;
        let had = staff_identity::roles(&mut db, account.staff).await?;
        drop(db);
        let before = |tenant: TenantId| had.iter().find(|(known, _)| *known == tenant);
        let gone = had.iter().filter(|(tenant, _)| wanted.iter().all(|(kept, _)| kept != tenant));
        let gone = gone.map(|(tenant, _)| (*tenant, None));
        for (tenant, role) in gone.chain(wanted.iter().map(|(tenant, role)| (*tenant, Some(*role))))
        {
            let mut tx = self.pools.begin_console(tenant).await?;
            let changed = match role {
                Some(role) => staff_identity::grant(&mut tx, tenant, account.staff, role).await?,
                None => staff_identity::revoke(&mut tx, tenant, account.staff).await?,
            };
            if !changed {
                tx.rollback().await?;
                continue;
            }
            staff::end_sessions_in(&mut tx, tenant, account.staff).await?;
            let had = before(tenant).map(|(_, role)| *role);
            let entry = entry((tenant, issuer), account, had, role, request);
            audit::add(&mut tx, entry).await?;
            tx.commit().await?;
        }
        Ok(())
    }
}

/// By whom a person was proven, as the audit log keeps it beside a sign-in or step-up.
fn by_provider(issuer: &str) -> serde_json::Value {
    serde_json::json!({ "by": issuer })
}

fn refused() -> EngineError {
    EngineError::refused(Code::SsoRefused)
}

fn entry<'a>(
    (tenant, issuer): (TenantId, &'a str),
    account: &'a staff_identity::Known,
    before: Option<Role>,
    after: Option<Role>,
    request: &'a RequestOrigin,
) -> Entry<'a> {
    let role = |role: Option<Role>| role.map(|role| serde_json::json!({ "role": role }));
    Entry {
        tenant,
        actor_kind: PROVIDER,
        actor_id: None,
        actor: issuer,
        action: match (before, after) {
            (_, None) => "staff.remove",
            (None, Some(_)) => "staff.add",
            (Some(_), Some(_)) => "staff.role",
        },
        target_type: "staff",
        target_id: &account.email,
        refused: None,
        reason: None,
        before: role(before),
        after: role(after),
        receipt: None,
        request_id: &request.request_id,
        client: request.client,
    }
}
