//! Files given as evidence: kept in the row of their evidence, read apart from it.

use domain::{
    action::Subject,
    ids::{EvidenceId, TenantId},
    view::EvidenceFile,
};
use sqlx::PgConnection;

use super::Target;
use crate::{actor::Actor, error::EngineError};

/// A file to keep.
pub struct NewFile<'a> {
    /// Its name, as it is kept.
    pub name: &'a str,
    /// SHA-256 of the bytes.
    pub sha256: &'a [u8],
    /// The bytes.
    pub bytes: &'a [u8],
    /// What it shows, in a person's words.
    pub text: Option<&'a str>,
    /// The same person and the same bytes: one piece of evidence, however often it is sent.
    pub once: &'a str,
}

/// Keeps a file; `None` where this person had given it before.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    target: Target,
    actor: &Actor,
    new: NewFile<'_>,
) -> Result<Option<EvidenceId>, EngineError> {
    let id = sqlx::query_scalar!(
        "insert into evidence (tenant_id, operation_id, source, says, text, provider_event, actor_kind, actor,
           file_name, file_size, file_sha256, file)
         values ($1, $2, 'staff', 'statement', $3, $4, $5, $6, $7, octet_length($9::bytea), $8, $9::bytea)
         on conflict (tenant_id, operation_id, provider_event) where provider_event is not null do nothing
         returning id",
        target.tenant.uuid(),
        target.id.uuid(),
        new.text,
        new.once,
        actor.kind,
        actor.name,
        new.name,
        new.sha256,
        new.bytes,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(EvidenceId::new))
}

/// The file that a person had given before.
///
/// # Errors
/// The database's.
pub async fn given(
    db: &mut PgConnection,
    target: Target,
    once: &str,
) -> Result<Option<EvidenceFile>, EngineError> {
    let row = sqlx::query!(
        "select id, file_name, file_size, file_sha256 from evidence
         where tenant_id = $1 and operation_id = $2 and provider_event = $3",
        target.tenant.uuid(),
        target.id.uuid(),
        once,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.and_then(|row| {
        file(EvidenceId::new(row.id), row.file_name, row.file_size, row.file_sha256)
    }))
}

/// How many files an operation has.
///
/// # Errors
/// The database's.
pub async fn count(db: &mut PgConnection, target: Target) -> Result<i64, EngineError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from evidence
           where tenant_id = $1 and operation_id = $2 and file_size is not null"#,
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(count)
}

/// Files of an operation by id, in the order in which they came; of any other record none.
///
/// # Errors
/// The database's.
pub async fn named(
    db: &mut PgConnection,
    tenant: TenantId,
    target: &Subject,
    ids: &[EvidenceId],
) -> Result<Vec<EvidenceFile>, EngineError> {
    let Some(operation) = target.operation().filter(|_| !ids.is_empty()) else {
        return Ok(Vec::new());
    };
    let ids: Vec<_> = ids.iter().map(|id| id.uuid()).collect();
    let rows = sqlx::query!(
        "select id, file_name, file_size, file_sha256 from evidence
         where tenant_id = $1 and operation_id = $2 and id = any($3) and file_size is not null
         order by id limit 100",
        tenant.uuid(),
        operation.uuid(),
        &ids,
    )
    .fetch_all(db)
    .await?;
    let files = rows.into_iter().filter_map(|row| {
        file(EvidenceId::new(row.id), row.file_name, row.file_size, row.file_sha256)
    });
    Ok(files.collect())
}

/// The name and the bytes of a file; `None` where there is none, or it has expired.
///
/// # Errors
/// The database's.
pub async fn bytes(
    db: &mut PgConnection,
    target: Target,
    id: EvidenceId,
) -> Result<Option<(String, Vec<u8>)>, EngineError> {
    let row = sqlx::query!(
        r#"select file_name as "name!", file as "file!" from evidence
           where tenant_id = $1 and operation_id = $2 and id = $3 and file is not null"#,
        target.tenant.uuid(),
        target.id.uuid(),
        id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| (row.name, row.file)))
}

/// A file's columns, where evidence has one.
pub(super) fn file(
    id: EvidenceId,
    name: Option<String>,
    size: Option<i64>,
    sha256: Option<Vec<u8>>,
) -> Option<EvidenceFile> {
    let (size, sha256) = size.zip(sha256)?;
    Some(EvidenceFile { id, name, size, sha256: hex::encode(sha256) })
}
