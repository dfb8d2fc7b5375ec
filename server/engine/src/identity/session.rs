//! Sessions of browsers: read from the database on every request, so that a disabled person, a
//! changed role and a sign-out count at once (T10).

use domain::{problem::Code, view::Me};

use super::secret_hash;
use crate::{
    Engine, Following, RequestOrigin, StaffCaller, Standing,
    error::EngineError,
    store::{
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

    /// Ends a session.
    ///
    /// # Errors
    /// The database's.
    pub async fn sign_out(&self, token: &str) -> Result<(), EngineError> {
        let (engine, hash) = (self.clone(), secret_hash(token));
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            session::end(&mut db, &hash).await
        })
        .await
    }

    /// Moves a session to another of the person's tenants.
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
            let mut db = engine.pools.identity().acquire().await?;
            let moved = session::switch(&mut db, &hash, &slug).await?;
            drop(db);
            let result = if moved { Ok(()) } else { Err(EngineError::refused(Code::NotFound)) };
            let asked: String = slug.chars().take(MAX_SLUG).collect();
            engine.told(&by, "switch_tenant", ("tenant", &asked), result).await
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
