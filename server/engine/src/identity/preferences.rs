//! How a person wants the console to look. It moves nothing and shows nothing that the person may not
//! see, so it asks for no right and leaves no audit row.

use domain::preferences::Preferences;

use crate::{Engine, StaffCaller, error::EngineError, store::preferences};

impl Engine {
    /// Keeps what a person chose with the account: it holds in every browser and every tenant.
    ///
    /// # Errors
    /// The database's.
    pub async fn save_preferences(
        &self,
        by: &StaffCaller,
        wanted: &Preferences,
    ) -> Result<(), EngineError> {
        let (engine, staff, wanted) = (self.clone(), by.staff_id(), wanted.clone());
        Self::detached(async move {
            let mut db = engine.pools.identity().acquire().await?;
            preferences::save(&mut db, staff, &wanted).await
        })
        .await
    }
}
