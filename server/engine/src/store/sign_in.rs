//! Tries to sign in, counted by account and by address before any password is looked at (T14, T15, T40).

use sqlx::PgConnection;

use crate::error::EngineError;

/// Counts a try for an account within the running window; the count with this one.
///
/// # Errors
/// The database's.
pub async fn count_account(
    db: &mut PgConnection,
    email_hash: &[u8],
    window_min: i32,
) -> Result<i32, EngineError> {
    let tries = sqlx::query_scalar!(
        "insert into sign_in_attempts as a (email_hash, window_start, tries) values ($1, onceover_now(), 1)
         on conflict (email_hash) do update set
           tries = case when a.window_start < onceover_now() - make_interval(mins => $2) then 1
             else least(a.tries + 1, 1000000) end,
           window_start = case when a.window_start < onceover_now() - make_interval(mins => $2)
             then onceover_now() else a.window_start end
         returning tries",
        email_hash,
        window_min,
    )
    .fetch_one(db)
    .await?;
    Ok(tries)
}

/// Counts a try from an address within the running window; the count with this one.
///
/// # Errors
/// The database's.
pub async fn count_address(
    db: &mut PgConnection,
    address_hash: &[u8],
    window_min: i32,
) -> Result<i32, EngineError> {
    let tries = sqlx::query_scalar!(
        "insert into sign_in_addresses as a (address_hash, window_start, tries) values ($1, onceover_now(), 1)
         on conflict (address_hash) do update set
           tries = case when a.window_start < onceover_now() - make_interval(mins => $2) then 1
             else least(a.tries + 1, 1000000) end,
           window_start = case when a.window_start < onceover_now() - make_interval(mins => $2)
             then onceover_now() else a.window_start end
         returning tries",
        address_hash,
        window_min,
    )
    .fetch_one(db)
    .await?;
    Ok(tries)
}

/// Forgets the tries of an account that signed in.
///
/// # Errors
/// The database's.
pub async fn forget_account(db: &mut PgConnection, email_hash: &[u8]) -> Result<(), EngineError> {
    sqlx::query!("update sign_in_attempts set tries = 0 where email_hash = $1", email_hash)
        .execute(db)
        .await?;
    Ok(())
}

/// Takes one try of an address back: it was no guess. The others stay, for whoever guesses may have an
/// account too.
///
/// # Errors
/// The database's.
pub async fn give_back(db: &mut PgConnection, address_hash: &[u8]) -> Result<(), EngineError> {
    sqlx::query!(
        "update sign_in_addresses set tries = greatest(tries - 1, 0) where address_hash = $1",
        address_hash,
    )
    .execute(db)
    .await?;
    Ok(())
}

/// Forgets a few counts whose window is long over, so that made-up accounts fill no table.
///
/// # Errors
/// The database's.
pub async fn sweep(db: &mut PgConnection) -> Result<(), EngineError> {
    sqlx::query!(
        "with account as (
           delete from sign_in_attempts where email_hash in (
             select email_hash from sign_in_attempts
             where window_start < (select onceover_now()) - interval '1 day'
             order by window_start limit 4 for update skip locked)
         )
         delete from sign_in_addresses where address_hash in (
           select address_hash from sign_in_addresses
           where window_start < (select onceover_now()) - interval '1 day'
           order by window_start limit 4 for update skip locked)",
    )
    .execute(db)
    .await?;
    Ok(())
}
