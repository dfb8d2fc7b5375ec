//! Notes on a record that is no operation: an operation's stand with the rest of it.

use domain::{access::Permission, record::RecordName, view::NoteView};

use crate::{Engine, StaffCaller, error::EngineError, store::note};

impl Engine {
    /// What people wrote on a record last, oldest first, and whether there is older; nothing for one that the tenant does not have.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn notes(
        &self,
        by: &StaffCaller,
        about: RecordName,
    ) -> Result<(Vec<NoteView>, bool), EngineError> {
        by.require(Permission::Read)?;
        let (engine, tenant) = (self.clone(), by.tenant_id());
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(tenant).await?;
            let notes = note::of(&mut tx, tenant, about).await?;
            tx.commit().await?;
            Ok(notes)
        })
        .await
    }
}
