//! What a step brought forth, for a person: whole, and masked by the rules of the step's kind.
//!
//! Guards against the download that shows what every page masks.

use domain::{access::Permission, ids::WorkflowId, problem::Code, view::ArtifactView};

use super::body::{unmaskable, whole};
use crate::{
    Engine, StaffCaller,
    error::EngineError,
    store::{artifact, kind, step, workflow::Address},
    workflows::artifact_view,
};

/// An artifact as a person gets it.
#[derive(Clone, Debug)]
pub struct StaffArtifact {
    /// Its bytes, or its JSON with the masked fields replaced.
    pub body: Vec<u8>,
    /// How many fields are masked in it.
    pub masked: u32,
}

impl Engine {
    /// All that a step brought forth, without the bytes; nothing of a step that there is not.
    ///
    /// # Errors
    /// Refused: `permission_missing`.
    pub async fn step_artifacts(
        &self,
        by: &StaffCaller,
        id: WorkflowId,
        step_key: &str,
    ) -> Result<Vec<ArtifactView>, EngineError> {
        by.require(Permission::Read)?;
        let (engine, at) = (self.clone(), Address { tenant: by.tenant_id(), id });
        let key = step_key.to_owned();
        Self::detached(async move {
            let mut tx = engine.pools.begin_console(at.tenant).await?;
            let stored = artifact::of_step(&mut tx, at, &key).await?;
            tx.commit().await?;
            Ok(stored.iter().map(artifact_view).collect())
        })
        .await
    }

    /// What a step brought forth. One that is no JSON is given out only where nothing would have to be
    /// masked in it.
    ///
    /// # Errors
    /// Refused: `permission_missing`, also for what cannot be masked; `not_found`, also where it has
    /// expired, and the same for another tenant's.
    pub async fn artifact_for_staff(
        &self,
        by: &StaffCaller,
        id: WorkflowId,
        step_key: &str,
        name: &str,
    ) -> Result<StaffArtifact, EngineError> {
        by.require(Permission::Read)?;
        let (engine, at) = (self.clone(), Address { tenant: by.tenant_id(), id });
        let (key, name) = (step_key.to_owned(), name.to_owned());
        Self::detached(async move {
            let not_found = || EngineError::refused(Code::NotFound);
            let mut tx = engine.pools.begin_console(at.tenant).await?;
            let step = step::find(&mut tx, at, &key).await?.ok_or_else(not_found)?;
            let pointers = match &step.operation {
                // A kind that is gone says no more what of it has to be masked.
                Some(name) => Some(kind::find(&mut tx, at.tenant, name).await?)
                    .map(|kind| kind.map(|kind| kind.masked_pointers)),
                None => Some(Some(Vec::new())),
            }
            .flatten();
            let stored = artifact::find(&mut tx, at, &key, &name).await?.ok_or_else(not_found)?;
            tx.commit().await?;
            let (body, masked) = whole(stored.body, &pointers.ok_or_else(unmaskable)?)?;
            Ok(StaffArtifact { body, masked })
        })
        .await
    }
}
