//! Notes and *taken by*: what people leave for each other on an operation.

use domain::{ids::StaffId, view::NoteView};
use sqlx::PgConnection;

use super::Target;
use crate::error::EngineError;

/// Adds a note; `false` where this form was posted before.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    target: Target,
    staff: StaffId,
    author: &str,
    form_key: &str,
    text: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into notes (tenant_id, operation_id, staff_id, author, form_key, text)
         values ($1, $2, $3, $4, $5, $6) on conflict (tenant_id, form_key) do nothing",
        target.tenant.uuid(),
        target.id.uuid(),
        staff.uuid(),
        author,
        form_key,
        text,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// An operation's notes, oldest first.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, target: Target) -> Result<Vec<NoteView>, EngineError> {
    let rows = sqlx::query_as!(
        NoteView,
        "select author, text, at from notes where tenant_id = $1 and operation_id = $2 order by id limit 500",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(rows)
}

/// Removes the words at expiry (D39).
///
/// # Errors
/// The database's.
pub async fn empty(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "update notes set text = '' where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Says that a person looks at an operation, whoever did before; `false` where it was so already.
///
/// # Errors
/// The database's.
pub async fn take(
    db: &mut PgConnection,
    target: Target,
    staff: StaffId,
    name: &str,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into operation_takes (tenant_id, operation_id, staff_id, name) values ($1, $2, $3, $4)
         on conflict (tenant_id, operation_id) do update
           set staff_id = excluded.staff_id, name = excluded.name, at = onceover_now()
           where operation_takes.staff_id <> excluded.staff_id",
        target.tenant.uuid(),
        target.id.uuid(),
        staff.uuid(),
        name,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Says that nobody looks at it any more; `false` where nobody did.
///
/// # Errors
/// The database's.
pub async fn put_back(db: &mut PgConnection, target: Target) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "delete from operation_takes where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes an operation's notes, and who took it, with its row (O29).
///
/// # Errors
/// The database's.
pub async fn purge(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from notes where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(&mut *db)
    .await?;
    sqlx::query!(
        "delete from operation_takes where tenant_id = $1 and operation_id = $2",
        target.tenant.uuid(),
        target.id.uuid(),
    )
    .execute(&mut *db)
    .await?;
    Ok(())
}
