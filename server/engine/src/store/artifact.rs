//! What steps brought forth: written with the checkpoint, never changed (D31).

use chrono::{DateTime, Utc};
use sqlx::PgConnection;

use super::workflow::Address;
use crate::error::EngineError;

pub use crate::definition::{Artifact, MAX_ARTIFACT_BYTES};

/// What a list shows of an artifact.
#[derive(Clone, Debug)]
pub struct ArtifactMeta {
    /// The step that brought it forth.
    pub step_key: String,
    /// Its name within the step.
    pub name: String,
    /// Media type.
    pub content_type: String,
    /// Bytes.
    pub size: i64,
    /// SHA-256 of the body.
    pub sha256: Vec<u8>,
    /// Whether the body has expired.
    pub expired: bool,
    /// When it was written.
    pub created_at: DateTime<Utc>,
}

/// Writes an artifact. One that is there already stays: the first stands for ever, and the caller
/// compares.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    at: Address,
    step_key: &str,
    artifact: &Artifact,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into workflow_artifacts (tenant_id, workflow_id, step_key, name, content_type, body, size, sha256)
         values ($1, $2, $3, $4, $5, $6::bytea, octet_length($6::bytea), $7)
         on conflict (tenant_id, workflow_id, step_key, name) do nothing",
        at.tenant.uuid(),
        at.id.uuid(),
        step_key,
        artifact.name,
        artifact.content_type,
        artifact.body,
        artifact.sha256(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What a workflow's steps brought forth, without the bodies. Of many the first of each step, by name:
/// [`of_step`] has all of one.
///
/// # Errors
/// The database's.
pub async fn list(db: &mut PgConnection, at: Address) -> Result<Vec<ArtifactMeta>, EngineError> {
    let rows = sqlx::query_as!(
        ArtifactMeta,
        r#"select step_key, name, content_type, size, sha256, body is null as "expired!", created_at
           from workflow_artifacts where tenant_id = $1 and workflow_id = $2
           order by row_number() over (partition by step_key order by name), step_key limit 1500"#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// What one step brought forth, without the bodies, by name.
///
/// # Errors
/// The database's.
pub async fn of_step(
    db: &mut PgConnection,
    at: Address,
    step_key: &str,
) -> Result<Vec<ArtifactMeta>, EngineError> {
    let rows = sqlx::query_as!(
        ArtifactMeta,
        r#"select step_key, name, content_type, size, sha256, body is null as "expired!", created_at
           from workflow_artifacts where tenant_id = $1 and workflow_id = $2 and step_key = $3
           order by name limit 200"#,
        at.tenant.uuid(),
        at.id.uuid(),
        step_key,
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// What a workflow's steps brought forth, bodies and all, with the step's key; what has expired is
/// left out.
///
/// # Errors
/// The database's.
pub async fn bodies(
    db: &mut PgConnection,
    at: Address,
) -> Result<Vec<(String, Artifact)>, EngineError> {
    let rows = sqlx::query!(
        r#"select step_key, name, content_type, body as "body!"
           from workflow_artifacts where tenant_id = $1 and workflow_id = $2 and body is not null
           order by step_key, name limit 1000"#,
        at.tenant.uuid(),
        at.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows
        .into_iter()
        .map(|row| {
            let artifact =
                Artifact { name: row.name, content_type: row.content_type, body: row.body };
            (row.step_key, artifact)
        })
        .collect())
}

/// One artifact; `None` where there is none, or its body has expired.
///
/// # Errors
/// The database's.
pub async fn find(
    db: &mut PgConnection,
    at: Address,
    step_key: &str,
    name: &str,
) -> Result<Option<Artifact>, EngineError> {
    let row = sqlx::query!(
        r#"select content_type, body as "body!" from workflow_artifacts
           where tenant_id = $1 and workflow_id = $2 and step_key = $3 and name = $4 and body is not null"#,
        at.tenant.uuid(),
        at.id.uuid(),
        step_key,
        name,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Artifact {
        name: name.to_owned(),
        content_type: row.content_type,
        body: row.body,
    }))
}
