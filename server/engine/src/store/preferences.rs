//! How a person wants the console to look; read with the session (`super::session`).

use domain::{ids::StaffId, preferences::Preferences};
use sqlx::PgConnection;

use super::word;
use crate::error::EngineError;

/// Keeps what a person chose.
///
/// # Errors
/// The database's.
pub async fn save(
    db: &mut PgConnection,
    staff: StaffId,
    wanted: &Preferences,
) -> Result<(), EngineError> {
    let rows = i32::try_from(wanted.rows)
        .map_err(|_| EngineError::Unreadable(format!("{} rows", wanted.rows)))?;
    sqlx::query!(
        "insert into staff_preferences (staff_id, zone, theme, density, page_rows) values ($1, $2, $3, $4, $5)
         on conflict (staff_id) do update set zone = excluded.zone, theme = excluded.theme,
           density = excluded.density, page_rows = excluded.page_rows, updated_at = onceover_now()",
        staff.uuid(),
        wanted.zone.as_str(),
        wanted.theme.as_str(),
        wanted.density.as_str(),
        rows,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// What a row holds; `None` where the person has none.
pub(super) fn read(
    row: (Option<String>, Option<String>, Option<String>, Option<i32>),
) -> Result<Option<Preferences>, EngineError> {
    let (Some(zone), Some(theme), Some(density), Some(rows)) = row else { return Ok(None) };
    Ok(Some(Preferences {
        zone: word(&zone)?,
        theme: word(&theme)?,
        density: word(&density)?,
        rows: rows.into(),
    }))
}
