//! Second factors of local accounts and their recovery codes. Each is taken by one statement that says
//! whether it was there to be taken, so that two requests at once never take one twice.

use domain::ids::{StaffId, TenantId};
use sqlx::PgConnection;

use crate::error::EngineError;

/// A second factor with the database's clock, by which its codes are judged (D19).
#[derive(Debug)]
pub struct Factor {
    /// The sealed secret.
    pub sealed: Vec<u8>,
    /// Seconds since 1970.
    pub now_s: i64,
}

/// Whether a person has a second factor that counts.
///
/// # Errors
/// The database's.
pub async fn is_on(db: &mut PgConnection, staff: StaffId) -> Result<bool, EngineError> {
    let on = sqlx::query_scalar!(
        r#"select exists (select from second_factors
             where staff_id = $1 and confirmed_at is not null) as "on!""#,
        staff.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(on)
}

/// The people of a tenant whose second factor counts.
///
/// # Errors
/// The database's.
pub async fn of_tenant(
    db: &mut PgConnection,
    tenant: TenantId,
) -> Result<Vec<StaffId>, EngineError> {
    let ids = sqlx::query_scalar!(
        "select f.staff_id from second_factors f join memberships m on m.staff_id = f.staff_id
         where m.tenant_id = $1 and f.confirmed_at is not null limit 2000",
        tenant.uuid(),
    )
    .fetch_all(db)
    .await?;
    Ok(ids.into_iter().map(StaffId::new).collect())
}

/// Begins one, in place of one that was begun before; `false` where one counts already.
///
/// # Errors
/// The database's.
pub async fn begin(
    db: &mut PgConnection,
    staff: StaffId,
    sealed: &[u8],
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "insert into second_factors as f (staff_id, secret) values ($1, $2)
         on conflict (staff_id) do update set secret = excluded.secret, begun_at = onceover_now(), last_step = 0
           where f.confirmed_at is null",
        staff.uuid(),
        sealed,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// The one that counts, or the one that was begun.
///
/// # Errors
/// The database's.
pub async fn read(
    db: &mut PgConnection,
    staff: StaffId,
    counts: bool,
) -> Result<Option<Factor>, EngineError> {
    let row = sqlx::query!(
        r#"select secret, extract(epoch from onceover_now())::bigint as "now_s!" from second_factors
           where staff_id = $1 and (confirmed_at is not null) = $2"#,
        staff.uuid(),
        counts,
    )
    .fetch_optional(db)
    .await?;
    Ok(row.map(|row| Factor { sealed: row.secret, now_s: row.now_s }))
}

/// Takes the code of a step; `false` where it, or a later one, was taken before.
///
/// # Errors
/// The database's.
pub async fn take_step(
    db: &mut PgConnection,
    staff: StaffId,
    step: i64,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update second_factors set last_step = $2
         where staff_id = $1 and last_step < $2 and confirmed_at is not null",
        staff.uuid(),
        step,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Makes the one that was begun count; `false` where there is none.
///
/// # Errors
/// The database's.
pub async fn confirm(
    db: &mut PgConnection,
    staff: StaffId,
    step: i64,
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update second_factors set confirmed_at = onceover_now(), last_step = $2
         where staff_id = $1 and confirmed_at is null",
        staff.uuid(),
        step,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Removes it with its recovery codes, whether it counted or was only begun.
///
/// # Errors
/// The database's.
pub async fn remove(db: &mut PgConnection, staff: StaffId) -> Result<(), EngineError> {
    sqlx::query!("delete from recovery_codes where staff_id = $1", staff.uuid())
        .execute(&mut *db)
        .await?;
    sqlx::query!("delete from second_factors where staff_id = $1", staff.uuid())
        .execute(db)
        .await?;
    Ok(())
}

/// Keeps the hashes of new recovery codes.
///
/// # Errors
/// The database's.
pub async fn add_recovery_codes(
    db: &mut PgConnection,
    staff: StaffId,
    hashes: &[Vec<u8>],
) -> Result<(), EngineError> {
    sqlx::query!(
        "insert into recovery_codes (staff_id, code_hash) select $1, unnest($2::bytea[])",
        staff.uuid(),
        hashes,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Takes a recovery code; `false` where there is none such, or it was taken before.
///
/// # Errors
/// The database's.
pub async fn take_recovery_code(
    db: &mut PgConnection,
    staff: StaffId,
    hash: &[u8],
) -> Result<bool, EngineError> {
    let done = sqlx::query!(
        "update recovery_codes set used_at = onceover_now()
         where staff_id = $1 and code_hash = $2 and used_at is null",
        staff.uuid(),
        hash,
    )
    .execute(db)
    .await?;
    Ok(done.rows_affected() == 1)
}

/// Recovery codes that still work.
///
/// # Errors
/// The database's.
pub async fn recovery_codes_left(
    db: &mut PgConnection,
    staff: StaffId,
) -> Result<i64, EngineError> {
    let left = sqlx::query_scalar!(
        r#"select count(*) as "left!" from recovery_codes where staff_id = $1 and used_at is null"#,
        staff.uuid(),
    )
    .fetch_one(db)
    .await?;
    Ok(left)
}
