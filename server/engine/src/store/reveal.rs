//! Grants to read one record's masked fields: written once, with their audit row, and never changed.

use chrono::{DateTime, Utc};
use domain::{
    action::Subject,
    ids::{RevealId, StaffId, TenantId},
    view::ArtifactName,
};
use sqlx::PgConnection;
use uuid::Uuid;

use super::word;
use crate::error::EngineError;

/// A grant to write.
pub struct NewReveal<'a> {
    /// Whose.
    pub tenant: TenantId,
    /// To whom.
    pub staff: StaffId,
    /// The form's key.
    pub form_key: &'a str,
    /// Of which record.
    pub target: &'a Subject,
    /// Of which artifact of it.
    pub artifact: Option<&'a ArtifactName>,
    /// The names of what is masked.
    pub pointers: &'a [String],
    /// Why.
    pub reason: &'a str,
}

/// A grant as stored.
#[derive(Clone, Debug)]
pub struct Reveal {
    /// Its id.
    pub id: RevealId,
    /// Of which record.
    pub target: Subject,
    /// Of which artifact of it.
    pub artifact: Option<ArtifactName>,
    /// The names of what is masked.
    pub pointers: Vec<String>,
    /// Why.
    pub reason: String,
    /// When.
    pub at: DateTime<Utc>,
    /// Until when it can be read.
    pub until: DateTime<Utc>,
    /// Whether that time is over, by the database's clock.
    pub is_over: bool,
}

/// Writes a grant; `None` where this person's form was posted before.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    new: NewReveal<'_>,
) -> Result<Option<RevealId>, EngineError> {
    let target = Uuid::try_parse(&new.target.id)
        .map_err(|_| EngineError::Unreadable(new.target.id.clone()))?;
    let id = sqlx::query_scalar!(
        "insert into reveals (tenant_id, staff_id, form_key, target_type, target_id, step_key, artifact, pointers, reason)
         values ($1, $2, $3, $4, $5, $6, $7, $8, $9)
         on conflict (tenant_id, staff_id, form_key) do nothing returning id",
        new.tenant.uuid(),
        new.staff.uuid(),
        new.form_key,
        new.target.kind.as_str(),
        target,
        new.artifact.map(|artifact| artifact.step.as_str()),
        new.artifact.map(|artifact| artifact.name.as_str()),
        new.pointers,
        new.reason,
    )
    .fetch_optional(db)
    .await?;
    Ok(id.map(RevealId::new))
}

/// Which grant of a person.
#[derive(Clone, Copy, Debug)]
pub enum Which<'a> {
    /// By its id.
    Id(RevealId),
    /// By the form that asked for it.
    Form(&'a str),
}

/// One grant of a person.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn find(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
    which: Which<'_>,
) -> Result<Option<Reveal>, EngineError> {
    let (id, form_key) = match which {
        Which::Id(id) => (Some(id.uuid()), None),
        Which::Form(form_key) => (None, Some(form_key)),
    };
    let row = sqlx::query!(
        r#"select id, target_type, target_id, step_key, artifact, pointers, reason, at, until,
             until <= onceover_now() as "is_over!"
           from reveals where tenant_id = $1 and staff_id = $2 and (id = $3 or form_key = $4) limit 1"#,
        tenant.uuid(),
        staff.uuid(),
        id,
        form_key,
    )
    .fetch_optional(db)
    .await?;
    let Some(row) = row else { return Ok(None) };
    Ok(Some(Reveal {
        id: RevealId::new(row.id),
        target: Subject::new(word(&row.target_type)?, row.target_id.to_string()),
        artifact: row.step_key.zip(row.artifact).map(|(step, name)| ArtifactName { step, name }),
        pointers: row.pointers,
        reason: row.reason,
        at: row.at,
        until: row.until,
        is_over: row.is_over,
    }))
}
