//! Notes on any record, and *taken by*: what people leave for each other.

use domain::{
    ids::{StaffId, TenantId},
    record::{RecordName, RecordType},
    view::NoteView,
};
use sqlx::PgConnection;

use super::{Target, newest, one_over};
use crate::error::EngineError;

/// The most of a record's notes that is read.
const MAX_READ: usize = 500;

/// Adds a note; `false` where this form was posted before.
///
/// # Errors
/// The database's.
pub async fn insert(
    db: &mut PgConnection,
    (tenant, name): (TenantId, RecordName),
    staff: StaffId,
    author: &str,
    form_key: &str,
    text: &str,
) -> Result<bool, EngineError> {
    let operation = name.record == RecordType::Operation;
    let done = sqlx::query!(
        "insert into notes (tenant_id, target_type, operation_id, other_id, staff_id, author, form_key, text)
         values ($1, $2, $3, $4, $5, $6, $7, $8) on conflict (tenant_id, form_key) do nothing",
        tenant.uuid(),
        name.record.target().as_str(),
        operation.then_some(name.id),
        (!operation).then_some(name.id),
        staff.uuid(),
        author,
        form_key,
        text,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// A record's newest notes, oldest first, and whether there are older ones.
///
/// # Errors
/// The database's.
pub async fn of(
    db: &mut PgConnection,
    tenant: TenantId,
    name: RecordName,
) -> Result<(Vec<NoteView>, bool), EngineError> {
    let operation = name.record == RecordType::Operation;
    let rows = sqlx::query_as!(
        NoteView,
        r#"select author as "author!", text as "text!", at as "at!" from (
             select id, author, text, at from notes where tenant_id = $1 and operation_id = $2
             union all select id, author, text, at from notes
               where tenant_id = $1 and other_id = $3 and target_type = $4) noted
           order by id desc limit $5"#,
        tenant.uuid(),
        operation.then_some(name.id),
        (!operation).then_some(name.id),
        name.record.target().as_str(),
        one_over(MAX_READ),
    )
    .fetch_all(db)
    .await?;
    Ok(newest(rows, MAX_READ))
}

/// Removes the words at expiry (D39), those about its refused payloads among them.
///
/// # Errors
/// The database's.
pub async fn empty(db: &mut PgConnection, target: Target) -> Result<(), EngineError> {
    sqlx::query!(
        "update notes set text = '' where tenant_id = $1 and (operation_id = $2 or other_id in (
           select id from payload_conflicts where tenant_id = $1 and operation_id = $2))",
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
