//! A record that stands in another of the person's tenants: found through their memberships and
//! nothing else, so that a colleague's link leads to the switch, and one into a stranger's tenant to
//! the same answer as an id that nobody has.

use domain::ids::OperationId;
use uuid::Uuid;

use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{Target, answer, detail, staff, tenant},
};

impl Engine {
    /// The tenant, short name and name, that holds a record or a receipt, among the person's
    /// tenants but the one of the session. Every membership includes reading. Changes and records
    /// nothing.
    ///
    /// # Errors
    /// The database's.
    pub async fn elsewhere(
        &self,
        by: &StaffCaller,
        id: Uuid,
    ) -> Result<Option<(String, String)>, EngineError> {
        let (engine, by) = (self.clone(), by.clone());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(by.tenant_id()).await?;
            let mut others = Vec::new();
            for (slug, name) in staff::tenants(&mut tx, by.staff_id()).await? {
                if let Some(id) = tenant::find(&mut tx, &slug).await?
                    && id != by.tenant_id()
                {
                    others.push((id, slug, name));
                }
            }
            tx.commit().await?;
            for (tenant_id, slug, name) in others {
                let target = Target { tenant: tenant_id, id: OperationId::new(id) };
                let mut tx = engine.pools.begin_console(tenant_id).await?;
                let found = detail::for_service(&mut tx, target).await?.is_some()
                    || answer::receipt(&mut tx, target).await?.is_some()
                    || tenant::holds(&mut tx, tenant_id, id).await?;
                tx.commit().await?;
                if found {
                    return Ok(Some((slug, name)));
                }
            }
            Ok(None)
        })
        .await
    }
}
