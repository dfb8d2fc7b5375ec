//! Views of lists that people keep. A private one is its owner's alone: every statement here names who
//! asks.

use domain::{
    ids::{StaffId, TenantId},
    listing::List,
    view::SavedView,
};
use sqlx::PgConnection;
use uuid::Uuid;

use crate::error::EngineError;

/// Views of one list that a person may keep, and others' shared ones that a list shows.
pub const MAX_VIEWS: i64 = 50;

/// Whose views of which list.
#[derive(Clone, Copy, Debug)]
pub struct Shelf {
    /// In which tenant.
    pub tenant: TenantId,
    /// Whose.
    pub staff: StaffId,
    /// Of which list.
    pub list: List,
}

/// Takes the lock under which one person's views of one list change, so that neither the bound nor a
/// name is passed by two requests at once.
///
/// # Errors
/// The database's.
pub async fn lock(db: &mut PgConnection, shelf: Shelf) -> Result<(), EngineError> {
    sqlx::query_scalar!(
        r#"select 1 as "one!" from (
             select pg_advisory_xact_lock(hashtextextended($1::uuid::text || $2::uuid::text || $3, 0))) locked"#,
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
    )
    .fetch_one(db)
    .await?;
    Ok(())
}

/// What a person sees of a list's views: the own ones, then those that others share, each by name.
///
/// # Errors
/// The database's.
pub async fn of(db: &mut PgConnection, shelf: Shelf) -> Result<Vec<SavedView>, EngineError> {
    let own = sqlx::query!(
        "select id, name, query, shared from saved_views
         where tenant_id = $1 and staff_id = $2 and list = $3 order by name limit $4",
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
        MAX_VIEWS,
    )
    .fetch_all(&mut *db)
    .await?;
    let others = sqlx::query!(
        "select v.id, v.name, v.query, p.name as owner
         from (select * from saved_views where tenant_id = $1 and list = $3 and shared and staff_id <> $2
               order by name, id limit $4) v
         join staff p on p.id = v.staff_id
         order by v.name, v.id",
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
        MAX_VIEWS,
    )
    .fetch_all(db)
    .await?;
    let own = own.into_iter().map(|row| SavedView {
        id: row.id,
        name: row.name,
        query: row.query,
        shared: row.shared,
        owner: None,
    });
    let others = others.into_iter().map(|row| SavedView {
        id: row.id,
        name: row.name,
        query: row.query,
        shared: true,
        owner: Some(row.owner),
    });
    Ok(own.chain(others).collect())
}

/// How many a person keeps of a list.
///
/// # Errors
/// The database's.
pub async fn count(db: &mut PgConnection, shelf: Shelf) -> Result<i64, EngineError> {
    let count = sqlx::query_scalar!(
        r#"select count(*) as "count!" from (select from saved_views
             where tenant_id = $1 and staff_id = $2 and list = $3 limit $4) kept"#,
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
        MAX_VIEWS,
    )
    .fetch_one(db)
    .await?;
    Ok(count)
}

/// The view of a name, and whether it is shared.
///
/// # Errors
/// The database's.
pub async fn named(
    db: &mut PgConnection,
    shelf: Shelf,
    name: &str,
) -> Result<Option<(Uuid, bool)>, EngineError> {
    let found = sqlx::query!(
        "select id, shared from saved_views
         where tenant_id = $1 and staff_id = $2 and list = $3 and name = $4 limit 1",
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
        name,
    )
    .fetch_optional(db)
    .await?;
    Ok(found.map(|row| (row.id, row.shared)))
}

/// The list that a person's own view is of, and whether it is shared; `None` for others' and none.
///
/// # Errors
/// The database's, or [`EngineError::Unreadable`].
pub async fn own(
    db: &mut PgConnection,
    tenant: TenantId,
    staff: StaffId,
    id: Uuid,
) -> Result<Option<(List, bool)>, EngineError> {
    let found = sqlx::query!(
        "select list, shared from saved_views where tenant_id = $1 and id = $2 and staff_id = $3",
        tenant.uuid(),
        id,
        staff.uuid(),
    )
    .fetch_optional(db)
    .await?;
    found.map(|row| Ok((super::word(&row.list)?, row.shared))).transpose()
}

/// Keeps a view; one of the same name is replaced.
///
/// # Errors
/// The database's.
pub async fn save(
    db: &mut PgConnection,
    shelf: Shelf,
    name: &str,
    query: &str,
    shared: bool,
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into saved_views (tenant_id, staff_id, list, name, query, shared) values ($1, $2, $3, $4, $5, $6)
         on conflict on constraint saved_views_name
         do update set query = excluded.query, shared = excluded.shared, updated_at = onceover_now()",
        shelf.tenant.uuid(),
        shelf.staff.uuid(),
        shelf.list.as_str(),
        name,
        query,
        shared,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Gives a person's own view another name, or shares it.
///
/// # Errors
/// The database's.
pub async fn change(
    db: &mut PgConnection,
    shelf: Shelf,
    id: Uuid,
    name: &str,
    shared: bool,
) -> Result<(), EngineError> {
    sqlx::query!(
        "update saved_views set name = $4, shared = $5, updated_at = onceover_now()
         where tenant_id = $1 and id = $2 and staff_id = $3",
        shelf.tenant.uuid(),
        id,
        shelf.staff.uuid(),
        name,
        shared,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Throws a person's own view away.
///
/// # Errors
/// The database's.
pub async fn delete(db: &mut PgConnection, shelf: Shelf, id: Uuid) -> Result<(), EngineError> {
    sqlx::query!(
        "delete from saved_views where tenant_id = $1 and id = $2 and staff_id = $3",
        shelf.tenant.uuid(),
        id,
        shelf.staff.uuid(),
    )
    .execute(db)
    .await?;
    Ok(())
}
