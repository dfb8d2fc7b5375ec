//! Corrections of wrong confirmations: the state stays, the record says what is true (docs/
//! operations.md, *Corrections*).

use domain::view::CorrectionView;
use sqlx::PgConnection;
use uuid::Uuid;

use super::Target;
use crate::error::EngineError;

/// A correction to write.
pub struct NewCorrection<'a> {
    /// What is true: it happened, or it did not.
    pub happened: bool,
    /// The provider's reference, where it happened.
    pub external_reference: Option<&'a str>,
    /// Why.
    pub reason: &'a str,
    /// Who asked for it.
    pub corrected_by: &'a str,
    /// Who approved it.
    pub approved_by: &'a str,
    /// The request it was approved on.
    pub approval: Uuid,
}

/// What a correction says is true.
#[derive(Clone, Debug)]
pub struct Corrected {
    /// It happened, or it did not.
    pub happened: bool,
    /// The provider's reference, where it happened.
    pub external_reference: Option<String>,
}

/// Writes a correction.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    target: Target,
    new: NewCorrection<'_>,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into corrections
           (tenant_id, operation_id, happened, external_reference, reason, corrected_by, approved_by, approval_id)
         values ($1, $2, $3, $4, $5, $6, $7, $8)",
        target.tenant.uuid(),
        target.id.uuid(),
        new.happened,
        new.external_reference,
        new.reason,
        new.corrected_by,
        new.approved_by,
        new.approval,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// The latest correction of an operation; `None` where nobody corrected it.
/// The guards of C4 and C5 read it, and late evidence is weighed against it.
///
/// # Errors
/// The database's.
pub async fn latest(
    db: &mut PgConnection,
    target: Target,
) -> Result<Option<Corrected>, EngineError> {
    let corrected = sqlx::query_as!(
        Corrected,
        "select happened, external_reference from corrections
         where tenant_id = $1 and operation_id = $2 order by id desc limit 1",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_optional(db)
    .await?;
    Ok(corrected)
}

/// An operation's corrections, the latest first.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<CorrectionView>, EngineError> {
    let rows = sqlx::query_as!(
        CorrectionView,
        "select happened, external_reference, reason, corrected_by, approved_by, at from corrections
         where tenant_id = $1 and operation_id = $2 order by id desc limit 50",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}
