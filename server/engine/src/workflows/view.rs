//! What a service sees of its workflow, and how steps are shown.

use domain::{
    ids::WorkflowId,
    problem::Code,
    view::{ArtifactView, StepView},
    workflow::WorkflowState,
};
use serde::Serialize;
use sqlx::PgConnection;

use crate::{
    error::EngineError,
    store::{
        artifact::{self, ArtifactMeta},
        step::Step,
        workflow::Address,
        workflow_listing,
    },
};

/// A workflow as a service sees it.
#[derive(Clone, Debug, Serialize)]
pub struct ServiceWorkflow {
    /// Its id.
    pub id: WorkflowId,
    /// The definition's name.
    pub kind: String,
    /// The client's key.
    pub key: String,
    /// The definition's version.
    pub definition_version: i32,
    /// Where it stands.
    pub status: WorkflowState,
    /// At which version.
    pub version: i64,
    /// Why it is blocked, or what made it fail or be undone.
    pub cause: Option<String>,
    /// Its steps, as the definition lists them.
    pub steps: Vec<StepView>,
}

pub(super) async fn for_service(
    db: &mut PgConnection,
    at: Address,
    steps: Vec<Step>,
) -> Result<ServiceWorkflow, EngineError> {
    let row = workflow_listing::rows(db, at.tenant, &[at.id])
        .await?
        .pop()
        .ok_or_else(|| EngineError::refused(Code::NotFound))?;
    let artifacts = artifact::list(db, at).await?;
    Ok(ServiceWorkflow {
        id: row.id,
        kind: row.kind,
        key: row.key,
        definition_version: row.definition_version,
        status: row.status,
        version: row.version,
        cause: row.cause,
        steps: shown(steps, &artifacts),
    })
}

/// Steps with what they brought forth.
pub(crate) fn shown(steps: Vec<Step>, artifacts: &[ArtifactMeta]) -> Vec<StepView> {
    steps
        .into_iter()
        .map(|step| StepView {
            artifacts: artifacts
                .iter()
                .filter(|artifact| artifact.step_key == step.key)
                .map(artifact_view)
                .collect(),
            step_key: step.key,
            status: step.status,
            after: step.after,
            operation: step.operation,
            operation_id: step.operation_id,
            started_at: step.started_at,
            completed_at: step.completed_at,
            completed_seq: step.completed_seq,
        })
        .collect()
}

/// An artifact as pages and answers list it.
pub(crate) fn artifact_view(artifact: &ArtifactMeta) -> ArtifactView {
    ArtifactView {
        name: artifact.name.clone(),
        content_type: artifact.content_type.clone(),
        size: artifact.size,
        sha256: hex::encode(&artifact.sha256),
        expired: artifact.expired,
        created_at: artifact.created_at,
    }
}
