//! Sessions of browsers: read from the database on every request, so that a disabled person, a
//! changed role and a sign-out count at once (T10).

use domain::{problem::Code, view::Me};

use super::{
    secret_hash,
    step_up::{at_the_door, done},
};
use crate::{
    Engine, Following, RequestOrigin, StaffCaller, Standing,
    error::EngineError,
    store::{
        audit::{self, Entry},
        listing,
        session::{self, Lasts},
        staff,
    },
};

/// Rows of the queue that the frame counts at most.
const MAX_COUNT: i64 = 99;
/// The longest short name of a tenant, in characters: more of what was asked for is not kept.
const MAX_SLUG: usize = 63;

impl Engine {
    /// Who a session's cookie stands for; `None` where it stands for nobody any more.
    ///
    /// # Errors
    /// The database's.
    pub async fn staff_by_session(
        &self,
        token: &str,
        request: RequestOrigin,
    ) -> Result<Option<StaffCaller>, EngineError> {
        let (engine, hash) = (self.clone(), secret_hash(token));
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            let lasts = Lasts::from(&engine.settings.limits);
            session::caller(&mut db, &hash, lasts, request).await
        })
        .await
    }

    /// Where a session's cookie stands, without noting a request: a page that is open and waits is
    /// not in use. `None` where it stands for nobody any more.
    ///
    /// # Errors
    /// The database's.
    pub async fn session_standing(&self, token: &str) -> Result<Option<Standing>, EngineError> {
        let (engine, hash) = (self.clone(), secret_hash(token));
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            session::standing(&mut db, &hash, Lasts::from(&engine.settings.limits)).await
        })
        .await
    }

    /// Begins to hear what any process changes, for those who follow it; once is enough.
    pub fn listen(&self) {
        self.ears.open(&self.settings);
    }

    /// What changes in a session's tenant: since an instant in milliseconds since 1970, or from now.
    #[must_use]
    pub fn follow(&self, standing: &Standing, since_ms: Option<i64>) -> Following {
        self.listen();
        self.ears.feed().follow(standing.tenant.to_string(), since_ms)
    }

    /// Ends a session, with its audit row in the tenant that the session stands in; one that stands no
    /// more has ended already.
    ///
    /// # Errors
    /// The database's, or [`EngineError::Unaudited`]: then the session stands.
    pub async fn sign_out(&self, token: &str, request: RequestOrigin) -> Result<(), EngineError> {
        let (engine, hash) = (self.clone(), secret_hash(token));
        Self::detached(async move {
            let mut tx = engine.pools.begin_session().await?;
            if let Some(ended) = session::end(&mut tx, &hash).await? {
                tx.stand_in(ended.tenant).await?;
                let whose = (ended.staff, ended.email.as_str());
                audit::add(&mut tx, at_the_door(ended.tenant, whose, "sign_out", &request)).await?;
            }
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// Moves a session to another of the person's tenants, with an audit row in the one that it leaves and
    /// one in the one that it comes to.
    ///
    /// # Errors
    /// Refused, with one audit row in the tenant that the session stands in: `not_found` for a tenant that
    /// is not the person's, or is none.
    pub async fn switch_tenant(
        &self,
        by: &StaffCaller,
        token: &str,
        slug: &str,
    ) -> Result<(), EngineError> {
        let (engine, by, hash) = (self.clone(), by.clone(), secret_hash(token));
        let slug = slug.to_owned();
        Self::detached(async move {
            const ACTION: &str = "switch_tenant";
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let Some(moved) = session::switch(&mut tx, &hash, &slug).await? else {
                tx.rollback().await?;
                let asked: String = slug.chars().take(MAX_SLUG).collect();
                let refused = Err(EngineError::refused(Code::NotFound));
                return engine.told(&by, ACTION, ("tenant", &asked), refused).await;
            };
            // In one order, so that two who cross wait for each other's logs and lock nobody out.
            let mut logs = vec![by.tenant_id(), moved];
            logs.sort_unstable();
            logs.dedup();
            for tenant in logs {
                tx.stand_in(tenant).await?;
                let row =
                    Entry { tenant, target_type: "tenant", target_id: &slug, ..done(&by, ACTION) };
                audit::add(&mut tx, row).await?;
            }
            tx.commit().await?;
            Ok(())
        })
        .await
    }

    /// The person, for the frame of every page.
    ///
    /// # Errors
    /// The database's.
    pub async fn me(&self, staff: &StaffCaller) -> Result<Me, EngineError> {
        let (engine, by) = (self.clone(), staff.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let tenants = staff::tenants(&mut tx, by.staff_id()).await?;
            let waiting = listing::count_manual(&mut tx, by.tenant_id(), MAX_COUNT + 1).await?;
            tx.commit().await?;
            Ok(Me {
                name: by.name.clone(),
                email: by.email.clone(),
                tenant: by.tenant_name.clone(),
                tenant_slug: by.tenant_slug.clone(),
                role: by.role,
                as_of: by.asked_at,
                tenants,
                attention: waiting.min(MAX_COUNT),
                attention_more: waiting > MAX_COUNT,
            })
        })
        .await
    }
}
